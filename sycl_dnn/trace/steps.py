# SPDX-License-Identifier: Apache-2.0
"""The elements of a trace: requested results, steps, entries of the tape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn import _core, errors
from sycl_dnn.ir.node import Node
from sycl_dnn.trace import layout
from sycl_dnn.trace.values import Tensor

#: A layout: its name, a tensor to resemble, or a descriptor.
Layout = Any


@dataclass(frozen=True)
class Out:
    """A requested result of a primitive: shape, dtype and layout."""

    shape: tuple[int, ...]
    dtype: str
    layout: Layout = "row_major"

    def desc(self) -> _core.MemoryDesc:
        """Return the descriptor to request from the primitive."""
        return describe(self.shape, self.dtype, self.layout)


def describe(shape: tuple[int, ...], dtype: str, requested: Layout) -> _core.MemoryDesc:
    """Return the descriptor of a layout given by name, by example or directly."""
    if isinstance(requested, _core.MemoryDesc):
        return requested
    if isinstance(requested, Tensor):
        return layout.like(requested.desc, dtype)
    factories = {
        "any": layout.any_layout,
        "row_major": layout.row_major,
        "channels_last": layout.channels_last,
    }
    return factories[requested](shape, dtype)


class Planned:
    """A primitive that is created if the host or passes leave it in a program."""

    __slots__ = ("inserted", "primitive_desc")

    def __init__(self, pd: _core.PrimitiveDesc, inserted: bool = False) -> None:
        self.primitive_desc = pd
        self.inserted = inserted

    @property
    def name(self) -> str:
        """Name of the row."""
        return self.primitive_desc.name


def is_kernel(primitive: Any) -> bool:
    """Whether a step's primitive is a kernel that was compiled at run time."""
    return isinstance(primitive, _core.Kernel)


class Meaning(NamedTuple):
    """The computation of a kernel: the nodes of its inputs and outputs, by name.

    Several nodes may be one array. Partial results of a reduction in two launches have no nodes.
    """

    inputs: dict[str, tuple[Node, ...]]
    outputs: dict[str, tuple[Node, ...]]


@dataclass
class Step:
    """One submission: a primitive, a kernel that replaces it, or zeros if there is neither."""

    primitive: Any
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    constant: bool = False
    meaning: Meaning | None = None
    #: Whether it runs in every call, even on constants.
    is_repeated: bool = False


class OnHost:
    """A function that NumPy, or another ``library``, computes in the memory of a CPU's arrays.

    It takes NumPy arrays, and returns a new one or several, or ``writes`` to row-major arrays that
    follow its arguments. It is called after the work before it.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], library: str = "numpy", writes: bool = False
    ) -> None:
        self.__qualname__, self._function = name, function
        self.row, self.writes = library, writes

    def __call__(self, *arrays: np.ndarray) -> Any:
        """Compute."""
        return self._function(*arrays)


def on_host_or(
    by_dpnp: Callable[..., Any], trace: Any, name: str, on_host: Callable[..., Any] | None,
    **options: Any,
) -> Callable[..., Any]:  # fmt: skip
    """Return ``OnHost`` for a trace of a CPU, if there is such a function, else dpnp's."""
    by_dpnp.__qualname__ = name
    if on_host is None or not trace.is_on_cpu:
        return by_dpnp
    return OnHost(name, on_host, **options)


@dataclass
class ArrayStep:
    """One call of a function over dpnp arrays, or ``OnHost``, for what oneDNN lacks."""

    function: Callable[..., Any]
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    constant: bool = False
    is_repeated: bool = False


@dataclass
class Entry:
    """A recorded operation, as the reverse pass needs it."""

    row: str
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    params: dict[str, Any] = field(default_factory=dict)
    #: The inputs in the layouts that the primitive used.
    args: dict[str, Tensor] = field(default_factory=dict)
    pd: Any = None
    #: Gradient rule of operations that are not primitives.
    rule: Callable[..., Any] | None = None
    #: Whether attributes change what the primitive computes.
    has_post_ops: bool = False
    #: Records the outputs, given the inputs, by operations that can be differentiated twice.
    composed: Callable[[Mapping[str, Tensor]], dict[str, Tensor]] | None = None
    #: The function that the user called, for errors.
    function: str = ""


class NeedsAnotherDevice(Exception):
    """The engine lacks a primitive in any dtype; contains its message."""

    def __init__(self, row: str, error: errors.Unimplemented) -> None:
        super().__init__(row)
        self.row = row
        self.error = error

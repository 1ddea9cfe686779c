# SPDX-License-Identifier: Apache-2.0
"""Tracing of functions to compile, with helpful errors for what cannot be traced."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from sycl_dnn._dpnp import span
from sycl_dnn.onednn import shared_descriptors
from sycl_dnn.trace import layout
from sycl_dnn.trace.foreign_functions import function_name, instead
from sycl_dnn.trace.frozen import Frozen, Seed, argument_of
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.replay import Replays
from sycl_dnn.trace.values import Storage, Tensor


def _address(array: Any) -> int:
    return span(array.get_array())[0]


class UpdatesCaptured(Exception):
    """A function updates captured arrays that its trace took for constants."""


class CompileTrace(Trace):
    """A trace that treats captured arrays as constants, with an optional narrower dtype.

    dtype : dtype to which float32 arguments and captured arrays are converted
    replays : previous recordings of the function
    updated : addresses of captured arrays that the function updates, which are no constants; those
        of others are noted in ``missed``
    """

    def __init__(
        self,
        engine: Any,
        dtype: str | None = None,
        replays: Replays | None = None,
        updated: Collection[int] = (),
    ) -> None:
        super().__init__(engine)
        self._updated = updated
        self.missed: set[int] = set()
        # Lowered values are read in their original dtype, so equal layouts do not suffice.
        self._replays = replays if dtype is None else None
        self.dtype = dtype
        self.is_lowered = dtype is not None
        self.is_compiled = self.fuses_kernels = True
        #: By id of a storage: its tensor, and the wider one that it was converted from.
        self._wider: dict[int, tuple[Tensor, Tensor]] = {}

    def end(self) -> None:
        """Note that the function has returned, and drop its steps, which nodes replace."""
        super().end()
        self.steps, self.tape = [], []
        self._wider = {}

    def capture(self, value: Any) -> Tensor:
        """Return the tensor of a captured array."""
        if isinstance(value, Seed):
            return super().capture(value)
        tensor = self._capture_of.get(id(value))
        if tensor is None:
            self.check_place(value)
            constant = _address(value) not in self._updated
            tensor = self.capture_as(value, lambda: argument_of(self, value, constant))
        return self.lowered(tensor)

    def may_vary(self, storage: Storage) -> bool:
        """Note a captured array: another trace of the function must not take it for a constant."""
        for _, array, tensor in self.captured:
            if tensor.storage is storage and not isinstance(array, Frozen):
                self.missed.add(_address(array))
                return True
        return False

    def descriptor(
        self, row: str, params: Mapping[str, Any], attr: Any, prefer: str | None = None
    ) -> Any:
        """Return a shared descriptor."""
        return shared_descriptors.shared.described(self.engine, row, params, attr, prefer)

    def joined(
        self,
        function: Any,
        body: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        is_taped: bool = True,
    ) -> Any:
        """Record a function, skipping its body if an equal call was recorded before."""
        if self._replays is None or self._repeated is not None:
            return body(*args, **kwargs)
        return self._replays.call(self, function, body, args, kwargs, is_taped)

    def lowered(self, tensor: Tensor) -> Tensor:
        """Convert a float32 tensor to the compute dtype of the function."""
        if self.dtype is None or tensor.dtype != "float32":
            return tensor
        converted = super().convert(tensor, self.dtype)
        if layout.is_dense(tensor.desc):
            self._wider[id(converted.storage)] = (converted, tensor)
        return converted

    def convert(self, tensor: Tensor, dtype: str, inserted: bool = True) -> Tensor:
        """Convert to another dtype, using the original values of lowered tensors."""
        wide = self.widened(tensor) if dtype == "float32" else tensor
        return super().convert(wide, dtype, inserted)

    def widened(self, tensor: Tensor) -> Tensor:
        """Return the same view of the values before lowering, if they were lowered."""
        pair = self._wider.get(id(tensor.storage))
        if pair is None or tensor.strides is None:
            return tensor
        narrow, wide = pair
        if tensor.storage is not narrow.storage:
            return tensor
        ratio = wide.desc.get_size() // max(narrow.desc.get_size(), 1)
        return Tensor(
            self,
            wide.storage,
            layout.strided(tensor.shape, wide.dtype, tensor.strides),
            wide.dtype,
            tensor.shape,
            wide.offset + tensor.offset * ratio,
            tensor.strides,
        )


# --- Errors in traced functions: source line and suggested replacement

_LIBRARIES = ("dpnp", "numpy", "dpctl")
#: Modules whose errors refer to a traced array.
_OF_TENSORS = tuple(
    f"sycl_dnn.trace.{name}"
    for name in ("array_methods", "foreign_functions", "indexing", "refusals")
)
Frames = list[tuple[FrameType, int]]


@contextmanager
def explained(function: Callable[..., Any]) -> Iterator[None]:
    """Add the source line and replacements of dpnp's functions to a TypeError."""
    try:
        yield
    except (TypeError, NotImplementedError, AttributeError) as error:
        frames = list(traceback.walk_tb(error.__traceback__))
        text = _of_values(frames, error) or _of_library(frames)
        if text is None:
            raise
        name = getattr(function, "__name__", type(function).__name__)
        kind = NeedsArrays if isinstance(error, NeedsArrays) else TypeError
        raise kind(f"compile: {name} cannot be traced: {text}") from error


def _module(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "")


def _package(frame: FrameType) -> str:
    return _module(frame).partition(".")[0]


def _line(frame: FrameType, number: int) -> str:
    path = frame.f_code.co_filename
    source = linecache.getline(path, number).strip()
    return f"{path}:{number}" + (f" ({source})" if source else "")


def _of_values(frames: Frames, error: BaseException) -> str | None:
    """Return the message for a function that needs values; None for other errors."""
    if _module(frames[-1][0]) not in _OF_TENSORS:
        return None
    ours = ("sycl_dnn", *_LIBRARIES)
    caller = next((f for f in reversed(frames) if _package(f[0]) not in ours), None)
    return str(error) if caller is None else f"{_line(*caller)}: {error}"


def _of_library(frames: Frames) -> str | None:
    """Suggest a replacement for a direct call of another library's function."""
    for caller, called in zip(frames, frames[1:], strict=False):
        if _package(called[0]) in _LIBRARIES:
            if _package(caller[0]) == "sycl_dnn":
                return None  # used by this package itself
            name = function_name(called[0]).strip("_")
            return (
                f"{_line(*caller)}: {_package(called[0])}.{name} accepts no traced arrays; use "
                f"{instead(name)}"
            )
    return None

# SPDX-License-Identifier: Apache-2.0
"""A case of a function: its arguments, and the same function in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Spec:
    """An array argument: its shape, and the kind of its values and its layout."""

    shape: tuple[int, ...]
    #: "normal", "positive" (0.5 to 2), "unit" (0 to 1), "distinct"; of integers below ``high``
    #: "integer", and "places": neighbors differ wherever possible.
    values: str = "normal"
    high: int = 1
    #: Its own dtype; None for that of the case.
    dtype: str | None = None
    #: "plain", "channels_last", "strided" (a view with gaps), "interleaved" (an odd number of
    #: columns, every other one), "reversed", "transposed", "offset" (within another array).
    layout: str = "plain"
    differentiable: bool = True

    @property
    def is_integer(self) -> bool:
        """Whether the values are integers, which have no gradient."""
        return self.values in ("integer", "places")


@dataclass(frozen=True)
class Case:
    """One call, forward and gradient.

    ``torch`` is the name in torch.nn.functional, or a function over torch tensors: what it returns
    is stored (`answers`).
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    torch: Any = None
    dtype: str = "float32"
    #: Factor on the tolerance of the dtype.
    slack: float = 1.0
    has_gradient: bool = True
    #: Whether the tests on the simulated GPU also submit it.
    on_gpu: bool = False

    def __str__(self) -> str:
        return f"{self.name}-{self.dtype}"

    def as_dtype(self, dtype: str) -> Case:
        """Return the same case in another dtype."""
        return replace(self, dtype=dtype)


#: Largest error relative to the largest element of the result.
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


def _values(spec: Spec, rng: np.random.Generator) -> np.ndarray:
    if spec.values == "integer":
        return rng.integers(0, spec.high, spec.shape)
    if spec.values == "places":
        step = next(i for i in range(spec.high // 2 + 1, 2 * spec.high) if gcd(i, spec.high) == 1)
        return (np.arange(np.prod(spec.shape, dtype=int)) * step % spec.high).reshape(spec.shape)
    if spec.values == "positive":
        return rng.uniform(0.5, 2.0, spec.shape)
    if spec.values == "unit":
        return rng.uniform(0.0, 1.0, spec.shape)
    if spec.values == "distinct":
        # Without ties for maxima, even when rounded to bfloat16, and of both signs.
        n = int(np.prod(spec.shape))
        return ((rng.permutation(n) - n / 2) / 16).reshape(spec.shape)
    return rng.standard_normal(spec.shape)


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return float64 values as the dtype can represent them."""
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
        kept = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32)
        return kept.view(np.float32).astype(np.float64).reshape(np.shape(values))
    result = np.asarray(values).astype(dtype)
    return result.astype(np.float64) if result.dtype.kind == "f" else result


def numpy_arguments(case: Case, seed: int = 0) -> list[Any]:
    """Return the positional arguments with NumPy arrays, rounded to the case's dtype."""
    rng = np.random.default_rng(seed)

    def make(value: Any) -> Any:
        if isinstance(value, Spec):
            dtype = value.dtype or ("int64" if value.is_integer else case.dtype)
            return rounded(_values(value, rng), dtype)
        if isinstance(value, (list, tuple)):
            return type(value)(make(v) for v in value)
        return value

    return [make(a) for a in case.args]


def specs_of(value: Any) -> list[Spec]:
    """Return the specs among nested arguments, in order."""
    if isinstance(value, Spec):
        return [value]
    if isinstance(value, (list, tuple)):
        return [s for v in value for s in specs_of(v)]
    return []


def arrays_of(value: Any) -> list[np.ndarray]:
    """Return the NumPy arrays among nested values, in order."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, (list, tuple)):
        return [a for v in value for a in arrays_of(v)]
    return []


def filled(value: Any, arrays: list[Any]) -> Any:
    """Return nested arguments with arrays from ``arrays`` in order, which is consumed."""
    if isinstance(value, (Spec, np.ndarray)):
        return arrays.pop(0)
    if isinstance(value, (list, tuple)):
        return type(value)(filled(v, arrays) for v in value)
    return value


def queue_of(x):
    """The queue of an array, including traced ones; None for anything else."""
    return x.trace.queue if hasattr(x, "storage") else getattr(x, "sycl_queue", None)

# SPDX-License-Identifier: Apache-2.0
"""Values of a graph's tensors in float64: exact, or with each result off by a rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sycl_dnn.verify import encoding
from sycl_dnn.verify.errors import Refusal
from sycl_dnn.verify.graph.document import Document, OpText
from sycl_dnn.verify.graph.ops import OPERATIONS, compute, stored

Values = dict[int, np.ndarray]
#: (operation, values) -> 1 where dropout keeps an element.
Dropped = Callable[[OpText, Values], np.ndarray]

#: Operations that move or compare: no rounding happens in them.
_EXACT = (
    *("Concat", "End", "GenIndex", "GreaterEqual", "MaxPool", "Maximum", "Minimum", "ReLU"),
    *("ReduceMax", "ReduceMin", "Reorder", "Select", "StaticReshape", "StaticTranspose"),
)
_PRODUCTS = ("MatMul", "Conv")
#: Rounding of what goes into a product, by fpmath mode.
_CONVERTED = {"bf16": 2.0**-8, "any": 2.0**-8, "f16": 2.0**-11, "tf32": 2.0**-11}
#: Roundings of f32 inside an operation with sums, as multiples of its epsilon.
_F32_STEPS = 8.0


def noise_of(op: OpText, dtype: str) -> float:
    """Return how far a result may be off, relative to its size."""
    if op.kind in _EXACT and dtype not in ("bf16", "f16"):
        return 0.0
    small = _F32_STEPS * encoding.epsilon("f32")
    return max(small, encoding.epsilon(dtype) / 2) if dtype in ("bf16", "f16") else small


class Evaluation:
    """Computes operations one by one.

    Parameters
    ----------
    document : Document
    values : dict
        What is known, by number of the tensor; results are added.
    noise : numpy.random.Generator, optional
        Draws a rounding error for each result; without it results are exact.
    dropped : callable, optional
        The random numbers of dropout, which are the library's own.

    Attributes
    ----------
    raw : dict
        Results before integers were rounded and saturated.
    """

    def __init__(
        self, document: Document, values: Values, noise: Any = None, dropped: Dropped | None = None
    ) -> None:
        self.document, self.values = document, values
        self.noise, self.dropped = noise, dropped
        self.raw: Values = {}

    def _shaken(self, x: np.ndarray, size: float) -> np.ndarray:
        if self.noise is None or not size:
            return x
        return x * (1 + size * self.noise.uniform(-1, 1, np.shape(x)))

    def _tensors(self, op: OpText) -> dict[str, Any]:
        mode = self.document.fpmath
        size = _CONVERTED.get(mode, 0.0) if op.kind.startswith(_PRODUCTS) else 0.0
        found: dict[str, Any] = {}
        for name, number in op.ports():
            if isinstance(number, list):
                found[name] = [self.values[n] for n in number]
            else:
                found[name] = self._shaken(self.values[number], size)
        if op.kind == "Dropout":
            if self.dropped is None:
                raise Refusal("Dropout: its random numbers are known on a device only")
            found["kept"] = self.dropped(op, self.values)
        return found

    def run(self, op: OpText) -> None:
        """Compute one operation from the values that are known."""
        if op.row.name not in OPERATIONS:
            raise Refusal(f"op {op.id} ({op.kind}): there is no reference for it")
        tensors = self.document.tensors
        shapes = [tensors[n].shape for n in op.outputs]
        given, attributes = self._tensors(op), op.attributes()
        try:
            with np.errstate(all="ignore"):
                made = compute(op.row.name, given, attributes, shapes)
        except KeyError as problem:
            raise Refusal(f"op {op.id} ({op.kind}): {problem} must be given") from None
        for number, value in zip(op.outputs, made, strict=False):
            dtype = tensors[number].dtype
            value = np.asarray(value, np.float64).reshape(tensors[number].shape)
            self.raw[number] = self._shaken(value, noise_of(op, dtype))
            self.values[number] = stored(self.raw[number], dtype)

    def run_all(self, ops: Iterable[OpText]) -> None:
        """Compute operations in their order."""
        for op in ops:
            self.run(op)

# SPDX-License-Identifier: Apache-2.0
"""fftfreq, rfftfreq, fftshift and ifftshift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn.call.operation import SMOOTH, as_torch, named, operation
from sycl_dnn.functional.arithmetic.binary import mul
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.creation.factories import arange, documented
from sycl_dnn.functional.shape.arrangement import roll
from sycl_dnn.functional.shape.reshaping import check_axes, checked_int
from sycl_dnn.trace.values import Tensor

_FREQUENCIES = """Return {what}.

    Parameters
    ----------
    n : int
        Number of samples.
    d : number
        Distance between samples.
    """


def _frequencies(name: str, what: str, size: str, is_half: bool) -> Any:
    def call(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
        n = checked_int(name, "n", n, 1)
        if not d:
            raise ValueError(f"{name}: d must not be 0, got {d}")
        first, end = (0, n // 2 + 1) if is_half else (-(n // 2), (n + 1) // 2)
        ordered = mul(arange(first, end, dtype=dtype or "float32", device=device), 1.0 / (n * d))
        return roll(ordered, first) if first else ordered

    complete = documented(
        dtype="float32 by default", returns=f"array ({size},)",
        raises="ValueError\n    ``n`` is not positive, or ``d`` is 0.",
    )  # fmt: skip
    return complete(named(call, name, _FREQUENCIES.format(what=what)))


fftfreq = _frequencies(
    "fftfreq",
    "the frequencies of a discrete Fourier transform, first those that are not negative",
    "n", False,
)  # fmt: skip
rfftfreq = _frequencies(
    "rfftfreq", "the frequencies of half of a discrete Fourier transform, those of ``rfft``",
    "n // 2 + 1", True,
)  # fmt: skip

_SHIFTED = """input : array (*)
    Any dtype.
dim : int or sequence of int, optional
    All axes by default.
"""


def _shift(name: str, summary: str, amount: Callable[[int], int]) -> Any:
    def call(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
        check_arrays(name, input=input)
        axes = list(range(input.ndim)) if dim is None else check_axes(name, dim, input.ndim)
        if not axes or not input.ndim:
            return input
        return roll(input, [amount(input.shape[a]) for a in axes], axes)

    text = as_torch(
        f"fft.{name}", summary, _SHIFTED, returns="array (*)\n    Same dtype.",
        types="``input`` is no array.", errors="An axis is out of range.", notes=SMOOTH,
    )  # fmt: skip
    return operation(named(call, name, text))


fftshift = _shift("fftshift", "Move frequency 0 to the middle of axes.", lambda n: n // 2)
ifftshift = _shift("ifftshift", "Undo ``fftshift``.", lambda n: (n + 1) // 2)

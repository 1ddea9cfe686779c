# SPDX-License-Identifier: Apache-2.0
"""fftfreq, rfftfreq, fftshift and ifftshift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn.call.operation import named, operation
from sycl_dnn.functional.arithmetic.binary import mul
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.creation.factories import arange, documented
from sycl_dnn.functional.shape.arrangement import roll
from sycl_dnn.functional.shape.reshaping import check_axes, checked_int
from sycl_dnn.trace.values import Tensor

_ERRORS = "ValueError\n    ``n`` is not positive, or ``d`` is 0."


def _frequencies(name: str, n: Any, d: float, first: int, end: int, dtype: Any, device: Any) -> Any:
    if not d:
        raise ValueError(f"{name}: d must not be 0, got {d}")
    numbers = arange(first, end, dtype=dtype or "float32", device=device)
    return mul(numbers, 1.0 / (n * d))


@documented(dtype="float32 by default", returns="array (n,)", raises=_ERRORS)
def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Return the frequencies of a discrete Fourier transform, first those that are not negative.

    Parameters
    ----------
    n : int
        Number of samples.
    d : number
        Distance between samples.
    """
    n = checked_int("fftfreq", "n", n, 1)
    ordered = _frequencies("fftfreq", n, d, -(n // 2), (n + 1) // 2, dtype, device)
    return roll(ordered, -(n // 2))


@documented(dtype="float32 by default", returns="array (n // 2 + 1,)", raises=_ERRORS)
def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Return the frequencies of half of a discrete Fourier transform, those of ``rfft``.

    Parameters
    ----------
    n : int
        Number of samples.
    d : number
        Distance between samples.
    """
    n = checked_int("rfftfreq", "n", n, 1)
    return _frequencies("rfftfreq", n, d, 0, n // 2 + 1, dtype, device)


_SHIFTED = """{summary}

Parameters
----------
input : array (*)
    Any dtype.
dim : int or sequence of int, optional
    All axes by default.

Returns
-------
array (*)
    Same dtype.

Raises
------
TypeError
    ``input`` is no array.
ValueError
    An axis is out of range.

Notes
-----
Differentiable to any order. Source: ``torch.fft.{name}``.
"""


def _shift(name: str, summary: str, amount: Callable[[int], int]) -> Any:
    def call(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
        check_arrays(name, input=input)
        axes = list(range(input.ndim)) if dim is None else check_axes(name, dim, input.ndim)
        if not axes or not input.ndim:
            return input
        return roll(input, [amount(input.shape[a]) for a in axes], axes)

    return operation(named(call, name, _SHIFTED.format(name=name, summary=summary)))


fftshift = _shift("fftshift", "Move frequency 0 to the middle of axes.", lambda n: n // 2)
ifftshift = _shift("ifftshift", "Undo ``fftshift``.", lambda n: (n + 1) // 2)

# SPDX-License-Identifier: Apache-2.0
"""The transforms that ``dpnp.fft`` (oneMKL) or ``numpy.fft`` compute, recorded with gradients.

All are linear: the gradient is the adjoint, a transform in the other direction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn.functional.arithmetic.binary import mul
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.shape.joining import narrow
from sycl_dnn.functional.shape.padding import pad
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.gradients import independent
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.steps import Out, on_host_or
from sycl_dnn.trace.values import Tensor

#: By normalization: that of the adjoint in the other direction.
ADJOINT = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


#: Complex elements from which the two threads of oneMKL are faster than NumPy. Real transforms are
#: never: dpnp converts their results, and submits a call of 10 us in 300.
_MANY = 1 << 17


def _recorded(
    name: str, x: Tensor, shape: Sequence[int], dtype: str, adjoint: Any, **options: Any
) -> Tensor:
    """Record a function of ``dpnp.fft``, on CPUs for most sizes that of ``numpy.fft``."""
    shape = tuple(shape)

    def by_dpnp(a: Any) -> Any:
        return getattr(dpnp.fft, name)(a, **options)

    is_fast = name in ("rfft", "irfft") or math.prod(shape) < _MANY
    by_numpy = _by_numpy(name, **options) if is_fast else None
    call = on_host_or(by_dpnp, x.trace, name, by_numpy)
    if 0 in shape:
        result = zeros(x.trace, shape, dtype)
        independent([x], {"dst": result})
        return result

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"0": adjoint(grads["0"])}

    return x.trace.array_call(call, [x], [Out(shape, dtype)], rule)[0]


#: Elements up to which results that are not scaled are computed in float64.
_MAX_IN_DOUBLE = 1 << 12


def _by_numpy(name: str, norm: str, axes: tuple[int, ...] = (), **options: Any) -> Any:
    """Return a function of ``numpy.fft``.

    It takes five times as long along other axes than the last one, and, since it computes in
    float64 then, eight times as long if it does not scale the result.
    """
    axes = axes or (options.pop("axis"),)
    is_unscaled = norm == ("forward" if name.startswith("i") else "backward")

    def called(function: str, a: np.ndarray, size: int, **where: Any) -> np.ndarray:
        if not is_unscaled or a.size <= _MAX_IN_DOUBLE:
            return getattr(np.fft, function)(a, norm=norm, **where, **options)
        result = getattr(np.fft, function)(a, norm=ADJOINT[norm], **where, **options)
        result *= size
        return result

    def of_several(a: np.ndarray) -> np.ndarray:
        return called(name, a, math.prod(a.shape[axis] for axis in axes), axes=axes)

    def of_one(a: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(np.moveaxis(a, axes[0], -1))
        size = rows.shape[-1] if name != "irfft" else int(options["n"])
        return np.moveaxis(called(name.removesuffix("n"), rows, size), -1, axes[0])

    return of_several if len(axes) > 1 else of_one


def of_complex(x: Tensor, axes: Sequence[int], is_inverse: bool, norm: str) -> Tensor:
    """Transform complex numbers along axes, in either direction."""
    if not axes:
        return x
    name, axes = "ifftn" if is_inverse else "fftn", tuple(axes)

    def adjoint(g: Tensor) -> Tensor:
        return of_complex(g, axes, not is_inverse, ADJOINT[norm])

    return _recorded(name, x, x.shape, str(x.dtype), adjoint, axes=axes, norm=norm)


def of_real(x: Tensor, axis: int, norm: str) -> Tensor:
    """Transform real numbers along an axis: the half with frequencies that are not negative."""
    n = x.shape[axis]
    shape = [n // 2 + 1 if i == axis else m for i, m in enumerate(x.shape)]

    def adjoint(g: Tensor) -> Tensor:
        return to_real(_weighted(g, axis, n, 0.5), axis, n, ADJOINT[norm])

    return _recorded(
        "rfft", x, shape, dtypes.complex_of(str(x.dtype)), adjoint, axis=axis, norm=norm
    )


def to_real(z: Tensor, axis: int, n: int, norm: str) -> Tensor:
    """Return the ``n`` real numbers whose transform has a half, along an axis."""
    shape = [n if i == axis else m for i, m in enumerate(z.shape)]

    def adjoint(g: Tensor) -> Tensor:
        return _weighted(of_real(g, axis, ADJOINT[norm]), axis, n, 2.0)

    return _recorded("irfft", z, shape, dtypes.part_of(z.dtype), adjoint, n=n, axis=axis, norm=norm)


def _weighted(z: Tensor, axis: int, n: int, weight: float) -> Tensor:
    """Scale the frequencies that represent two: all but 0 and, if ``n`` is even, the highest."""
    weights = np.full(n // 2 + 1, weight)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    shape = [-1 if i == axis else 1 for i in range(z.ndim)]
    part = dtypes.part_of(z.dtype)
    return mul(z, z.trace.literal(weights.reshape(shape), part))


def resized(x: Tensor, axis: int, n: int) -> Tensor:
    """Return ``n`` elements along an axis: the first ones, or all and zeros."""
    size = x.shape[axis]
    if n <= size:
        return x if n == size else narrow(x, axis, 0, n)
    return pad(x, (0, 0) * (x.ndim - 1 - axis) + (0, n - size))


def as_complex(x: Tensor) -> Tensor:
    """Return a tensor of complex numbers."""
    return converted(x, dtypes.complex_of(str(x.dtype)))

# SPDX-License-Identifier: Apache-2.0
"""The transforms that oneMKL computes, recorded with gradients.

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
from sycl_dnn.functional.fft.mkl_transforms import transform
from sycl_dnn.functional.onemkl import library
from sycl_dnn.functional.shape.joining import narrow
from sycl_dnn.functional.shape.padding import pad
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.gradients import independent
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.steps import Out, on_host_or
from sycl_dnn.trace.values import Tensor

#: By normalization: that of the adjoint in the other direction.
ADJOINT = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


#: Elements up to which ``numpy.fft`` takes no longer than oneMKL and need not prepare anything.
_FEW = 256


def _recorded(
    name: str, x: Tensor, shape: Sequence[int], dtype: str, adjoint: Any, axes: Sequence[int],
    norm: str, options: dict[str, Any],
) -> Tensor:  # fmt: skip
    """Record a function of ``dpnp.fft``, on CPUs a transform in the arrays' memory."""
    shape = tuple(shape)
    is_inverse, is_few = name.startswith("i"), x.size <= _FEW
    size = math.prod(max(x.shape[a], shape[a]) for a in axes)
    scale = {"ortho": size**-0.5}.get(norm, 1 / size if (norm == "backward") == is_inverse else 1.0)

    def by_dpnp(a: Any) -> Any:
        return getattr(dpnp.fft, name)(a, norm=norm, **options)

    def by_host(a: np.ndarray, result: np.ndarray) -> None:
        if is_few:
            result[...] = getattr(np.fft, name)(a, norm=norm, **options)
        else:
            transform(a, result, tuple(axes), is_inverse, scale)

    on_host = by_host if is_few or library() else None
    row = "numpy" if is_few else "onemkl"
    call = on_host_or(by_dpnp, x.trace, name, on_host, library=row, writes=True)
    if 0 in shape:
        result = zeros(x.trace, shape, dtype)
        independent([x], {"dst": result})
        return result

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"0": adjoint(grads["0"])}

    return x.trace.array_call(call, [x], [Out(shape, dtype)], rule)[0]


def of_complex(x: Tensor, axes: Sequence[int], is_inverse: bool, norm: str) -> Tensor:
    """Transform complex numbers along axes, in either direction."""
    if not axes:
        return x
    name, axes = "ifftn" if is_inverse else "fftn", tuple(axes)

    def adjoint(g: Tensor) -> Tensor:
        return of_complex(g, axes, not is_inverse, ADJOINT[norm])

    return _recorded(name, x, x.shape, str(x.dtype), adjoint, axes, norm, {"axes": axes})


def of_real(x: Tensor, axes: Sequence[int], norm: str) -> Tensor:
    """Transform real numbers along axes: the half of the last one without negative frequencies."""
    *others, last = axes
    n = x.shape[last]
    shape = [n // 2 + 1 if i == last else m for i, m in enumerate(x.shape)]

    def adjoint(g: Tensor) -> Tensor:
        waves = of_complex(_weighted(g, last, n, 0.5), others, True, ADJOINT[norm])
        return to_real(waves, last, n, ADJOINT[norm])

    dtype = dtypes.complex_of(str(x.dtype))
    return _recorded("rfftn", x, shape, dtype, adjoint, axes, norm, {"axes": axes})


def to_real(z: Tensor, axis: int, n: int, norm: str) -> Tensor:
    """Return the ``n`` real numbers whose transform has a half, along an axis."""
    shape = [n if i == axis else m for i, m in enumerate(z.shape)]

    def adjoint(g: Tensor) -> Tensor:
        return _weighted(of_real(g, [axis], ADJOINT[norm]), axis, n, 2.0)

    dtype = dtypes.part_of(z.dtype)
    return _recorded("irfft", z, shape, dtype, adjoint, [axis], norm, {"n": n, "axis": axis})


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

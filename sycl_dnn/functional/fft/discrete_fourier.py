# SPDX-License-Identifier: Apache-2.0
"""fft, ifft, rfft, irfft, hfft, ihfft, and the transforms along several axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn.call.operation import SMOOTH, as_torch, named, operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.complex_numbers.complex_parts import conj, unlowered
from sycl_dnn.functional.fft.transforms import (
    ADJOINT,
    as_complex,
    of_complex,
    of_real,
    resized,
    to_real,
)
from sycl_dnn.functional.shape.reshaping import check_axes, check_axis, checked_int
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.values import Tensor

_PARAMETERS = """input : array (*)
    {kinds}
{sizes}
norm : {{"backward", "ortho", "forward"}}, optional
    {norm}
"""
_TYPES = "``input`` is no array, or its dtype is another one."
_ERRORS = (
    "An axis is out of range or there twice, a size is not positive, or there is no such ``norm``."
)
_NOTES = "Computed by oneMKL, on GPUs called by ``dpnp.fft``. " + SMOOTH
_ANY = "Real or complex, in single or double precision; integers become float32."
_REAL = "float32 or float64; integers become float32."
_ONE_AXIS = """n : int, optional
    Size along the axis{of}: elements are dropped, or zeros added, at the end.
dim : int"""
_AXES = """s : sequence of int, optional
    Sizes along the axes{of}: elements are dropped, or zeros added, at the end. -1 is that of
    ``input``.
dim : sequence of int{default}"""
_NORMS = {
    False: '"forward" divides by the number of elements, "ortho" by its root.',
    True: '"backward", the default, divides by the number of elements, "ortho" by its root.',
}
_COMPLEX = "complex64 or complex128."
_HALF = " The last axis has ``n // 2 + 1`` elements."


# --- Arguments


def _checked(name: str, x: Any, is_real: bool) -> Tensor:
    """Return an array in a dtype that has transforms."""
    check_arrays(name, input=x)
    x = unlowered(x)
    if dtypes.is_complex(x.dtype):
        if is_real:
            raise TypeError(f"{name}: input must be real, got {x.dtype}")
        return x
    if x.dtype in ("float32", "float64"):
        return x
    if x.is_float or x.dtype in dtypes.PACKED:
        raise TypeError(f"{name}: input must be float32, float64 or complex, got {x.dtype}")
    return converted(x, "float32")


def _norm_of(name: str, norm: Any) -> str:
    norm = "backward" if norm is None else norm
    if norm not in ADJOINT:
        raise ValueError(f"{name}: norm must be one of {', '.join(ADJOINT)}, got {norm!r}")
    return norm  # type: ignore[no-any-return]


def _axis_of(name: str, x: Tensor, dim: Any) -> int:
    if not x.ndim:
        raise ValueError(f"{name}: input must have an axis, got shape ()")
    return check_axis(name, dim, x.ndim)


def _size_of(name: str, argument: str, size: Any, of_input: int) -> int:
    n = of_input if size is None else checked_int(name, argument, size)
    if n < 1:
        raise ValueError(f"{name}: {argument} must be at least 1, got {n}")
    return n


def _doubled(n: int) -> int:
    return 2 * (n - 1)


def _axes_of(
    name: str, x: Tensor, s: Any, dim: Any, least: int = 0,
    last: Callable[[int], int] = lambda n: n,
) -> tuple[list[int], list[int]]:  # fmt: skip
    """Return axes, ``least`` at least, and sizes; ``last`` is that along the last by default."""
    given = None if s is None else list(s) if isinstance(s, (tuple, list)) else [s]
    if dim is not None:
        axes = check_axes(name, dim, x.ndim)
    elif given is None or len(given) <= x.ndim:
        axes = list(range(0 if given is None else x.ndim - len(given), x.ndim))
    else:
        raise ValueError(f"{name}: s must have at most {x.ndim} sizes, got {s}")
    if len(set(axes)) < len(axes) or len(axes) > x.ndim:
        raise ValueError(f"{name}: dim must name axes of shape {x.shape} once, got {dim}")
    if len(axes) < least:
        raise ValueError(f"{name}: dim must name at least one axis, got {dim} for {x.shape}")
    if given is not None and len(given) != len(axes):
        raise ValueError(f"{name}: s must have a size for each of dim, got {s} and {dim}")
    of_input = [x.shape[a] for a in axes]
    of_input[-1:] = [last(n) for n in of_input[-1:]]
    pairs = zip(given or [None] * len(axes), of_input, strict=True)
    return axes, [_size_of(name, "s", None if n == -1 else n, m) for n, m in pairs]


# --- Along one axis


def _both_ways(name: str, what: str, is_inverse: bool) -> Any:
    def call(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        x, norm = _checked(name, input, False), _norm_of(name, norm)
        axis = _axis_of(name, x, dim)
        size = _size_of(name, "n", n, x.shape[axis])
        return of_complex(resized(as_complex(x), axis, size), [axis], is_inverse, norm)

    return _made(name, call, what=what, kinds=_ANY, sizes=_ONE_AXIS.format(of=""),
                 norm=_NORMS[is_inverse], returns=_COMPLEX)  # fmt: skip


def _made(name: str, call: Any, what: str, returns: str, **words: str) -> Any:
    text = as_torch(
        f"fft.{name}", f"Return the {what}.", _PARAMETERS.format(**words),
        returns=f"array (*)\n    {returns}", types=_TYPES, errors=_ERRORS, notes=_NOTES,
    )  # fmt: skip
    return operation(named(call, name, text))


fft = _both_ways("fft", "discrete Fourier transform along an axis", False)
ifft = _both_ways("ifft", "inverse discrete Fourier transform along an axis", True)


def _half(name: str, what: str, is_inverse: bool) -> Any:
    def call(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        x, norm = _checked(name, input, True), _norm_of(name, norm)
        axis = _axis_of(name, x, dim)
        x = resized(x, axis, _size_of(name, "n", n, x.shape[axis]))
        return conj(of_real(x, [axis], ADJOINT[norm])) if is_inverse else of_real(x, [axis], norm)

    returns = _COMPLEX + _HALF.replace("last ", "")
    return _made(name, call, what=what, kinds=_REAL, sizes=_ONE_AXIS.format(of=""),
                 norm=_NORMS[is_inverse], returns=returns)  # fmt: skip


rfft = _half("rfft", "half of the discrete Fourier transform of real numbers", False)
ihfft = _half(
    "ihfft", "half of the inverse discrete Fourier transform of real numbers", True
)  # fmt: skip


def _to_real(name: str, what: str, is_inverse: bool) -> Any:
    def call(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        x, norm = _checked(name, input, False), _norm_of(name, norm)
        axis = _axis_of(name, x, dim)
        size = _size_of(name, "n", n, _doubled(x.shape[axis]))
        z = resized(as_complex(x), axis, size // 2 + 1)
        return to_real(z, axis, size, norm) if is_inverse else to_real(conj(z), axis, size,
                                                                        ADJOINT[norm])  # fmt: skip

    return _made(name, call, what=what, kinds=_ANY, sizes=_ONE_AXIS.format(of=" of the result"),
                 norm=_NORMS[is_inverse], returns="Real; by default ``n`` is even.")  # fmt: skip


irfft = _to_real("irfft", "real numbers whose discrete Fourier transform has a half", True)
hfft = _to_real("hfft", "real discrete Fourier transform of numbers with a half", False)


# --- Along several axes


def _resized(x: Tensor, axes: Sequence[int], sizes: Sequence[int]) -> Tensor:
    for axis, size in zip(axes, sizes, strict=True):
        x = resized(x, axis, size)
    return x


def _complex_along(is_inverse: bool) -> Callable[..., Tensor]:
    def transform(name: str, input: Tensor, s: Any, dim: Any, norm: str) -> Tensor:
        x = _checked(name, input, False)
        axes, sizes = _axes_of(name, x, s, dim)
        return of_complex(_resized(as_complex(x), axes, sizes), axes, is_inverse, norm)

    return transform


def _of_real_along(name: str, input: Tensor, s: Any, dim: Any, norm: str) -> Tensor:
    x = _checked(name, input, True)
    axes, sizes = _axes_of(name, x, s, dim, 1)
    return of_real(_resized(x, axes, sizes), axes, norm)


def _to_real_along(name: str, input: Tensor, s: Any, dim: Any, norm: str) -> Tensor:
    x = _checked(name, input, False)
    axes, sizes = _axes_of(name, x, s, dim, 1, _doubled)
    z = _resized(as_complex(x), axes, [*sizes[:-1], sizes[-1] // 2 + 1])
    return to_real(of_complex(z, axes[:-1], True, norm), axes[-1], sizes[-1], norm)


def _several(name: str, transform: Callable[..., Tensor], **words: Any) -> Any:
    """Return a function of any axes, or of two for a name that ends with 2."""
    default = (-2, -1) if name[-1] == "2" else None

    def call(
        input: Tensor, s: Sequence[int] | None = None, dim: int | Sequence[int] | None = default,
        norm: str | None = None,
    ) -> Tensor:  # fmt: skip
        return transform(name, input, s, dim, _norm_of(name, norm))

    what = f"{words['what']} along {'two axes' if default else 'axes'}"
    axes = "" if default else ", optional\n    By default as many last axes as ``s`` has, or all"
    sizes = _AXES.format(of=words.pop("of", ""), default=f"{axes}." if axes else "")
    return _made(name, call, **words | {"what": what, "sizes": sizes})


_FORWARD = {"what": "discrete Fourier transform", "kinds": _ANY, "norm": _NORMS[False],
            "returns": _COMPLEX}  # fmt: skip
_INVERSE = _FORWARD | {"what": "inverse discrete Fourier transform", "norm": _NORMS[True]}
_FROM_REAL = _FORWARD | {"what": "half of the discrete Fourier transform of real numbers",
                         "kinds": _REAL, "returns": _COMPLEX + _HALF}  # fmt: skip
_TO_REAL = _INVERSE | {
    "what": "real numbers whose discrete Fourier transform has a half",
    "of": " of the result", "returns": "Real; by default the last size is even.",
}  # fmt: skip

fft2 = _several("fft2", _complex_along(False), **_FORWARD)
fftn = _several("fftn", _complex_along(False), **_FORWARD)
ifft2 = _several("ifft2", _complex_along(True), **_INVERSE)
ifftn = _several("ifftn", _complex_along(True), **_INVERSE)
rfft2 = _several("rfft2", _of_real_along, **_FROM_REAL)
rfftn = _several("rfftn", _of_real_along, **_FROM_REAL)
irfft2 = _several("irfft2", _to_real_along, **_TO_REAL)
irfftn = _several("irfftn", _to_real_along, **_TO_REAL)

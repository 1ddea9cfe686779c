# SPDX-License-Identifier: Apache-2.0
"""Less common functions of torch and ``torch.special`` as compositions, under torch's names."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn import _torch_habits
from sycl_dnn import functional as F
from sycl_dnn.nn import torch_special
from sycl_dnn.nn.torch_docstrings import described
from sycl_dnn.nn.torch_linalg import linalg
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions

_SHAPES, _PARTS = (
    "The shapes do not match.",
    "There are too few axes, or parts are not of one size.",
)
_INDICES = (
    "int or sequence of int\n    The number of equal parts, or where all but the first begin."
)


@described("array (*) of bool")
def isposinf(input: Any) -> Any:
    """Whether elements are infinity."""
    return F.eq(input, math.inf)


@described("array (*) of bool")
def isneginf(input: Any) -> Any:
    """Whether elements are negative infinity."""
    return F.eq(input, -math.inf)


@described("array (*) of bool")
def isreal(input: Any) -> Any:
    """Whether elements have no imaginary part."""
    if F.is_complex(input):
        return F.eq(F.imag(input), 0)
    return F.ones_like(input, dtype="bool")


@described("array (*)", other="array (*), or a number\n    Shapes broadcast.")
def rsub(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """Return ``other - alpha * input``."""
    return F.sub(other, input, alpha=alpha)


@described("array ()")
def dist(input: Any, other: Any, p: float = 2) -> Any:
    """Return the p-norm of the difference."""
    return F.norm(F.sub(input, other), p)


@described("array (m,)", _SHAPES, input="array (m,) or ()", mat="array (m, n)", vec="array (n,)")
def addmv(input: Any, mat: Any, vec: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """Return ``beta * input + alpha * (mat @ vec)``; ``input`` is not read if ``beta`` is 0."""
    x = F.unsqueeze(input, -1) if input.ndim else input
    return F.squeeze(F.addmm(x, mat, F.unsqueeze(vec, -1), beta=beta, alpha=alpha), -1)


@described(
    "array (m, n)",
    _SHAPES,
    input="array (m, n)\n    Or a shape that broadcasts to it.",
    vec1="array (m,)",
    vec2="array (n,)",
)
def addr(input: Any, vec1: Any, vec2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """Return ``beta * input + alpha * outer(vec1, vec2)``."""
    column, row = F.unsqueeze(vec1, -1), F.unsqueeze(vec2, 0)
    return F.addmm(input, column, row, beta=beta, alpha=alpha)


@described(
    "array (n, N)", "``x`` has other than one axis, or ``N`` is negative.", x="array (n,)",
    N="int, optional\n    Number of columns; by default n.",
    increasing="bool\n    Whether the powers rise from left to right.",
)  # fmt: skip
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803 - torch's
    """Return the matrix of the powers 0 to ``N - 1`` of each element (Vandermonde)."""
    if x.ndim != 1:
        raise ValueError(f"vander: x must have one axis, got shape {tuple(x.shape)}")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise ValueError(f"vander: N must not be negative, got {N}")
    ones = F.ones_like(F.unsqueeze(x, -1))
    factors = F.cat([ones, F.expand(F.unsqueeze(x, -1), (x.shape[0], max(n - 1, 0)))], 1)
    powers = F.cumprod(F.narrow(factors, 1, 0, n), 1)
    return powers if increasing else F.flip(powers, (1,))


def _split(name: str, rank: int, dim: int, input: Any, parts: Any) -> Any:
    """Split along an axis into equal parts, or at indices."""
    if input.ndim < rank:
        raise ValueError(f"{name}: input must have {rank} axes at least, got {input.shape}")
    if isinstance(parts, int) and (parts < 1 or input.shape[dim] % parts):
        rule = f"divide {input.shape[dim]}"
        raise ValueError(f"{name}: indices_or_sections must {rule}, got {parts}")
    return F.tensor_split(input, parts, dim)


@described("tuple of arrays", _PARTS, indices_or_sections=_INDICES)
def hsplit(input: Any, indices_or_sections: Any) -> Any:
    """Split along the second axis, or the only one: into equal parts, or at indices."""
    return _split("hsplit", 1, min(input.ndim - 1, 1), input, indices_or_sections)


@described("tuple of arrays", _PARTS, indices_or_sections=_INDICES)
def vsplit(input: Any, indices_or_sections: Any) -> Any:
    """Split along the first axis of at least two: into equal parts, or at indices."""
    return _split("vsplit", 2, 0, input, indices_or_sections)


@described("tuple of arrays", _PARTS, indices_or_sections=_INDICES)
def dsplit(input: Any, indices_or_sections: Any) -> Any:
    """Split along the third axis: into equal parts, or at indices."""
    return _split("dsplit", 3, 2, input, indices_or_sections)


@described("array (n, *)", input="array (n, *)")
def msort(input: Any) -> Any:
    """Return the elements sorted along the first axis."""
    return F.sort(input, 0)[0]


@described("array (*)")
def mvlgamma(input: Any, p: int) -> Any:
    """Return the logarithm of the multivariate gamma function of dimension ``p``."""
    dtype = str(input.dtype)
    wide = dtypes.wide(dtype)
    x: Any = F.astype(input, wide)
    shifts = F.mul(F.arange(p, dtype=wide, device=input.device), -0.5)
    terms = F.lgamma(F.add(F.unsqueeze(x, -1), shifts))
    result = F.add(F.sum(terms, -1), p * (p - 1) / 4 * math.log(math.pi))
    return F.astype(result, dtype) if dtypes.is_float(dtype) else result


@described("array (*, n, m)", input="array (*, m, n)")
def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """Return the pseudoinverse, without singular values up to ``rcond`` times the largest."""
    return linalg.pinv(input, rcond)


# --- torch.special


@described("array (*)", module="special.")
def ndtr(input: Any) -> Any:
    """Return the distribution function of the normal distribution."""
    return F.mul(F.erfc(F.mul(input, -math.sqrt(0.5))), 0.5)


class _Special:
    """``torch.special``: its own functions, and those that torch also has elsewhere."""

    ndtr, multigammaln = staticmethod(ndtr), staticmethod(mvlgamma)
    expit, gammaln, psi = (staticmethod(f) for f in (F.sigmoid, F.lgamma, F.digamma))

    def __getattr__(self, name: str) -> Any:
        for owner in (torch_special, F):
            if hasattr(owner, name):
                return getattr(owner, name)
        raise _torch_habits.missing("torch", "torch_names.special", name)


special = _Special()
#: Those that are methods of arrays in torch, too.
functions.add_methods({
    name: globals()[name] for name in (
        "addmv", "addr", "dist", "dsplit", "hsplit", "isneginf", "isposinf", "isreal", "msort",
        "mvlgamma", "pinverse", "vsplit",
    )
})  # fmt: skip

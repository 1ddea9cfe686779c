# SPDX-License-Identifier: Apache-2.0
"""torch functions of values on a grid: integrals by the trapezoidal rule, and derivatives."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.functional.shape.reshaping import check_axes
from sycl_dnn.onednn import dtypes


def _trapezoids(y: Any, x: Any, dx: float, dim: int) -> Any:
    """Return twice the areas between neighbors."""
    length = y.shape[dim] - 1
    sums = F.add(F.narrow(y, dim, 1, length), F.narrow(y, dim, 0, length))
    if x is None:
        return F.mul(sums, dx)
    if x.ndim > 1:
        return F.mul(sums, F.diff(x, dim=dim))
    return F.mul(sums, F.reshape(F.diff(x), (length,) + (1,) * (y.ndim - 1 - dim % y.ndim)))


def trapezoid(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    """Integrate along an axis by the trapezoidal rule, at points ``x`` or with a distance."""
    return F.div(F.sum(_trapezoids(y, x, dx, dim), dim), 2)


def cumulative_trapezoid(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    """Return the integrals from the first point to each of the others, as of ``trapezoid``."""
    return F.div(F.cumsum(_trapezoids(y, x, dx, dim), dim), 2)


def gradient(
    input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> tuple[Any, ...]:
    """Estimate the partial derivatives of a function from its values on a grid.

    Parameters
    ----------
    input : array (*)
        Along each axis that is differentiated at least ``edge_order + 1`` values.
    spacing : number, sequence of numbers, or of arrays (n,)
        Distances of all axes, of each, or the coordinates along each; 1 by default.
    dim : int or sequence of int, optional
        The axes, all by default.
    edge_order : int
        1 or 2: the order of accuracy at the ends; between them it is 2.

    Returns
    -------
    tuple of arrays (*)

    Raises
    ------
    TypeError
        ``input`` is complex.
    ValueError
        An axis has too few values, occurs twice or is missing, or an argument has another length or
        value.

    Notes
    -----
    Differentiable to any order. Source: ``torch.gradient``.
    """
    if dtypes.is_complex(str(input.dtype)):
        raise TypeError(f"gradient: input must not be complex, got {input.dtype}")
    x = input if dtypes.is_float(str(input.dtype)) else F.astype(input, "float32")
    dims = check_axes("gradient", [*range(x.ndim)] if dim is None else dim, x.ndim)
    if len(set(dims)) < len(dims):
        raise ValueError(f"gradient: dim must not have an axis twice, got {dim}")
    spacing = 1.0 if spacing is None else spacing
    spacings = [spacing] * len(dims) if isinstance(spacing, (int, float)) else list(spacing)
    if len(spacings) != len(dims):
        raise ValueError(f"gradient: spacing must have {len(dims)} items, got {len(spacings)}")
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    return tuple(_slopes(x, d, h, edge_order) for d, h in zip(dims, spacings, strict=True))


def _slopes(x: Any, dim: int, spacing: Any, edge_order: int) -> Any:
    n, is_uniform = x.shape[dim], isinstance(spacing, (int, float))
    if n <= edge_order:
        raise ValueError(f"gradient: axis {dim} must have over {edge_order} values, got {n}")
    if not is_uniform and tuple(spacing.shape) != (n,):
        raise ValueError(f"gradient: spacing must have shape ({n},), got {tuple(spacing.shape)}")
    dtype = str(x.dtype)
    steps = (
        F.full((n - 1,), spacing, dtype=dtype, device=x.device)
        if is_uniform
        else F.astype(F.diff(spacing), dtype)
    )
    steps = F.reshape(steps, (n - 1,) + (1,) * (x.ndim - 1 - dim))

    def part(of: Any, start: int, length: int) -> Any:
        return F.narrow(of, dim if of is not steps else 0, start, length)

    between = F.div(F.sub(part(x, 1, n - 1), part(x, 0, n - 1)), steps)
    first, last = part(between, 0, 1), part(between, n - 2, 1)
    if edge_order == 2:
        first, last = (
            F.add(end, F.mul(F.sub(end, part(between, i, 1)), _share(part(steps, j, 1), other)))
            for end, i, j, other in (
                (first, 1, 0, part(steps, 1, 1)), (last, n - 3, n - 2, part(steps, n - 3, 1)),
            )
        )  # fmt: skip
    before, after = part(steps, 0, n - 2), part(steps, 1, n - 2)
    if is_uniform:
        inner = F.div(F.sub(part(x, 2, n - 2), part(x, 0, n - 2)), 2.0 * spacing)
    else:
        left, right = part(between, 0, n - 2), part(between, 1, n - 2)
        inner = F.div(F.add(F.mul(left, after), F.mul(right, before)), F.add(before, after))
    return F.cat([first, inner, last], dim)


def _share(step: Any, other: Any) -> Any:
    return F.div(step, F.add(step, other))


trapz = trapezoid

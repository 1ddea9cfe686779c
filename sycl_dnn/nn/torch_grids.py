# SPDX-License-Identifier: Apache-2.0
"""torch functions of values on a grid: integrals by the trapezoidal rule, and derivatives."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.functional.shape.reshaping import check_axes
from sycl_dnn.nn.torch_docstrings import described
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


@described(
    "array\n    The shape of ``y`` without the axis.",
    y="array (*)",
    x="array (n,) or (*), optional",
    dx="float",
)
def trapezoid(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    """Integrate along an axis by the trapezoidal rule, at points ``x`` or with a distance."""
    return F.div(F.sum(_trapezoids(y, x, dx, dim), dim), 2)


@described(
    "array\n    The shape of ``y``, with an element fewer along the axis.",
    y="array (*)",
    x="array (n,) or (*), optional",
    dx="float",
)
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
    ValueError
        An axis has too few values, occurs twice or is missing, or an argument has another length or
        value.

    Notes
    -----
    Differentiable to any order. Source: ``torch.gradient``.
    """
    is_kept = dtypes.has_gradients(str(input.dtype))
    x = input if is_kept else F.astype(input, "float32")
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
    n, is_uniform, dtype = x.shape[dim], isinstance(spacing, (int, float)), dtypes.part_of(x.dtype)
    if n <= edge_order:
        raise ValueError(f"gradient: axis {dim} must have over {edge_order} values, got {n}")
    if not is_uniform and tuple(spacing.shape) != (n,):
        raise ValueError(f"gradient: spacing must have shape ({n},), got {tuple(spacing.shape)}")
    if is_uniform:
        steps = F.full((n - 1,), spacing, dtype=dtype, device=x.device)
    else:
        steps = F.astype(F.diff(spacing), dtype)
    steps = F.reshape(steps, [n - 1 if axis == dim else 1 for axis in range(x.ndim)])

    def part(of: Any, start: int, length: int = 1) -> Any:
        return F.narrow(of, dim, start, length)

    slopes = F.div(F.sub(part(x, 1, n - 1), part(x, 0, n - 1)), steps)

    def end(at: int, neighbor: int) -> Any:
        slope, step = part(slopes, at), part(steps, at)
        if edge_order == 1:
            return slope
        share = F.div(step, F.add(step, part(steps, neighbor)))
        return F.add(slope, F.mul(F.sub(slope, part(slopes, neighbor)), share))

    if is_uniform:  # the value in between has no weight, even if it is not finite
        inner = F.div(F.sub(part(x, 2, n - 2), part(x, 0, n - 2)), 2.0 * spacing)
    else:
        before, after = part(steps, 0, n - 2), part(steps, 1, n - 2)
        weighted = F.mul(part(slopes, 0, n - 2), after), F.mul(part(slopes, 1, n - 2), before)
        inner = F.div(F.add(*weighted), F.add(before, after))
    return F.cat([end(0, 1), inner, end(n - 2, n - 3)], dim)


trapz = trapezoid

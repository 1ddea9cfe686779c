# SPDX-License-Identifier: Apache-2.0
"""Gradients bounded by their norm over all of them, or element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn.nn.utils.gradient_clipping import (
    clip_factor,
    gradient_arrays,
    scaled,
    total_norm,
)


def global_norm(grads: Any, norm_type: float = 2.0) -> Any:
    """Return the norm of all elements of a tree, summed in float32.

    Parameters
    ----------
    grads : tree of arrays
        None is skipped, and so are buffers and frozen parameters of modules.
    norm_type : float
        Any order, as for ``torch.nn.utils.get_total_norm``.

    Returns
    -------
    array ()
        float32; NaN if an element is; 0 without arrays.

    Raises
    ------
    TypeError
        An array is not floating-point.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> float(optim.global_norm({"a": F.full((4,), 3.0), "b": F.full((1,), 8.0)}))
    10.0
    """
    return total_norm("global_norm", grads, norm_type, False)


def clip_grad_norm(
    grads: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> tuple[Any, Any]:
    """Scale gradients so that their norm is at most ``max_norm``.

    Parameters
    ----------
    grads : tree of arrays
    max_norm : float
    norm_type : float
        As for ``global_norm``.
    error_if_nonfinite : bool
        Whether to wait for the norm and check it, which a traced function cannot.

    Returns
    -------
    grads : tree of arrays
        New arrays; as ``torch.nn.utils.clip_grad_norm_`` computes them.
    norm : array ()
        Of the gradients before scaling.

    Raises
    ------
    RuntimeError
        With ``error_if_nonfinite``: the norm is infinite or NaN, or a function is traced.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> grads, norm = optim.clip_grad_norm([F.full((4,), 3.0)], 1.0)
    >>> round(float(optim.global_norm(grads)), 4), float(norm)
    (1.0, 6.0)
    """
    norm = total_norm("clip_grad_norm", grads, norm_type, error_if_nonfinite)
    factor = clip_factor(norm, max_norm)
    return _changed("clip_grad_norm", grads, lambda g: scaled(g, factor)), norm


def _changed(name: str, grads: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tree with other gradients; everything else in it is kept."""
    leaves, structure = tree.flatten(grads)
    rows = zip(leaves, gradient_arrays(name, grads), strict=True)
    return tree.unflatten(structure, [old if g is None else change(g) for old, g in rows])


def clip_grad_value(grads: Any, clip_value: float) -> Any:
    """Return gradients with each element clamped to ``[-clip_value, clip_value]``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> optim.clip_grad_value([F.full((2,), -3.0)], 1.0)[0].tolist()
    [-1.0, -1.0]
    """
    value = float(clip_value)
    return _changed("clip_grad_value", grads, lambda g: F.clamp(g, -value, value))

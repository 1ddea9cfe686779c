# SPDX-License-Identifier: Apache-2.0
"""Gradients bounded by their norm over all of them, or element by element."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn import tree


def _arrays(grads: Any) -> list[Any]:
    return [g for g in tree.leaves(grads) if hasattr(g, "shape")]


def global_norm(grads: Any, norm_type: float = 2.0) -> Any:
    """Return the norm of all elements of a tree, summed in float32.

    Parameters
    ----------
    grads : tree of arrays
        At least one; None is skipped.
    norm_type : float
        2, or infinity.

    Returns
    -------
    array ()
        float32.

    Raises
    ------
    ValueError
        There is no array, or ``norm_type`` is not one of these.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> float(optim.global_norm({"a": F.full((4,), 3.0), "b": F.full((1,), 8.0)}))
    10.0
    """
    found = [F.astype(g, "float32") for g in _arrays(grads)]
    if not found:
        raise ValueError("global_norm: grads must have an array, got none")
    if norm_type == math.inf:
        return F.amax(F.stack([F.amax(F.abs(g)) for g in found]))
    if norm_type != 2.0:
        raise ValueError(f"global_norm: norm_type must be 2 or inf, got {norm_type}")
    return F.sqrt(F.sum(F.stack([F.sum(F.square(g)) for g in found])))


def clip_grad_norm(grads: Any, max_norm: float, norm_type: float = 2.0) -> tuple[Any, Any]:
    """Scale gradients so that their norm is at most ``max_norm``.

    Parameters
    ----------
    grads : tree of arrays
    max_norm : float
    norm_type : float
        As for ``global_norm``.

    Returns
    -------
    grads : tree of arrays
        New arrays; as ``torch.nn.utils.clip_grad_norm_`` computes them.
    norm : array ()
        Of the gradients before scaling.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> grads, norm = optim.clip_grad_norm([F.full((4,), 3.0)], 1.0)
    >>> round(float(optim.global_norm(grads)), 4), float(norm)
    (1.0, 6.0)
    """
    norm = global_norm(grads, norm_type)
    factor = F.clamp(F.div(max_norm, F.add(norm, 1e-6)), max=1.0)
    return tree.map(lambda g: _scaled(g, factor), grads), norm


def _scaled(g: Any, factor: Any) -> Any:
    if not hasattr(g, "shape"):
        return g
    narrow = str(g.dtype)
    return F.astype(F.mul(F.astype(g, "float32"), factor), narrow)


def clip_grad_value(grads: Any, clip_value: float) -> Any:
    """Return gradients with each element clamped to ``[-clip_value, clip_value]``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> optim.clip_grad_value([F.full((2,), -3.0)], 1.0)[0].tolist()
    [-1.0, -1.0]
    """
    return tree.map(
        lambda g: F.clamp(g, -clip_value, clip_value) if hasattr(g, "shape") else g, grads
    )

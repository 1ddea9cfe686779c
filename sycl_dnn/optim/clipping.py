# SPDX-License-Identifier: Apache-2.0
"""Gradient clipping by global norm and by value."""

from __future__ import annotations

from typing import Any

from sycl_dnn import tree
from sycl_dnn.nn.utils.gradient_clipping import all_clamped, all_clipped, changed, total_norm


def global_norm(grads: Any, norm_type: float = 2.0) -> Any:
    """Return the norm over all arrays of a tree, accumulated in float32.

    In a module with tensor parallel layers it is the norm over the parts of all ranks.

    Parameters
    ----------
    grads : tree of arrays
        None, buffers and frozen parameters of modules are skipped.
    norm_type : float
        Any order, as for ``torch.nn.utils.get_total_norm``.

    Returns
    -------
    array ()
        float32; NaN if any element is NaN; 0 if there are no arrays.

    Raises
    ------
    TypeError
        An array is not floating point.

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
    """Scale gradients so that their global norm is at most ``max_norm``.

    Parameters
    ----------
    grads : tree of arrays
    max_norm : float
    norm_type : float
        As for ``global_norm``.
    error_if_nonfinite : bool
        Whether to wait for the norm and check it, which is impossible in a traced function.

    Returns
    -------
    grads : tree of arrays
        New arrays, with the values of ``torch.nn.utils.clip_grad_norm_``.
    norm : array ()
        The norm before clipping.

    Raises
    ------
    RuntimeError
        ``error_if_nonfinite`` is set and the norm is infinite or NaN, or a function is being
        traced.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> grads, norm = optim.clip_grad_norm([F.full((4,), 3.0)], 1.0)
    >>> round(float(optim.global_norm(grads)), 4), float(norm)
    (1.0, 6.0)
    """
    norm = total_norm("clip_grad_norm", grads, norm_type, error_if_nonfinite)
    return clipped(grads, norm, max_norm), norm


def clipped(grads: Any, norm: Any, max_norm: float) -> Any:
    """Return gradients of this norm, scaled so that it is at most ``max_norm``."""
    result = changed("clip_grad_norm", grads, lambda arrays: all_clipped(arrays, norm, max_norm))
    return tree.unflatten(tree.flatten(grads)[1], result)


def clip_grad_value(grads: Any, clip_value: float) -> Any:
    """Return gradients clamped to ``[-clip_value, clip_value]``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> optim.clip_grad_value([F.full((2,), -3.0)], 1.0)[0].tolist()
    [-1.0, -1.0]
    """
    value = float(clip_value)
    result = changed("clip_grad_value", grads, lambda arrays: all_clamped(arrays, value))
    return tree.unflatten(tree.flatten(grads)[1], result)

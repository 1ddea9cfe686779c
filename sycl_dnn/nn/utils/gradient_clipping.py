# SPDX-License-Identifier: Apache-2.0
"""In-place gradient clipping, and parameters as one vector, as in ``torch.nn.utils``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sycl_dnn import _torch_habits, tree
from sycl_dnn import functional as F
from sycl_dnn.compiler.decorator import compile
from sycl_dnn.functional.defined import defined
from sycl_dnn.ir.node import Node
from sycl_dnn.nn import lent_arrays, module_tree
from sycl_dnn.nn.partitioned_parameters import by_owners, norm_over_ranks
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace import array_writes
from sycl_dnn.trace.array import carrier
from sycl_dnn.trace.values import Tensor

#: Minimum number of elements of the rows that a gradient is divided into.
_ROW = 1 << 13


def gradient_arrays(
    name: str, grads: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any]:
    """Return the leaves of a tree of gradients, with None for everything that is not a gradient.

    Buffers and frozen parameters of modules have no gradient, regardless of the tree's values.

    Raises TypeError if an array is not floating point, or parameters are passed rather than
    gradients.
    """
    leaves, structure = tree.flatten(grads, is_leaf)
    return checked_gradients(name, leaves, structure, lambda: tree.names(grads, is_leaf))


def checked_gradients(
    name: str, leaves: list[Any], structure: tree.Structure, names: Callable[[], list[str]]
) -> list[Any]:
    """Do as ``gradient_arrays`` with the leaves of a tree; ``names()`` are theirs."""
    gradients: list[Any] = []
    for number, (g, is_constant) in enumerate(zip(leaves, tree.constants(structure), strict=True)):
        if getattr(g, "is_parameter", False):
            raise _torch_habits.wrong_gradients(name, "a parameter of a module")
        if isinstance(g, Iterator):
            raise _torch_habits.wrong_gradients(name, f"a {type(g).__name__}")
        if is_constant or not hasattr(g, "shape"):
            gradients.append(None)
        elif dtypes.is_float(str(g.dtype)):
            gradients.append(g)
        else:
            path = names()[number]
            raise TypeError(f"{name}: gradients must be floating-point, got {g.dtype} at {path!r}")
    return gradients


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Return the norm over all arrays of a tree, accumulated in float32.

    In a module with tensor parallel layers it is the norm over the parts of all ranks.

    Parameters
    ----------
    tensors : tree of arrays
        None, buffers and frozen parameters of modules are skipped.
    norm_type : float
        Any order; infinity gives the largest absolute value, minus infinity the smallest.
    error_if_nonfinite : bool
        Whether to wait for the value and check it, which is impossible in a traced function.

    Returns
    -------
    array ()
        float32; NaN if any element is NaN; 0 if there are no arrays.

    Raises
    ------
    TypeError
        An array is not floating-point.
    RuntimeError
        ``error_if_nonfinite`` is set and the norm is infinite or NaN, or a function is being
        traced.

    Notes
    -----
    Source: ``torch.nn.utils.get_total_norm``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> float(nn.utils.get_total_norm([F.full((4,), 3.0), F.full((1,), 8.0)]))
    10.0
    """
    return total_norm("get_total_norm", tensors, norm_type, error_if_nonfinite)


def total_norm(name: str, grads: Any, norm_type: float, error_if_nonfinite: bool) -> Any:
    """Return the norm of all gradients of a tree; errors mention ``name``."""
    norm = norm_of(gradient_arrays(name, grads), tree.flatten(grads)[1], norm_type)
    if error_if_nonfinite:
        _check_finite(norm, float(norm_type))
    return norm


def norm_of(gradients: list[Any], structure: tree.Structure, norm_type: float = 2.0) -> Any:
    """Return the norm of gradients, given as the leaves of a structure; None is skipped."""
    owned = by_owners(gradients, structure)
    norms = {owners: _norm(arrays, norm_type) for owners, arrays in owned.items()}
    return norm_over_ranks(norms, norm_type) if norms else F.zeros()


@compile
def _norm(arrays: list[Any], norm_type: float) -> Any:
    wide = [F.astype(g, "float32") for g in arrays]
    # Norm 0 counts the nonzero norms: those of whole arrays, not of rows.
    rows = [in_rows(g) if norm_type else in_rows(g, math.prod(g.shape)) for g in wide]
    norms = [F.norm(g, norm_type, tuple(range(1, g.ndim))) for g in rows]
    return F.norm(F.cat(norms), norm_type)


def in_rows(array: Any, minimum: int = _ROW) -> Any:
    """Return the elements of an array as rows of one size, at least ``minimum``: (n, ...).

    One launch goes over the rows of all arrays side by side.
    """
    size = array.shape[0] if array.ndim else 1
    n = next((n for n in range(min(array.size // minimum, size), 1, -1) if size % n == 0), 1)
    return F.reshape(array, (n, size // n, *array.shape[1:]))


def clip_factor(norm: Any, max_norm: float) -> Any:
    """Return the factor that clips gradients of this norm; NaN for NaN."""
    return F.clamp(F.div(float(max_norm), F.add(norm, 1e-6)), max=1.0)


def scaled(g: Any, factor: Any) -> Any:
    """Scale a traced gradient in float32 and cast the result to its dtype."""

    def definition(g: Node, factor: Node) -> tuple[Node]:
        return (cast(cast(g, "float32") * factor, g.dtype),)

    return defined(definition, [g, factor])[0]


@compile
def all_clipped(arrays: list[Any], norm: Any, max_norm: float) -> list[Any]:
    """Return arrays scaled so that their common norm is at most ``max_norm``."""
    factor = clip_factor(norm, max_norm)
    return [scaled(g, factor) for g in arrays]


@compile
def all_clamped(arrays: list[Any], value: float) -> list[Any]:
    """Return arrays clamped to ``[-value, value]``."""
    return [F.clamp(g, -value, value) for g in arrays]


def _check_finite(norm: Any, kind: float) -> None:
    if isinstance(norm, Tensor):
        raise RuntimeError(
            "error_if_nonfinite: the norm has no value while a function is traced; return it and "
            "read it outside"
        )
    if not math.isfinite(float(norm)):
        raise RuntimeError(
            f"The total norm of order {kind} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped"
        )


def clip_grad_norm_(
    grads: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Any:
    """Scale gradients in place so that their norm is at most ``max_norm``.

    Parameters
    ----------
    grads : tree of arrays
        Gradients rather than parameters, unlike torch: a module of gradients, or any tree. Arrays
        are written in place. In a traced function, which cannot write to them, the entries of
        modules, dicts and lists are replaced.
    max_norm, norm_type : float
    error_if_nonfinite : bool
        As for ``get_total_norm``.

    Returns
    -------
    array ()
        The norm before clipping.

    Raises
    ------
    RuntimeError
        As ``get_total_norm``.
    TypeError
        A traced gradient is an item of a tuple; ``optim.clip_grad_norm`` returns new gradients.

    Notes
    -----
    Source: ``torch.nn.utils.clip_grad_norm_``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> grads = {"w": F.full((4,), 3.0)}
    >>> float(nn.utils.clip_grad_norm_(grads, 1.0)), round(float(grads["w"][0]), 4)
    (6.0, 0.5)
    """
    norm = total_norm("clip_grad_norm_", grads, norm_type, error_if_nonfinite)
    _write("clip_grad_norm_", grads, lambda arrays: all_clipped(arrays, norm, max_norm))
    return norm


def clip_grad_value_(grads: Any, clip_value: float) -> None:
    """Clamp gradients to ``[-clip_value, clip_value]`` in place.

    Parameters
    ----------
    grads : tree of arrays
        As for ``clip_grad_norm_``.
    clip_value : float

    Notes
    -----
    Source: ``torch.nn.utils.clip_grad_value_``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> grads = [F.full((2,), 3.0)]
    >>> nn.utils.clip_grad_value_(grads, 1.0)
    >>> grads[0].tolist()
    [1.0, 1.0]
    """
    _write("clip_grad_value_", grads, lambda arrays: all_clamped(arrays, float(clip_value)))


def changed(name: str, grads: Any, change: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """Return the leaves of a tree, with gradients replaced by the results of ``change``."""
    gradients = gradient_arrays(name, grads)
    replacements = iter(change([g for g in gradients if g is not None]))
    leaves = tree.leaves(grads)
    return [
        old if g is None else next(replacements) for old, g in zip(leaves, gradients, strict=True)
    ]


def _write(name: str, grads: Any, change: Callable[[list[Any]], list[Any]]) -> None:
    """Change all gradients of a tree in place."""
    old, new = tree.leaves(grads), changed(name, grads, change)
    if any(isinstance(g, Tensor) for g in old):
        _replace(grads, dict(zip(map(id, old), new, strict=True)))
        return
    for old_array, new_array in zip(old, new, strict=True):
        if new_array is not old_array:
            array_writes.assign(carrier(old_array), carrier(new_array))  # bits of narrow dtypes


def _replace(grads: Any, replacements: dict[int, Any]) -> None:
    """Replace traced arrays in modules, dicts and lists by others, by id."""
    if hasattr(grads, "_parameters"):
        leaves, form = module_tree.flatten(grads)
        rows = zip(leaves, form.constants, strict=True)
        lent_arrays.replace(grads, [g if fixed else replacements[id(g)] for g, fixed in rows])
        return
    node = tree.opened(grads)
    if node is None:
        raise TypeError(
            "clip_grad_norm_: traced gradients must be entries of a module, dict or list, which "
            "can be replaced; optim.clip_grad_norm returns new ones"
        )
    keys: Iterable[Any] = grads if isinstance(grads, dict) else range(len(node.children))
    for key in list(keys):
        value = grads[key]
        if hasattr(value, "shape") and isinstance(grads, (dict, list)):
            grads[key] = replacements[id(value)]
        elif value is not None:
            _replace(value, replacements)


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """Concatenate the elements of arrays into one vector.

    Parameters
    ----------
    parameters : iterable of arrays

    Returns
    -------
    array (N,)

    Notes
    -----
    Source: ``torch.nn.utils.parameters_to_vector``.

    Examples
    --------
    >>> from sycl_dnn import nn
    >>> nn.utils.parameters_to_vector(nn.Linear(2, 3).parameters()).shape
    (9,)
    """
    return F.cat([F.reshape(p, (-1,)) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Copy the elements of a vector into arrays.

    Parameters
    ----------
    vec : array (N,)
    parameters : iterable of arrays
        Overwritten, in this order.

    Raises
    ------
    ValueError
        The vector has more or fewer elements than the arrays.

    Notes
    -----
    Source: ``torch.nn.utils.vector_to_parameters``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> net = nn.Linear(2, 3)
    >>> nn.utils.vector_to_parameters(F.ones(9), net.parameters())
    >>> net.bias.tolist()
    [1.0, 1.0, 1.0]
    """
    arrays = list(parameters)
    n = sum(p.size for p in arrays)
    if vec.ndim != 1 or vec.shape[0] != n:
        raise ValueError(
            f"vector_to_parameters: vec must have the shape ({n},), got {tuple(vec.shape)}"
        )
    first = 0
    for p in arrays:
        part = F.reshape(F.narrow(vec, 0, first, p.size), p.shape)
        array_writes.assign(carrier(p), carrier(F.astype(part, str(p.dtype))))
        first += p.size

# SPDX-License-Identifier: Apache-2.0
"""``accumulate``: sums gradients over several batches before a step."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn.nn.utils.gradient_clipping import checked_gradients


def accumulate(grads: Any, more: Any, *, weight: float | Any = 1.0) -> Any:
    """Add two trees of gradients: ``grads + weight * more``.

    Parameters
    ----------
    grads : tree of arrays or None
        The sum so far; None for the first batch.
    more : tree of arrays
        The gradients of the next batch, with the same structure.
    weight : float or array ()
        Weight of the next batch: ``1 / n`` for the mean of n equal batches, or its rows divided by
        all rows.

    Returns
    -------
    tree of arrays
        Same structure. Narrow gradients are accumulated in float32 and returned in float32, so that
        small ones are not rounded away. If an entry is None in one tree, the other's is returned;
        buffers and frozen parameters of modules have None, as in gradients.

    Raises
    ------
    TypeError
        Parameters are passed, or an array is not floating point.
    ValueError
        The trees differ in structure or shapes; the message names the entry.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> sums = None
    >>> for part in (F.ones(2), F.full((2,), 3.0)):
    ...     sums = optim.accumulate(sums, {"w": part}, weight=1 / 2)
    >>> sums["w"].tolist()
    [2.0, 2.0]
    """
    # A module may lack the entries that are None.
    larger = max((more, grads), key=lambda gradients: len(tree.leaves(gradients)))
    structure, names = tree.flatten(larger, _is_none)[1], tree.names(larger, _is_none)
    pairs = []
    for argument, gradients in (("grads", grads), ("more", more)):
        name = f"accumulate: {argument}"
        leaves = tree.matched(structure, gradients, name, none_fills=True)
        pairs.append(checked_gradients(name, leaves, structure, lambda: names))
    rows = zip(names, *pairs, strict=True)
    return tree.unflatten(structure, [_added(*row, weight=weight) for row in rows])


def _is_none(value: Any) -> bool:
    return value is None


def _added(name: str, old: Any, new: Any, *, weight: Any) -> Any:
    if new is None:
        return old
    part = F.astype(new, _wide(new))
    part = part if isinstance(weight, (int, float)) and weight == 1 else F.mul(part, weight)
    if old is None:
        return part
    if tuple(old.shape) != tuple(new.shape):
        raise ValueError(
            f"accumulate: the gradient of {name} must have shape {tuple(old.shape)}, got "
            f"{tuple(new.shape)}"
        )
    return F.add(F.astype(old, _wide(old)), part)


def _wide(g: Any) -> str:
    return "float64" if str(g.dtype) == "float64" else "float32"

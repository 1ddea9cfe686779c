# SPDX-License-Identifier: Apache-2.0
"""Averages of parameters over training steps: ``EMA`` and ``SWA``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn.compiler.decorator import compile
from sycl_dnn.functional.defined import defined
from sycl_dnn.ir.node import Node, number
from sycl_dnn.nn.module_tree import Form
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import EQ, RECIPROCAL, cast, where


class EMA:
    """Exponential moving average of a tree: ``decay * average + (1 - decay) * new``.

    Buffers of modules, such as running statistics, are copied from the latest module rather than
    averaged, and so are integers in any tree. Averages of bfloat16 and float16 arrays are float32,
    since small steps would be rounded away.

    Parameters
    ----------
    decay : float
        Between 0 and 1.
    use_buffers : bool
        Whether to average floating-point buffers too, except counts of batches.

    Raises
    ------
    ValueError
        ``decay`` is outside [0, 1].

    Notes
    -----
    Source: ``torch.optim.swa_utils.AveragedModel`` with ``get_ema_multi_avg_fn(decay)``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> ema = optim.EMA(0.5)
    >>> average = ema.init({"w": F.zeros(2)})
    >>> ema.update(average, {"w": F.ones(2)})["w"].tolist()
    [0.5, 0.5]
    """

    def __init__(self, decay: float = 0.999, *, use_buffers: bool = False) -> None:
        if not 0 <= decay <= 1:
            raise ValueError(f"EMA: decay must be in [0, 1], got {decay}")
        self.decay, self.use_buffers = decay, use_buffers

    def init(self, params: Any) -> Any:
        """Return the initial average: copies of the arrays, widened to at least float32."""
        return _first(params, self.use_buffers)

    def update(self, average: Any, params: Any) -> Any:
        """Return the average after a step.

        Raises
        ------
        ValueError
            The structure of ``params`` differs from the average's.
        """
        return _next("EMA", average, params, self.use_buffers, _mixed, self.decay)


class SWA:
    """Unweighted average of a tree over all updates.

    Buffers and integers are copied from the latest module, as in ``EMA``.

    Parameters
    ----------
    use_buffers : bool
        Whether to average floating-point buffers too, except counts of batches.

    Notes
    -----
    Source: ``torch.optim.swa_utils.AveragedModel``. The statistics of batch normalization are those
    of the latest module: recompute them by running some batches through the average in training
    mode.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> swa = optim.SWA()
    >>> state = swa.init({"w": F.zeros(2)})
    >>> for value in (1.0, 2.0, 6.0):
    ...     state = swa.update(state, {"w": F.full((2,), value)})
    >>> state["average"]["w"].tolist(), float(state["n_averaged"])
    ([3.0, 3.0], 3.0)
    """

    def __init__(self, *, use_buffers: bool = False) -> None:
        self.use_buffers = use_buffers

    def init(self, params: Any) -> dict[str, Any]:
        """Return the initial state: ``"average"``, and ``"n_averaged"``, which is 0."""
        arrays = [v for v in tree.leaves(params) if hasattr(v, "shape")]
        count = F.zeros(device=arrays[0].sycl_queue if arrays else None)
        return {"average": _first(params, self.use_buffers), "n_averaged": count}

    def update(self, state: dict[str, Any], params: Any) -> dict[str, Any]:
        """Return the state after an update; the first update copies the parameters.

        Raises
        ------
        ValueError
            The structure of ``params`` differs from the average's.
        """
        count = F.add(state["n_averaged"], 1.0)
        average = _next("SWA", state["average"], params, self.use_buffers, _with_another, count)
        return {"average": average, "n_averaged": count}


@compile
def _mixed(averages: list[Any], arrays: list[Any], decay: float) -> list[Any]:
    share = float(decay)

    def mixed(old: Node, new: Node) -> tuple[Node]:
        return (old * share + cast(new, old.dtype) * (1.0 - share),)

    return [defined(mixed, [old, new])[0] for old, new in zip(averages, arrays, strict=True)]


@compile
def _with_another(averages: list[Any], arrays: list[Any], count: Any) -> list[Any]:
    def mixed(old: Node, new: Node, count: Node) -> tuple[Node]:
        new, n = cast(new, old.dtype), cast(count, old.dtype)
        # ``where`` rather than a sum of products: 0 times an initial infinity would be NaN.
        return (where(EQ(n, number(1.0, n.dtype)), new, old + (new - old) * RECIPROCAL(n)),)

    pairs = zip(averages, arrays, strict=True)
    return [defined(mixed, [old, new, count])[0] for old, new in pairs]


def _averaged(structure: tree.Structure, use_buffers: bool) -> list[bool]:
    """Return for each leaf whether it is averaged, given that it is floating point."""
    if isinstance(structure.aux, Form):
        rows = zip(structure.aux.names, structure.aux.parameters(), strict=True)
        return [
            is_parameter or (use_buffers and not name.endswith(".num_batches_tracked"))
            for name, is_parameter in rows
        ]
    if structure.is_leaf:
        return [True]
    return [flag for child in structure.children for flag in _averaged(child, use_buffers)]


def _is_float(value: Any) -> bool:
    return hasattr(value, "shape") and dtypes.is_float(str(value.dtype))


def _first(params: Any, use_buffers: bool) -> Any:
    """Return copies of all arrays; averaged ones are widened to at least float32."""
    leaves, structure = tree.flatten(params)
    rows = zip(leaves, _averaged(structure, use_buffers), strict=True)
    return tree.unflatten(structure, [_copy(v, flag) for v, flag in rows])


def _copy(value: Any, is_averaged: bool) -> Any:
    if is_averaged and _is_float(value) and str(value.dtype) not in ("float32", "float64"):
        return F.astype(value, "float32")
    return value.copy() if hasattr(value, "shape") else value


def _next(
    name: str, average: Any, params: Any, use_buffers: bool,
    mixed: Callable[[list[Any], list[Any], Any], list[Any]], share: Any,
) -> Any:  # fmt: skip
    """Return the next average: ``mixed`` of averaged leaves, others from ``params``."""
    # A forward may have given the module another array since, or taken one away.
    larger = max((average, params), key=lambda values: len(tree.leaves(values)))
    structure = tree.flatten(larger)[1]
    old, result = (
        tree.matched(structure, values, f"{name}.update: {argument}", none_fills=True)
        for argument, values in (("average", average), ("params", params))
    )
    flags = _averaged(structure, use_buffers)
    indices = [n for n, a in enumerate(old) if flags[n] and _is_float(a)]
    if any(result[n] is None for n in indices):
        raise ValueError(f"{name}.update: params must have all arrays of the average")
    if indices:
        mixed_arrays = mixed([old[n] for n in indices], [result[n] for n in indices], share)
        for n, array in zip(indices, mixed_arrays, strict=True):
            result[n] = array
    # The others are copied: later calls of the module update its buffers in place.
    for n in set(range(len(result))).difference(indices):
        result[n] = _copy(result[n], False)
    return tree.unflatten(structure, result)

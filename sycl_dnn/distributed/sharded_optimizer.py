# SPDX-License-Identifier: Apache-2.0
"""``ShardedOptimizer``: optimizer state partitioned across the ranks."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn.distributed.collectives import all_gather, all_reduce, chosen, reduce_scatter_one
from sycl_dnn.distributed.gradient_buckets import check_replicated, contents, parts_of
from sycl_dnn.distributed.group import Group
from sycl_dnn.nn.partitioned_parameters import Owners, norm_over_ranks, owners
from sycl_dnn.nn.utils.gradient_clipping import clip_factor
from sycl_dnn.optim.optimizer import Optimizer, State
from sycl_dnn.optim.option_attributes import OptionAttributes
from sycl_dnn.optim.tied_parameters import check_untied


class _Row(NamedTuple):
    """Parameters with the same dtype and options, concatenated into a row."""

    name: str
    numbers: list[int]
    names: list[str]
    size: int
    is_decayed: bool
    #: The ranks of tensor parallel layers.
    owners: Owners | None


@dataclass(frozen=True)
class _Decayed:
    """A decay mask for rows: that of their parameters, which have other shapes."""

    rows: frozenset[str]

    def __call__(self, name: str, p: Any) -> bool:
        return name in self.rows


class ShardedOptimizer(OptionAttributes):
    """An optimizer whose state is partitioned across the ranks (ZeRO stages 1 and 2).

    In a step each rank averages its part of the gradients, updates its part of the parameters and
    state, and gathers the parameters. Gradients must not be averaged beforehand. Each rank holds
    its local gradients in full; only their averages are partitioned.

    Parameters
    ----------
    optimizer : Optimizer
        An optimizer that updates elements independently: SGD, Adam, AdamW and others, but not
        Adafactor, LAMB or Muon.
    group : Group, optional
        By default the group of ``init``.

    Raises
    ------
    TypeError
        ``optimizer`` does not update elements independently.

    Notes
    -----
    Source: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
    Models", arXiv:1910.02054.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> from sycl_dnn import optim
    >>> opt = sycl_dnn.distributed.ShardedOptimizer(optim.AdamW(0.1))
    >>> params = {"w": F.ones(3)}
    >>> params, state = opt.update({"w": F.ones(3)}, opt.init(params), params)
    >>> [round(v, 3) for v in params["w"].tolist()]
    [0.899, 0.899, 0.899]
    """

    def __init__(self, optimizer: Optimizer, group: Group | None = None) -> None:
        if not optimizer.is_elementwise:
            raise TypeError(
                f"ShardedOptimizer: optimizer must update each number by itself, and "
                f"{type(optimizer).__name__} reads whole arrays"
            )
        self.optimizer, self.options = optimizer, optimizer.options
        #: Without norm clipping, which must consider the parts of all ranks.
        self._moving = copy.copy(optimizer)
        self._moving.max_norm = None
        self._group = chosen(group)

    def _rows(self, params: Any) -> list[_Row]:
        leaves, form = tree.flatten(params)
        check_replicated("ShardedOptimizer", form, self._group)
        fixed, names, owned = tree.constants(form), tree.names(params), owners(form)
        optimizer = self.optimizer
        grouped: dict[Any, list[int]] = {}
        for i, (leaf, name) in enumerate(zip(leaves, names, strict=True)):
            if hasattr(leaf, "shape") and not fixed[i]:
                options = optimizer._group(name), optimizer._is_decayed(name, leaf)
                grouped.setdefault((str(leaf.dtype), *options, owned[i]), []).append(i)
        rows = []
        for (*_, is_decayed, owner), numbers in grouped.items():
            size = sum(math.prod(leaves[i].shape) for i in numbers)
            own_names = [names[i] for i in numbers]
            rows.append(_Row(own_names[0], numbers, own_names, size, is_decayed, owner))
        return rows

    def _flat(self, arrays: Sequence[Any], size: int) -> Any:
        """Concatenate arrays into a row, padded to a multiple of the number of ranks."""
        if size == 0:
            return F.reshape(arrays[0], (-1,))
        parts = [F.reshape(a, (-1,)) for a in arrays if math.prod(a.shape)]
        n_padding = -size % self._group.size
        if n_padding:
            parts.append(_zeros(parts[0], n_padding))
        return parts[0] if len(parts) == 1 else F.cat(parts)

    def _own(self, row: Any) -> Any:
        each = row.shape[0] // self._group.size
        return row[self._group.rank * each : (self._group.rank + 1) * each]

    def _own_parameters(self, params: Any) -> dict[str, Any]:
        leaves = tree.leaves(params)
        return {
            row.name: self._own(self._flat([leaves[i] for i in row.numbers], row.size))
            for row in self._rows(params)
        }

    def init(self, params: Any) -> State:
        """Return this rank's part of the initial state.

        Parameters
        ----------
        params : tree of arrays
            A module or any tree, the same on all ranks.

        Returns
        -------
        dict
            Rows, keyed by their first parameter.

        Examples
        --------
        >>> import sycl_dnn
        >>> from sycl_dnn import functional as F
        >>> from sycl_dnn import optim
        >>> opt = sycl_dnn.distributed.ShardedOptimizer(optim.AdamW(0.1))
        >>> sorted(opt.init({"w": F.ones(3)}))
        ['m', 'step', 'v']
        """
        check_untied("ShardedOptimizer", params)
        return self._moving.init(self._own_parameters(params))

    def update(self, grads: Any, state: State, params: Any, *, lr: Any = None) -> tuple[Any, State]:
        """Apply one step; return the parameters, equal on all ranks, and this rank's state.

        Parameters
        ----------
        grads : tree of arrays
            Local gradients, not averaged, with the structure of ``params`` and no None.
        state : dict
            From ``init`` or the previous step.
        params : tree of arrays
        lr : float or array, optional
            Learning rate of this step, in place of the optimizer's; equal on all ranks.

        Returns
        -------
        params, state

        Raises
        ------
        MismatchError, RuntimeError
            As for ``all_reduce``.
        ValueError
            A trainable array has no gradient.

        Examples
        --------
        >>> import sycl_dnn
        >>> from sycl_dnn import functional as F
        >>> from sycl_dnn import optim
        >>> opt = sycl_dnn.distributed.ShardedOptimizer(optim.SGD(0.5))
        >>> params = {"w": F.ones(3)}
        >>> params, state = opt.update({"w": F.ones(3)}, opt.init(params), params)
        >>> params["w"].tolist()
        [0.5, 0.5, 0.5]
        """
        leaves, form = tree.flatten(params)
        gradients = tree.matched(form, grads, "ShardedOptimizer: grads", none_fills=True)
        rows = self._rows(params)
        own = {row.name: self._own_gradient(row, gradients, leaves) for row in rows}
        if self.optimizer.max_norm is not None:
            own = self._clipped(own, rows, self.optimizer.max_norm)
        parts = self._own_parameters(params)
        self._moving.decay_mask = _Decayed(frozenset(row.name for row in rows if row.is_decayed))
        parts, state = self._moving.update(own, state, parts, lr=lr)
        new = list(leaves)
        for row in rows:
            gathered = all_gather(parts[row.name], group=self._group)
            arrays = [leaves[i] for i in row.numbers]
            for i, part in zip(row.numbers, parts_of(gathered, arrays), strict=True):
                new[i] = part
        return tree.unflatten(form, new), state

    def agreed(self, is_finite: Any) -> Any:
        """Return whether gradients are finite on all ranks; ``GradScaler`` calls it."""
        return F.all(all_gather(is_finite, group=self._group))

    def _own_gradient(self, row: _Row, gradients: Sequence[Any], params: Sequence[Any]) -> Any:
        arrays = [gradients[i] for i in row.numbers]
        for i, name, array in zip(row.numbers, row.names, arrays, strict=True):
            if array is None:
                raise ValueError(f"ShardedOptimizer: {name} must have a gradient, got None")
            self._moving._check(name, params[i], array)
        of = contents(row.names, arrays)
        return reduce_scatter_one(self._flat(arrays, row.size), "mean", self._group, of)

    def _clipped(
        self, own: dict[str, Any], rows: Sequence[_Row], max_norm: float
    ) -> dict[str, Any]:
        """Clip gradients by their norm over the parts of all ranks."""
        wide = {name: F.astype(g, "float32") for name, g in own.items()}
        squares: dict[Owners | None, Any] = {}
        for row in rows:
            square = F.sum(F.square(wide[row.name]))
            earlier = squares.get(row.owners)
            squares[row.owners] = square if earlier is None else F.add(earlier, square)
        norms = {o: F.sqrt(all_reduce(v, group=self._group)) for o, v in squares.items()}
        factor = clip_factor(norm_over_ranks(norms, 2.0), max_norm)
        return {name: F.astype(F.mul(g, factor), str(own[name].dtype)) for name, g in wide.items()}

    # Checkpoints hold the state of the plain optimizer, independent of the number of ranks.

    def whole_state(self, state: State, params: Any) -> State:
        """Gather the state as ``optimizer.init(params)`` structures it, for checkpoints.

        All ranks must call it; each gets the complete state.

        Examples
        --------
        >>> import sycl_dnn
        >>> from sycl_dnn import functional as F
        >>> from sycl_dnn import optim
        >>> opt = sycl_dnn.distributed.ShardedOptimizer(optim.AdamW(0.1))
        >>> params = {"w": F.ones(2, 3)}
        >>> opt.whole_state(opt.init(params), params)["m"]["w"].shape
        (2, 3)
        """
        rows = {row.name: row for row in self._rows(params)}
        leaves = tree.leaves(params)
        result: State = {}
        for slot, by_row in state.items():
            if slot == "step":
                result[slot] = by_row
                continue
            result[slot] = {}
            for name, part in by_row.items():
                row = rows[name]
                gathered = all_gather(part, group=self._group)
                arrays = [leaves[i] for i in row.numbers]
                result[slot] |= dict(zip(row.names, parts_of(gathered, arrays), strict=True))
        return result

    def own_state(self, state: State, params: Any) -> State:
        """Return this rank's part of a complete state, which any number of ranks may have saved.

        Examples
        --------
        >>> import sycl_dnn
        >>> from sycl_dnn import functional as F
        >>> from sycl_dnn import optim
        >>> opt = sycl_dnn.distributed.ShardedOptimizer(optim.AdamW(0.1))
        >>> params = {"w": F.ones(2, 3)}
        >>> whole = opt.whole_state(opt.init(params), params)
        >>> opt.own_state(whole, params)["m"]["w"].size  # alone, a rank has all of it
        6
        """
        if "steps" in state:
            names = sorted(state["steps"])
            raise ValueError(
                f"ShardedOptimizer: state must have one count of steps, got others of {names}"
            )
        result: State = {}
        for slot, by_name in state.items():
            result[slot] = by_name if slot == "step" else dict(self._own_rows(by_name, params))
        return result

    def _own_rows(self, by_name: dict[str, Any], params: Any) -> Iterator[tuple[str, Any]]:
        for row in self._rows(params):
            if row.name in by_name:
                arrays = [by_name[name] for name in row.names]
                yield row.name, self._own(self._flat(arrays, row.size))


def _zeros(row: Any, count: int) -> Any:
    """Return zeros with the dtype and device of a nonempty row."""
    zero = F.mul(row[:1], 0.0)
    return zero if count == 1 else F.reshape(F.expand(zero, (count,)), (count,))

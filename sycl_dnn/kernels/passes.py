# SPDX-License-Identifier: Apache-2.0
"""Assignment of terms to the passes over the reduced axes, one pass per nesting level."""

from __future__ import annotations

from sycl_dnn.kernels.expression import INDEXED, REDUCTIONS, Expression


class Passes:
    """The passes of a kernel.

    Parameters
    ----------
    expression : Expression
    kinds : str
        Of each axis: kept (k) or reduced (r).
    classes : sequence of str
        Of the strides of inputs, sources, coordinates and results, by axis.

    Attributes
    ----------
    count : int
    reductions : list of list of int
        By pass, indices of the terms that it reduces.
    full : list of list of int
        By pass, indices of the results that it stores per element.
    varying : list of list of int
        By pass, inputs and terms that are computed per element.
    constant_before : list of list of int
        By pass, terms that are computed once before it.
    constant_after : list of int
        Terms that are computed once at the end.
    once : list of int
        Indices of the results that are stored once.
    """

    def __init__(self, expression: Expression, kinds: str, classes: tuple[str, ...]) -> None:
        self._expression, self._n_inputs = expression, len(expression.inputs)
        reduced = [axis for axis, kind in enumerate(kinds) if kind == "r"]
        changes = [any(of[axis] != "0" for axis in reduced) for of in classes]
        self._levels = [0] * self._n_inputs
        self._varies = changes[: self._n_inputs]
        for term in expression.terms:
            is_reduction = term.operation in REDUCTIONS
            level = max((self._levels[n] for n in term.operands), default=0)
            self._levels.append(level + is_reduction)
            varies = any(self._varies[n] for n in term.operands)
            varies |= changes[expression.array_of(term)] if term.operation in INDEXED else False
            self._varies.append(varies and not is_reduction)
        of_results = changes[expression.first_result :]
        self.once = [place for place, varies in enumerate(of_results) if not varies]
        self._plan([place for place, varies in enumerate(of_results) if varies])

    def _plan(self, full: list[int]) -> None:
        expression, results = self._expression, self._expression.results
        reductions = expression.reductions
        self.count = 1 + max(
            [self._levels[n] - 1 for n in reductions] + [self._levels[results[p]] for p in full],
            default=-1,
        )
        passes = range(self.count)
        self.reductions = [[n for n in reductions if self._levels[n] == p + 1] for p in passes]
        self.full = [[p for p in full if self._levels[results[p]] == number] for number in passes]
        needed = [
            expression.needed(
                [g for n in self.reductions[p] for g in expression.operands_of(n)]
                + [results[place] for place in self.full[p]],
                reductions,
            )
            for p in passes
        ]
        self.varying = [[n for n in of if self._varies[n]] for of in needed]
        self.constant_before = [[n for n in of if not self._varies[n]] for of in needed]
        self.constant_after = expression.needed([results[p] for p in self.once], reductions)

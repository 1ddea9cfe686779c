# SPDX-License-Identifier: Apache-2.0
"""Assignment of terms to the passes over the reduced axes, one pass per nesting level."""

from __future__ import annotations

from sycl_dnn.kernels.expression import COSTLY, INDEXED, REDUCTIONS, REGISTERS, Expression


class Passes:
    """The passes of a kernel.

    kinds : of each axis: kept (k) or reduced (r)
    classes : of the strides of inputs, sources, coordinates and results, by axis
    keeps, has_row : whether passes may leave terms in the memory of results; whether there is local
        memory for one along the reduced axes

    reductions : by pass, indices of the terms that it reduces
    full : by pass, indices of the results that it stores per element
    varying : by pass, inputs and terms that are computed per element
    constant_before : by pass, terms that are computed once before it
    constant_after : terms that are computed once at the end
    once : indices of the results that are stored once
    kept, read_back : by pass, costly terms that it leaves in the memory of a result, and those that
        it finds there: places of the results by term; None for local memory, which holds one term
    """

    def __init__(
        self,
        expression: Expression,
        kinds: str,
        classes: tuple[str, ...],
        *,
        keeps: bool,
        has_row: bool,
    ) -> None:
        self._expression, self._n_inputs = expression, len(expression.inputs)
        self._has_row = has_row
        reduced = [axis for axis, kind in enumerate(kinds) if kind == "r"]
        changes = [any(array_classes[axis] != "0" for axis in reduced) for array_classes in classes]
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
        self._plan([place for place, varies in enumerate(of_results) if varies], keeps=keeps)

    def _plan(self, full: list[int], *, keeps: bool) -> None:
        expression, results = self._expression, self._expression.results
        reductions = expression.reductions
        self.count = 1 + max(
            [self._levels[n] - 1 for n in reductions] + [self._levels[results[p]] for p in full],
            default=-1,
        )
        passes = range(self.count)
        self.reductions = [[n for n in reductions if self._levels[n] == p + 1] for p in passes]
        self.full = [[p for p in full if self._levels[results[p]] == number] for number in passes]
        self.kept: list[dict[int, int | None]] = [{} for _ in passes]
        self.read_back: list[dict[int, int | None]] = [{} for _ in passes]
        for p in passes if keeps or self._has_row else ():
            self._keep(p, in_results=keeps)
        needed = [
            expression.needed(
                [g for n in self.reductions[p] for g in expression.operands_of(n)]
                + [results[place] for place in self.full[p]],
                {*reductions, *self.read_back[p]},
            )
            for p in passes
        ]
        self.varying = [[n for n in terms if self._varies[n]] for terms in needed]
        self.constant_before = [[n for n in terms if not self._varies[n]] for terms in needed]
        self.constant_after = expression.needed([results[p] for p in self.once], reductions)

    def _keep(self, number: int, *, in_results: bool) -> None:
        """Select a costly term of an earlier pass to be stored rather than computed again."""
        expression, reductions = self._expression, self._expression.reductions
        for place in self.full[number]:
            result = expression.results[place]
            of_pass = [n for n in expression.needed([result], reductions) if self._is_of(n, number)]
            operands = {g for n in of_pass for g in expression.operands_of(n)}
            earlier = {g for g in operands if self._varies[g] and not self._is_of(g, number)}
            if len(earlier) != 1:
                continue
            (term,) = earlier
            before = self._levels[term]
            roots = [g for n in self.reductions[before] for g in expression.operands_of(n)]
            costly = [n for n in expression.needed([term], reductions) if self._is_costly(n)]
            if not costly or term not in expression.needed(roots, reductions):
                continue
            dtypes = expression.dtype_of(term), expression.dtype_of(result)
            # With a second result, the last vector would compute it from overwritten elements.
            is_alone = len(self.full[number]) == 1
            if in_results and is_alone and dtypes == ("float32", "float32"):
                self.kept[before].setdefault(term, place)
                self.read_back[number].setdefault(term, place)
            elif self._has_row and REGISTERS[dtypes[0]] == "f32" and term not in self.kept[before]:
                self.kept[before][term] = self.read_back[number][term] = None
                self._has_row = False

    def _is_of(self, number: int, level: int) -> bool:
        return self._levels[number] == level

    def _is_costly(self, number: int) -> bool:
        n = number - self._n_inputs
        return n >= 0 and self._expression.terms[n].operation in COSTLY

    @property
    def n_terms(self) -> int:
        """Number of terms of the longest pass that are computed per element."""
        of_passes = zip(self.varying, self.reductions, strict=True)
        terms = [
            [n for n in (*varying, *ends) if n >= self._n_inputs] for varying, ends in of_passes
        ]
        return max(map(len, terms), default=0)

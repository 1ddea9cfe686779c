# SPDX-License-Identifier: Apache-2.0
"""Splitting of a reduction into two stages: over parts, and over partial results."""

from __future__ import annotations

from sycl_dnn.kernels.combining import partial_dtype
from sycl_dnn.kernels.expression import Expression, Term


class Stages:
    """Two expressions that compute the results of one.

    first : over all inputs; its results are partial reductions
    second : its inputs are the partial results, then some inputs of the first stage
    again : inputs that the second stage also reads

    ``expression``: without nested reductions; its results have only the kept axes.
    """

    def __init__(self, expression: Expression) -> None:
        self._whole, self._n = expression, len(expression.inputs)
        reductions = expression.reductions
        self._parts: dict[int, tuple[int, ...]] = {}
        self.first = self._of_parts(reductions)
        after = expression.needed(expression.results, reductions)
        self.again = [n for n in after if n < self._n]
        self.second = self._of_results([n for n in after if n >= self._n])

    def _term(self, number: int) -> Term:
        return self._whole.terms[number - self._n]

    def _of_parts(self, reductions: list[int]) -> Expression:
        """Return the first stage; for indices of extremes it also returns the extremes."""
        before = self._whole.needed([g for n in reductions for g in self._term(n).operands])
        numbers = {n: n for n in range(self._n)}
        terms: list[Term] = []
        for n in [n for n in before if n >= self._n]:
            numbers[n] = self._n + len(terms)
            operands = tuple([numbers[g] for g in self._term(n).operands])
            terms.append(self._term(n)._replace(operands=operands))
        results: list[int] = []
        for n in reductions:
            term = self._term(n)
            operands = tuple([numbers[g] for g in term.operands])
            kinds = [(term.operation, partial_dtype(term.dtype))]
            if term.operation.startswith("arg"):
                extreme = self._whole.dtype_of(term.operands[0])
                kinds.insert(0, (term.operation[3:], partial_dtype(extreme)))
            self._parts[n] = tuple(range(len(results), len(results) + len(kinds)))
            results += range(self._n + len(terms), self._n + len(terms) + len(kinds))
            terms += [Term(name, dtype, operands, ()) for name, dtype in kinds]
        expression = self._whole
        return expression._replace(terms=tuple(terms), results=tuple(results))

    def _of_results(self, after: list[int]) -> Expression:
        first = self.first
        inputs = [first.dtype_of(n) for n in first.results]
        numbers = {n: len(inputs) + place for place, n in enumerate(self.again)}
        inputs += [self._whole.inputs[n] for n in self.again]
        terms: list[Term] = []
        for n in sorted({*after, *self._parts}):
            term = self._term(n)
            operands = self._parts.get(n) or tuple([numbers[g] for g in term.operands])
            numbers[n] = len(inputs) + len(terms)
            terms.append(term._replace(operands=operands))
        results = tuple([numbers[n] for n in self._whole.results])
        return Expression(tuple(inputs), tuple(terms), results)

# SPDX-License-Identifier: Apache-2.0
"""Numbers of an expression as arguments of a launch, so that kernels can be reused for others.

Compiling a kernel takes 50 to 200 ms, which networks with a scale in each layer would spend on
every one of them.
"""

from __future__ import annotations

import functools

import numpy as np

from sycl_dnn.kernels.expression import Expression, Term, number_of

#: Operations that are as fast with launch arguments as with constants.
_TAKING_INTEGERS = frozenset(
    ("add", "sub", "lt", "le", "gt", "ge", "eq", "ne", "maximum", "minimum", "where")
)
_TAKING_FLOATS = _TAKING_INTEGERS | {"mul", "div"}
#: Multiples of 1 / 16 up to 256 are those of formulas, which differ in more than their numbers.
_SIMPLE, _MOST_SIMPLE = 16, 256


@functools.lru_cache(maxsize=1024)
def with_passed_numbers(expression: Expression) -> tuple[Expression, tuple[int, ...]]:
    """Return an expression whose numbers are passed at launch, and these as 32-bit integers.

    They are integers of expressions over coordinates and gathers: offsets and bounds, which differ
    from shape to shape; and, given by their bits, floats that are not simple, such as scales and
    slopes, and divisors, such as the number of elements that are averaged.
    """
    is_indexed = bool(expression.n_places or expression.sources)
    passed: list[int] = []
    terms = list(expression.terms)
    for place, term in enumerate(terms):
        number = len(expression.inputs) + place
        divides = [
            t.operation == "div" and t.operands[0] != number for t in terms if number in t.operands
        ]
        bits = _bits_of(term, is_indexed=is_indexed, is_divisor=all(divides))
        if bits is None:
            continue
        users = {t.operation for t in terms if number in t.operands}
        taking = _TAKING_FLOATS if term.dtype == "float32" else _TAKING_INTEGERS
        if users and users <= taking and number not in expression.results:
            terms[place] = term._replace(attributes=(("passed", len(passed)),))
            passed.append(bits)
    return expression._replace(terms=tuple(terms), n_passed=len(passed)), tuple(passed)


def _bits_of(term: Term, *, is_indexed: bool, is_divisor: bool) -> int | None:
    """Return the bits of a number that may be passed; None for other terms."""
    attributes = dict(term.attributes)
    if term.operation != "number" or "value" not in attributes:
        return None
    value = number_of(attributes["value"])
    if term.dtype == "float32":
        with np.errstate(over="ignore"):
            number = np.float32(value)
        is_simple = abs(number) <= _MOST_SIMPLE and float(number) * _SIMPLE % 1 == 0
        is_fixed = is_simple and not is_divisor
        return None if is_fixed or not np.isfinite(number) else int(number.view(np.int32))
    if is_indexed and term.dtype in ("int32", "int64") and -(1 << 31) <= value < 1 << 31:
        return int(value)
    return None

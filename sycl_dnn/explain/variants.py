# SPDX-License-Identifier: Apache-2.0
"""Cases that differ from a given one in one thing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sycl_dnn.explain.changes import CHANGES
from sycl_dnn.matrix.cells import case_of
from sycl_dnn.verify.cases import Case
from sycl_dnn.verify.errors import CaseError


@dataclass(frozen=True)
class Variant:
    """A case near to another.

    change : what is different, in a few words
    case : Case
    """

    change: str
    case: Case


def _changed(case: Case, texts: dict[str, str], problem: str) -> Case | None:
    """Return the case with some options changed; None where that makes none."""
    merged = {n: t for n, t in (case.texts | texts).items() if t}
    changed = Case(case.driver, problem, merged, case.place)
    try:
        return case_of(changed.line)
    except CaseError:
        return None


def variants(case: Case) -> list[Variant]:
    """Return the cases that differ from one in one thing, the nearest first.

    Parameters
    ----------
    case : Case

    Returns
    -------
    list of Variant
        Layouts left to oneDNN or made plain or channels last, sizes rounded up, another
        direction, attributes left out one by one, looser arithmetic, no groups, other types.
    """
    changed = (
        (change, _changed(case, texts, problem))
        for changes in CHANGES
        for change, texts, problem in changes(case)
    )
    return _distinct(changed, {case.line})


def pairs(case: Case) -> list[Variant]:
    """Return the cases that differ from one in two things."""
    first = variants(case)
    changed = (
        (f"{one.change}; {other.change}", other.case)
        for one in first
        for other in variants(one.case)
    )
    return _distinct(changed, {case.line, *(one.case.line for one in first)})


def _distinct(changed: Iterable[tuple[str, Case | None]], seen: set[str]) -> list[Variant]:
    found = []
    for change, one in changed:
        if one is not None and one.line not in seen:
            seen.add(one.line)
            found.append(Variant(change, one))
    return found

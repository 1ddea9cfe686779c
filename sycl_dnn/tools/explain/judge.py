# SPDX-License-Identifier: Apache-2.0
"""What an answer of oneDNN means: notes in plain words, and better cases near to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sycl_dnn.tools.explain.near_cases import Variant, pairs, variants
from sycl_dnn.tools.matrix import probe
from sycl_dnn.tools.matrix.probe import Answer
from sycl_dnn.tools.matrix.prober import Prober
from sycl_dnn.tools.verify.case_files import Case

_LARGE = 1 << 20
_MAX_PAIRS = 1000
_LETTERS = "abcdefghijkl"
FREE = "all layouts any"


@dataclass(frozen=True)
class Explanation:
    """A case, what oneDNN says, what that means, and what would be better.

    notes : sentences
    better : variants with their answers, best and nearest first
    tried : how many variants were asked for
    """

    case: Case
    answer: Answer
    notes: tuple[str, ...]
    better: tuple[tuple[Variant, Answer], ...]
    tried: int

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON has it."""
        near = [
            {"change": v.change, "line": v.case.line, "state": a.state, "impl": a.impl}
            for v, a in self.better
        ]
        answer = self.answer.as_dict()
        return {"line": self.case.line, **answer, "notes": list(self.notes), "better": near}


def _is_plain(layout: str) -> bool:
    """Whether a layout's text is the row-major one: ``f32 (2, 3) ab``."""
    tag = layout.rpartition(" ")[2]
    return tag == _LETTERS[: len(tag)]


def _about_layouts(answer: Answer) -> list[str]:
    wanted = {n: t.rpartition(" ")[2] for n, t in answer.first.layouts.items() if not _is_plain(t)}
    if not wanted:
        return []
    text = ", ".join(f"{name} {tag}" for name, tag in wanted.items())
    return [f"not row-major: {text}; arrays in another layout need a reorder first"]


def _about_impl(answer: Answer) -> list[str]:
    notes = []
    if answer.state == "ref":
        wraps = "wraps the" if not answer.impl.startswith(("ref", "ocl:ref")) else "is the"
        notes.append(f"slow: {answer.impl} {wraps} reference implementation, made to be right")
    if answer.state == "simple":
        notes.append(f"{answer.impl} has straightforward loops, compiled and parallel")
    if answer.first.scratchpad >= _LARGE:
        notes.append(f"needs {answer.first.scratchpad / 2**20:.1f} MiB of scratchpad")
    return notes


def _about_freedom(answer: Answer, free: Answer | None) -> list[str]:
    if free is None or free.impl in ("", answer.impl):
        return []
    return [f"with layouts left to oneDNN it would be {free.impl}"]


def _about_refusal(answer: Answer) -> tuple[str, ...]:
    if answer.state == "died":
        return (answer.error,)
    if answer.state == "invalid":
        return (f"the arguments do not go together: {answer.reason}",)
    found = [f"no implementation takes it: {answer.reason}"]
    if answer.of_hint:
        found.append("what is refused is the forward descriptor that a gradient is made from")
    return tuple(found)


def notes(answer: Answer, free: Answer | None) -> tuple[str, ...]:
    """Return what an answer means, in sentences.

    Parameters
    ----------
    answer : Answer
        With all implementations.
    free : Answer, optional
        What oneDNN says to the case with all layouts ``any``.
    """
    if not answer.impl:
        return _about_refusal(answer)
    found = [*_about_impl(answer), *_about_freedom(answer, free), *_about_layouts(answer)]
    return (*found, *answer.warned)


def _ask(prober: Prober, found: list[Variant]) -> list[tuple[Variant, Answer]]:
    return [(variant, prober.ask(variant.case)) for variant in found]


def explain(case: Case, prober: Prober, everything: bool = False) -> Explanation:
    """Return why oneDNN answers to a case as it does, and what would be better.

    Where no single change helps, changes of two things are tried.

    Parameters
    ----------
    case : Case
    prober : Prober
        The device.
    everything : bool
        List all variants that oneDNN takes, not only those with a better implementation.

    Returns
    -------
    Explanation
    """
    answer = prober.ask(case, every=True)
    asked = _ask(prober, variants(case))
    free = next((a for v, a in asked if v.change == FREE), None)
    least = probe.rank("refused") if everything else probe.rank(answer.state)
    better = [pair for pair in asked if probe.rank(pair[1].state) > least]
    if not better and answer.state != "optimised":
        asked += _ask(prober, pairs(case)[:_MAX_PAIRS])
        better = [pair for pair in asked if probe.rank(pair[1].state) > least]
    better.sort(key=lambda pair: -probe.rank(pair[1].state))
    return Explanation(case, answer, notes(answer, free), tuple(better), len(asked))

# SPDX-License-Identifier: Apache-2.0
"""Interpretation of oneDNN's answers: notes, and better cases that are similar."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sycl_dnn.tools.cases.case_files import Case, case_of
from sycl_dnn.tools.cases.driver import CaseError
from sycl_dnn.tools.cases.drivers import DRIVERS
from sycl_dnn.tools.explain import probe
from sycl_dnn.tools.explain.probe import Answer, Prober

_LARGE = 1 << 20
_MAX_PAIRS = 1000
_LETTERS = "abcdefghijkl"
FREE = "all layouts any"


@dataclass(frozen=True)
class Explanation:
    """A case with oneDNN's answer, notes about it, and better variants.

    notes : sentences
    better : variants with their answers, best and most similar first
    tried : number of variants tried
    """

    case: Case
    answer: Answer
    notes: tuple[str, ...]
    better: tuple[tuple[Variant, Answer], ...]
    tried: int

    def as_dict(self) -> dict[str, Any]:
        """Return the fields in the form of the JSON output."""
        near = [
            {"change": v.change, "line": v.case.line, "state": a.state, "impl": a.impl}
            for v, a in self.better
        ]
        answer = self.answer.as_dict()
        return {"line": self.case.line, **answer, "notes": list(self.notes), "better": near}


def _is_plain(layout: str) -> bool:
    """Whether the text of a layout describes row-major order: ``f32 (2, 3) ab``."""
    tag = layout.rpartition(" ")[2]
    return tag == _LETTERS[: len(tag)]


def _about_layouts(answer: Answer) -> list[str]:
    expected = {
        n: t.rpartition(" ")[2] for n, t in answer.first.layouts.items() if not _is_plain(t)
    }
    if not expected:
        return []
    text = ", ".join(f"{name} {tag}" for name, tag in expected.items())
    return [f"not row-major: {text}; arrays in another layout need a reorder first"]


def _about_impl(answer: Answer) -> list[str]:
    notes = []
    if answer.state == "ref":
        wraps = "wraps the" if not answer.impl.startswith(("ref", "ocl:ref")) else "is the"
        notes.append(f"slow: {answer.impl} {wraps} reference implementation")
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
    matches = [f"no implementation takes it: {answer.reason}"]
    if answer.of_hint:
        matches.append("what is refused is the forward descriptor that a gradient is made from")
    return tuple(matches)


def notes(answer: Answer, free: Answer | None) -> tuple[str, ...]:
    """Return notes about an answer, as sentences.

    ``answer``: with all implementations; ``free``: oneDNN's answer to the case with all layouts
    ``any``.
    """
    if not answer.impl:
        return _about_refusal(answer)
    matches = [*_about_impl(answer), *_about_freedom(answer, free), *_about_layouts(answer)]
    return (*matches, *answer.warned)


def _ask(prober: Prober, candidates: list[Variant]) -> list[tuple[Variant, Answer]]:
    return [(variant, prober.ask(variant.case)) for variant in candidates]


def explain(case: Case, prober: Prober, everything: bool = False) -> Explanation:
    """Explain oneDNN's answer to a case, and find better variants.

    If no single change helps, pairs of changes are tried.

    ``prober``: for the device; ``everything``: list all variants that oneDNN accepts, not only
    those with a better implementation.
    """
    answer = prober.ask(case, every=True)
    answers = _ask(prober, variants(case))
    free = next((a for v, a in answers if v.change == FREE), None)
    least = probe.rank("refused") if everything else probe.rank(answer.state)
    better = [pair for pair in answers if probe.rank(pair[1].state) > least]
    if not better and answer.state != "optimized":
        answers += _ask(prober, pairs(case)[:_MAX_PAIRS])
        better = [pair for pair in answers if probe.rank(pair[1].state) > least]
    better.sort(key=lambda pair: -probe.rank(pair[1].state))
    return Explanation(case, answer, notes(answer, free), tuple(better), len(answers))


# --- Variants: changes to a case


_TAGS = ("any", "abx", "axb")
_FLOATS = ("f32", "bf16", "f16")
_INTEGERS = ("u8:s8:f32", "s8:s8:f32", "u8:s8:u8", "s8:s8:s8")
_NETWORKS = ("f32", "bf16f32", "bf16")
_FORWARD, _WEIGHTS = ("FWD_I", "FWD_D", "FWD_B"), ("BWD_W", "BWD_WB")
_LISTS = ("attr-post-ops", "attr-scales", "attr-zero-points")
#: Options whose removal simplifies a case, in the order in which they are tried.
_DROPPED = (
    *("strides", "inplace", "runtime_dims_masks", "runtime-dim-mask", "encoding", "bia-dt"),
    *("attr-post-ops", "attr-scales", "attr-zero-points", "attr-precomputed-reductions"),
    *("attr-dropout", "attr-rounding-mode", "attr-deterministic", "attr-acc-mode", "attr-fpmath"),
    *("with-peephole", "with-projection", "direction"),
)
_BLOCK = 16
#: A key of a problem with its value.
_PART = re.compile(r"([a-z]+)(\d+)")
_CHANNELS = ("ic", "oc", "sic", "slc", "dhc", "dic")

Change = tuple[str, dict[str, str], str]


def _options(case: Case) -> dict[str, str]:
    """Return every option of the case's driver with its value."""
    return {o.name: case.texts.get(o.name, o.default) for o in DRIVERS[case.driver].options}


def _layouts(case: Case) -> Iterator[Change]:
    tags = {name: text for name, text in _options(case).items() if name.endswith("tag")}
    main = {name: text for name, text in tags.items() if name != "stat_tag"}
    for tag in _TAGS:
        texts = {n: ":".join([tag] * (t.count(":") + 1)) for n, t in main.items()}
        yield f"all layouts {tag}", texts, case.problem
    for name in main:
        for tag in _TAGS:
            yield f"--{name} {tag}", {name: tag}, case.problem


def _rounded(number: int, step: int) -> int:
    return -(-number // step) * step


def _channels(case: Case) -> Iterator[Change]:
    """Round channels, or the sides of a matrix product, up to whole blocks."""
    problem, quote, name = case.problem.partition("_n")
    changed = _matrix(problem) if case.driver == "matmul" else _letters(problem)
    if changed != problem:
        yield f"sizes rounded up to {_BLOCK}", {}, changed + quote + name


def _letters(problem: str) -> str:
    """Round the channels of a problem such as ``g2mb1ic6oc10``; depthwise ones remain depthwise."""
    sizes = dict(_PART.findall(problem))
    groups = int(sizes.get("g", 0))
    depthwise = groups > 1 and sizes["g"] == sizes["ic"]
    step = _BLOCK if depthwise else _BLOCK * max(groups, 1)
    keys = (*_CHANNELS, "g") if depthwise else _CHANNELS

    def part(match: re.Match) -> str:
        key, number = match.groups()
        return key + (str(_rounded(int(number), step)) if key in keys else number)

    return _PART.sub(part, problem)


def _matrix(problem: str) -> str:
    src, weights = problem.split(":")[:2]
    *batch, m, k = src.split("x")
    *others, _, n = weights.split("x")
    k, n = (str(_rounded(int(size), _BLOCK)) for size in (k, n))
    return f"{'x'.join([*batch, m, k])}:{'x'.join([*others, k, n])}"


def _groups(case: Case) -> Iterator[Change]:
    problem, quote, name = case.problem.partition("_n")
    ungrouped = _PART.sub(lambda match: "" if match.group(1) == "g" else match.group(), problem)
    if case.driver in ("conv", "deconv") and ungrouped != problem:
        yield "without groups", {}, ungrouped + quote + name


def _algorithm(case: Case) -> Iterator[Change]:
    if case.driver in ("conv", "deconv"):
        for name in ("DIRECT", "AUTO"):
            yield f"--alg {name}", {"alg": name}, case.problem


def _directions(case: Case) -> Iterator[Change]:
    for option in ("dir", "prop"):
        direction = _options(case).get(option, "")
        for names in (_FORWARD, _WEIGHTS):
            for name in names if direction in names else ():
                yield f"--{option} {name}", {option: name}, case.problem


def _dropped(case: Case) -> Iterator[Change]:
    for name in _DROPPED:
        text = case.texts.get(name, "")
        parts = text.split("+")
        if name in _LISTS and len(parts) > 1:
            for i, part in enumerate(parts):
                rest = "+".join([*parts[:i], *parts[i + 1 :]])
                yield f"without {part} of --{name}", {name: rest}, case.problem
        if text:
            yield f"without --{name}", {name: ""}, case.problem
        if "per_" in text:
            yield f"one number in --{name}", {name: _common(text)}, case.problem
    flags = _options(case).get("flags", "")
    for letter in flags:
        yield f"without flag {letter}", {"flags": flags.replace(letter, "")}, case.problem


def _common(text: str) -> str:
    """Replace masks and groups by a single common value."""
    parts = (part.split(":") for part in text.split("+"))
    return "+".join(f"{p[0]}:common:1" + (f":{p[2]}" if len(p) > 2 else "") for p in parts)


def _types(case: Case) -> Iterator[Change]:
    options = _options(case)
    if "cfg" in options:
        yield from ((f"--cfg {n}", {"cfg": n}, case.problem) for n in _NETWORKS)
    if "dt" in options:
        integers = _INTEGERS if "8" in options["dt"] else ()
        parts = options["dt"].split(":")
        wider = ":".join([*parts, *parts[-1:] * (3 - len(parts))][:2]) + ":f32"
        for name in (wider, *_FLOATS, *integers):
            yield f"--dt {name}", {"dt": name}, case.problem
    if "ddt" in options:
        count = options["sdt"].count(":") + 1
        yield "--ddt f32", {"ddt": "f32"}, case.problem
        for name in _FLOATS:
            texts = {"sdt": ":".join([name] * count), "ddt": name}
            yield f"all types {name}", texts, case.problem
    elif "sdt" in options:
        yield from ((f"--sdt {n}", {"sdt": n}, case.problem) for n in _FLOATS)


def _looser(case: Case) -> Iterator[Change]:
    for name, text in (("attr-acc-mode", "any"), ("attr-fpmath", "any")):
        if name not in case.texts:
            yield f"--{name} {text}", {name: text}, case.problem


#: Kinds of change, the smallest first.
CHANGES: tuple[Callable[[Case], Iterator[Change]], ...] = (
    _layouts,
    _algorithm,
    _channels,
    _directions,
    _dropped,
    _looser,
    _groups,
    _types,
)


@dataclass(frozen=True)
class Variant:
    """A case similar to another.

    change : short description of the difference
    case : Case
    """

    change: str
    case: Case


def _changed(case: Case, texts: dict[str, str], problem: str) -> Case | None:
    """Return the case with changed options; None if that is not a valid case."""
    merged = {n: t for n, t in (case.texts | texts).items() if t}
    changed = Case(case.driver, problem, merged, case.place)
    try:
        return case_of(changed.line)
    except CaseError:
        return None


def variants(case: Case) -> list[Variant]:
    """Return the cases that differ in one respect, the most similar first.

    Layouts left to oneDNN, or made row-major or channels-last, sizes rounded up, other directions,
    attributes removed one by one, relaxed arithmetic, no groups, other types.
    """
    changed = (
        (change, _changed(case, texts, problem))
        for changes in CHANGES
        for change, texts, problem in changes(case)
    )
    return _distinct(changed, {case.line})


def pairs(case: Case) -> list[Variant]:
    """Return the cases that differ in two respects."""
    first = variants(case)
    changed = (
        (f"{variant.change}; {other.change}", other.case)
        for variant in first
        for other in variants(variant.case)
    )
    return _distinct(changed, {case.line, *(variant.case.line for variant in first)})


def _distinct(changed: Iterable[tuple[str, Case | None]], seen: set[str]) -> list[Variant]:
    results = []
    for change, case in changed:
        if case is not None and case.line not in seen:
            seen.add(case.line)
            results.append(Variant(change, case))
    return results

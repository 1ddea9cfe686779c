# SPDX-License-Identifier: Apache-2.0
"""A record as a page: devices, a summary, a table for each driver, reasons of refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from conformance.matrix.families import FAMILIES, Cell, Family, Row, cells, fold
from conformance.matrix.record import Record, state_of
from sycl_dnn.tools.explain import probe

INTRODUCTION = """\
# Support matrix

Which implementation oneDNN has for what: primitive, direction, data types and layout, on each level
of the CPU's instruction set and on GPUs. **Nothing was executed**: the page says which
implementation oneDNN chooses when a primitive descriptor is made, not that its numbers are right or
how fast it is. Numbers are checked by [conformance](verify.md); [inspect](inspect.md) shows why a
single case is refused or slow.

`python tests/conformance matrix` measures the machine that it runs on;
[support_matrix.json](support_matrix.json) has every case with the name of its implementation, and
with `--compare support_matrix.json` the command shows what differs there. This page is written
while the site is built, by the commands at [its end](#how-this-page-is-made).
"""
LEGEND = """\
## How to read it

| cell | meaning |
|---|---|
| brgemm, gemm, wino, jit | optimized, by family: code generated for this instruction set or GPU |
| ocl | optimized, an OpenCL kernel that was written for it |
| reorder | done by copies that other primitives do |
| simple | straightforward loops or kernels, compiled and parallel |
| *ref* | reference implementation: right and slow; also where an optimized one wraps it |
| - | refused; the reasons are below each table |
| wrong | oneDNN says that the arguments do not go together |

A row stands for all combinations of its names that make a case; *all* is every name that the
driver's tables have. Types are those of source (: weights) : destination; one name is the type of
all; integers are tried forward only. Layouts: *any* leaves the choice to oneDNN; *plain* is
row-major, *last* channels last, *blocked* `aBx16b`. Products leave the layout of their weights to
oneDNN, except for *all plain* and *transposed* weights. Directions are
[benchdnn's](verify.md#the-language). Channels are multiples of 16 unless the kind says something
else.
"""
DIFFERENCES = """\
Cases that one level computes by other code than the level before; drivers and levels that are not
named have no such case. "ref" is the slow reference, which
[`ReferenceWarning`](errors.md#warnings-of-slow-reference-implementations) names. What is refused in
a narrow type on one CPU, `sycl_dnn.functional` and graphs compute in float32 there, with one
`FallbackWarning`; the low level raises `Unimplemented`."""
SIMULATED = """\
A simulated GPU is Intel's own driver without hardware behind it (`tests/simulated_gpu.sh`): oneDNN
sees the GPU's architecture and chooses as it would there, but no kernel was run."""
END = """\
## How this page is made

```
python tests/conformance matrix --device cpu --json docs/support_matrix.json
for gpu in arc dg1 tgl; do
    tests/simulated_gpu.sh --gpu $gpu python tests/conformance matrix --device gpu \\
        --with docs/support_matrix.json --json docs/support_matrix.json \\
        --markdown docs/support_matrix.md
done
```
"""
#: Driver -> heading of its table.
TITLES = {
    "conv": "Convolution",
    "deconv": "Deconvolution",
    "ip": "Inner product",
    "matmul": "Matrix product",
    "eltwise": "Functions of single elements",
    "binary": "Functions of two sources",
    "prelu": "PReLU",
    "pool": "Pooling",
    "lrn": "Local response normalization",
    "bnorm": "Batch normalization",
    "lnorm": "Layer normalization",
    "gnorm": "Group normalization",
    "softmax": "Softmax",
    "concat": "Concatenation",
    "sum": "Sum",
    "reorder": "Reorder",
    "shuffle": "Shuffle",
    "resampling": "Resampling",
    "reduction": "Reduction",
    "rnn": "Recurrent networks",
}


# --- A record as a page: devices, a summary, a table for each driver, reasons of refusals

_MAX_REASONS = 5


def _row(cells_: Iterable[Any]) -> str:
    return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells_) + " |"


def table(header: list[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    return [_row(header), "|" + "---|" * len(header), *map(_row, rows)]


def short(text: str) -> str:
    """Return the text of an answer in a table cell."""
    state = state_of(text)
    if state in ("refused", "invalid", "died"):
        return {"refused": "-", "invalid": "wrong", "died": "**died**"}[state]
    kind = probe.family(text)
    return f"*{kind}*" if kind == "ref" else kind


def _heading(target: str) -> str:
    return target.removeprefix("cpu:").replace("avx512_core_", "").replace("avx512_core", "avx512")


def _devices(record: Record) -> list[str]:
    rows = []
    for name, facts in record.targets.items():
        what = f"{facts['device']}, driver {facts['driver']}"
        note = (
            "**simulated**: descriptors only"
            if facts["simulated"]
            else f"{facts['threads']} threads"
        )
        version = f"{facts['oneDNN']} ({facts['commit'][:8]})"
        rows.append((_heading(name), facts["kind"], what, note, version))
    lines = ["## Devices", "", *table(["column", "kind", "device", "", "oneDNN"], rows), ""]
    if record.absent:
        lines += [f"Levels that the machine does not have: {', '.join(record.absent)}.", ""]
    if any(facts["simulated"] for facts in record.targets.values()):
        lines += [SIMULATED, ""]
    return lines


def _worth(texts: Iterable[str]) -> str:
    counts = Counter(state_of(text) for text in texts)
    return " / ".join(str(counts[s]) for s in ("optimized", "simple", "ref", "refused"))


def _summary(record: Record, asked: dict[str, list[Cell]]) -> list[str]:
    rows = []
    for driver, own_cells in asked.items():
        answers = (
            _worth(record.cases[c.line][t] for c in own_cells if t in record.cases[c.line])
            for t in record.targets
        )
        rows.append((f"[{driver}](#{_anchor(driver)})", len(own_cells), *answers))
    header = ["driver", "cases", *map(_heading, record.targets)]
    note = "Cases that are optimized / simple / reference / refused."
    return ["## Summary", "", note, "", *table(header, rows), ""]


def _between_cpus(record: Record, asked: dict[str, list[Cell]]) -> list[str]:
    """Return how many cases another CPU level computes with better or worse code."""
    levels = [name for name, facts in record.targets.items() if facts["kind"] == "cpu"]
    if len(levels) < 2:
        return []
    steps = list(zip(levels, levels[1:], strict=False))
    rows = []
    for driver, own_cells in asked.items():
        counts = [_changes(record, own_cells, *step) for step in steps]
        if any(counts):
            rows.append((f"[{driver}](#{_anchor(driver)})", *(c or "as before" for c in counts)))
    header = ["driver", *(f"{_heading(old)} to {_heading(new)}" for old, new in steps)]
    return [
        "## What differs between CPUs",
        "",
        *DIFFERENCES.splitlines(),
        "",
        *table(header, rows),
        "",
    ]


def _changes(record: Record, own_cells: list[Cell], old: str, new: str) -> str:
    pairs = Counter(
        tuple(state_of(record.cases[cell.line].get(target, "refused: ")) for target in (old, new))
        for cell in own_cells
    )
    changed = ((n, *pair) for pair, n in pairs.items() if pair[0] != pair[1])
    return ", ".join(f"{n} {a} to {b}" for n, a, b in sorted(changed, reverse=True))


def _title(driver: str) -> str:
    return f"{TITLES[driver]} ({driver})"


def _anchor(driver: str) -> str:
    return _title(driver).lower().replace(" ", "-").replace("(", "").replace(")", "")


def _names(values: tuple[str, ...], everything: Iterable[str]) -> str:
    every = list(everything)
    if len(every) > 1 and set(values) == set(every):
        return "all"
    return ", ".join(v for v in every if v in values)


def _cells_of(row: Row, family: Family) -> list[str]:
    whole = (family.kinds, family.types, family.directions, family.layouts)
    return [
        _names(values, every)
        for values, every in zip(
            (row.kind, row.types, row.direction, row.layout), whole, strict=True
        )
    ]


def _reasons(record: Record, own_cells: list[Cell]) -> list[str]:
    counts: dict[str, Counter] = {}
    for cell in own_cells:
        for target, text in record.cases[cell.line].items():
            if state_of(text) in ("refused", "invalid", "died"):
                counts.setdefault(text.partition(": ")[2], Counter())[target] += 1
    order = list(record.targets)
    ordered = sorted(counts.items(), key=lambda item: -item[1].total())
    lines = [
        f"- {reason} ({n.total()} cases; {', '.join(_heading(t) for t in order if t in n)})"
        for reason, n in ordered[:_MAX_REASONS]
    ]
    rest = sum(n.total() for _, n in ordered[_MAX_REASONS:])
    return lines + ([f"- other reasons ({rest} cases)"] if rest else [])


def _driver(record: Record, driver: str, own_cells: list[Cell]) -> list[str]:
    family, targets = FAMILIES[driver], list(record.targets)
    answers = [
        (cell, tuple(short(record.cases[cell.line].get(t, "refused: ")) for t in targets))
        for cell in own_cells
    ]
    header = ["kind", "types", "direction", "layout", *map(_heading, targets)]
    rows = [[*_cells_of(row, family), *row.answers] for row in fold(answers)]
    # A column with a single value carries no information.
    kept = [i for i, name in enumerate(header) if i > 3 or any(r[i] for r in rows)]
    body = table([header[i] for i in kept], ([r[i] for i in kept] for r in rows))
    reasons = _reasons(record, own_cells)
    why = ["", "Refused because:", "", *reasons] if reasons else []
    return [f"## {_title(driver)}", "", *body, *why, ""]


def page(record: Record) -> str:
    """Return the page of a record.

    Parameters
    ----------
    record : Record

    Returns
    -------
    str
        Markdown; cases missing from the current tables are omitted.
    """
    asked: dict[str, list[Cell]] = {}
    for cell in cells():
        if cell.line in record.cases:
            asked.setdefault(cell.case.driver, []).append(cell)
    lines = [*INTRODUCTION.splitlines(), "", *_devices(record), *LEGEND.splitlines(), ""]
    lines += _summary(record, asked) + _between_cpus(record, asked)
    for driver, own_cells in asked.items():
        lines += _driver(record, driver, own_cells)
    return "\n".join([*lines, *END.splitlines()]) + "\n"

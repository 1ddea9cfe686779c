# SPDX-License-Identifier: Apache-2.0
"""The register of oneDNN's faults, used by warnings, the compiler and graphs.

``FAULTS`` has a ``Fault`` per line of faults.jsonl; they were found by comparison with float64
references. ``table`` lists them. ``tests/onednn/test_fault_register.py`` reproduces
each row and fails once oneDNN fixes one, so that the row can be removed.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sycl_dnn import _core
from sycl_dnn._warn import warn
from sycl_dnn.errors import OneDnnFaultWarning, Unimplemented
from sycl_dnn.onednn import apart, avoidance, fault, reference_code
from sycl_dnn.onednn.fault import Fault, GraphOp

__all__ = ["FAULTS", "Fault", "in_partition", "spoils", "table", "why_wrong"]

_RULES = {**vars(apart), **vars(avoidance), **vars(fault)}


@functools.cache  # many faults have the same patterns
def _rows_like(pattern: str) -> frozenset[str]:
    return frozenset(r for r in _core.ROWS if fnmatchcase(r, pattern))


def _fault_of(line: str) -> Fault:
    cells: dict[str, Any] = json.loads(line)
    for name in {"rule", "post_ops", "partition"} & cells.keys():
        cells[name] = _RULES[cells[name]]
    named = set().union(*map(_rows_like, cells["rows"]))
    cells["rows"] = [r for r in _core.ROWS if r in named]
    cells |= {name: tuple(cell) for name, cell in cells.items() if isinstance(cell, list)}
    return Fault(**cells)


_FILE = Path(__file__).with_name("faults.jsonl")
FAULTS = tuple(_fault_of(line) for line in _FILE.read_text(encoding="utf-8").splitlines())
#: Faults with a rule, by row, handling and kind of engine.
_WATCHED: dict[tuple[str, str, Any], list[tuple[Fault, Callable[[Any], bool]]]] = {}
for _fault in FAULTS:
    if _fault.rule is None:
        continue
    for _row in _fault.rows:
        _key = _row, _fault.met, _core.engine_kind[_fault.device]
        _WATCHED.setdefault(_key, []).append((_fault, _fault.rule))
#: Faults of post-ops, by row.
_SPOILING = {
    row: [(f, f.post_ops) for f in FAULTS if f.post_ops and row in f.rows] for row in _core.ROWS
}


def _matching(pd: Any, met: str) -> Fault | None:
    """Return the first fault of its device with this handling whose rule matches ``pd``."""
    for candidate, rule in _WATCHED.get((pd.name, met, pd.engine.kind), ()):
        if rule(pd):
            return candidate
    return None


def check(pd: Any) -> None:
    """Warn once per source location if a known fault of its device affects ``pd``.

    Also warn about slow reference implementations, once per process.

    Raises Unimplemented if executing it would crash the process.
    """
    if refused := _matching(pd, "refused"):
        raise Unimplemented(f"{pd.name} ({pd.impl_info}): {refused.advice}; got {pd!r}")
    if warned := warned_of(pd):
        text = f"{pd.name} ({pd.impl_info}): known fault of oneDNN: {warned.advice}"
        warn(text, OneDnnFaultWarning)
    reference_code.check(pd, sys._getframe(1).f_code.co_filename)


def is_avoided(pd: Any) -> bool:
    """Whether the implementation of ``pd`` is skipped in favor of the next one."""
    return _matching(pd, "rerouted") is not None


def warned_of(pd: Any) -> Fault | None:
    """Return the fault that creating this descriptor warns about."""
    return _matching(pd, "warned")


def spoils(row: str, dst: _core.MemoryDesc, post_ops: Any) -> Fault | None:
    """Return the fault by which a primitive with these post-ops is incorrect."""
    operands = []
    for i in range(len(post_ops)):
        name, args = post_ops[i]
        operands.append(args[1] if name == "append_binary" else None)
    matching = (f for f, rule in _SPOILING.get(row, ()) if rule(dst, operands))
    return next(matching, None)


def in_partition(ops: Sequence[GraphOp], device: str) -> Fault | None:
    """Return the fault that affects a partition of these operations on a kind of device."""
    matching = (f for f in FAULTS if f.partition and f.device == device and f.partition(ops))
    return next(matching, None)


def why_wrong(ops: Sequence[GraphOp], device: str) -> str:
    """Return the fault of oneDNN in a partition of these operations, or ""."""
    fault = in_partition(ops, device)
    return f"oneDNN {fault.wrong}" if fault else ""


def table() -> str:
    """Return the table for the documentation."""
    heads = ("name", "where", "when", "what is wrong", "workaround", "handling")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for f in FAULTS:
        where = f.where if f.device == "cpu" or "GPU" in f.where else f"{f.where}, GPU"
        until = f"; fixed in {f.until}" if f.until else ""
        cells = (f"`{f.name}`", where, f.when, f.wrong + until, f.instead, f.met)
        lines.append("| " + " | ".join(c.replace("*", "\\*") for c in cells) + " |")
    return "\n".join(lines)


#: Rows whose new descriptors are checked.
WATCHED_ROWS = {*(row for row, _, _ in _WATCHED), *reference_code.ROWS}
_core._watch(WATCHED_ROWS, check, is_avoided)

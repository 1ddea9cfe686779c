# SPDX-License-Identifier: Apache-2.0
"""The register of oneDNN's faults: what warnings, compiler, graphs and the verifier know of them.

``FAULTS`` is the one table, found by comparing with float64 references. docs/onednn_in_python.md
shows it; ``tests/onednn/test_fault_register.py`` reproduces its rows, and fails when oneDNN mends
one, so that the row can go.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from sycl_dnn import _core
from sycl_dnn._warn import warn
from sycl_dnn.errors import OneDnnFaultWarning, Unimplemented
from sycl_dnn.onednn.fault import Fault
from sycl_dnn.onednn.fault_rules import GraphOp
from sycl_dnn.onednn.fault_table import FAULTS

__all__ = ["FAULTS", "Fault", "explain", "explain_partition", "spoils", "table", "why_wrong"]

PAGE = "docs/onednn_in_python.md"
#: Primitives whose descriptors may warn.
WARNED_ROWS = frozenset(row for fault in FAULTS if fault.warns for row in fault.rows)
_WATCHED: dict[str, list[Fault]] = {}
for _fault in FAULTS:
    for _row in _fault.rows if _fault.warns or _fault.refuses else ():
        _WATCHED.setdefault(_row, []).append(_fault)


def check(pd: Any) -> None:
    """Warn once per place in the program if ``pd`` meets a known fault on the CPU.

    Raises
    ------
    Unimplemented
        Executing it would end the process.
    """
    if pd.engine.kind is not _core.engine_kind.cpu:
        return
    for fault in _WATCHED[pd.name]:
        if fault.refuses and fault.refuses(pd):
            raise Unimplemented(f"{pd.name} ({pd.impl_info}): {fault.advice}")
        if fault.warns and fault.warns(pd):
            text = f"{pd.name} ({pd.impl_info}): known fault of oneDNN: {fault.advice}"
            warn(text, OneDnnFaultWarning)


def spoils(row: str, dst: _core.MemoryDesc, post_ops: Any) -> Fault | None:
    """Return the fault by which oneDNN would compute a primitive with these post-ops wrongly."""
    operands = []
    for i in range(len(post_ops)):
        name, args = post_ops[i]
        operands.append(args[1] if name == "append_binary" else None)
    found = (f for f in FAULTS if f.post_ops and row in f.rows and f.post_ops(dst, operands))
    return next(found, None)


def why_wrong(ops: Sequence[GraphOp]) -> str:
    """Return what oneDNN does wrong with a partition of these operations; "" for nothing."""
    fault = next((f for f in FAULTS if f.partition and f.partition(ops)), None)
    return f"oneDNN {fault.wrong}" if fault else ""


def explain(call: Any, impl: str, outputs: Sequence[str]) -> str:
    """Return the fault that explains wrong ``outputs`` of a case of the verifier; "" for none."""
    for fault in FAULTS:
        if not fault.explains or call.row not in fault.rows:
            continue
        covered = all(any(fnmatchcase(o, p) for p in fault.outputs) for o in outputs)
        if covered and fault.explains(call, impl):
            return told(fault)
    return ""


def explain_partition(ops: Sequence[GraphOp]) -> str:
    """Return the fault that a partition meets, as `explain` does."""
    fault = next((f for f in FAULTS if f.partition and f.partition(ops)), None)
    return told(fault) if fault else ""


def told(fault: Fault) -> str:
    """Return a fault as one line of a report."""
    return f"known fault, {PAGE}: {fault.name}"


def table() -> str:
    """Return the table of the documentation."""
    lines = ["| name | where | when | what is wrong | instead | met |", "|---|---|---|---|---|---|"]
    for f in FAULTS:
        where = f.title if f.device == "cpu" or "GPU" in f.title else f"{f.title}, GPU"
        until = f"; mended in {f.until}" if f.until else ""
        cells = (f"`{f.name}`", where, f.when, f.wrong + until, f.instead, f.met)
        lines.append("| " + " | ".join(c.replace("*", "\\*") for c in cells) + " |")
    return "\n".join(lines)


_core._watch(set(_WATCHED), check)

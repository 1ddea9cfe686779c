# SPDX-License-Identifier: Apache-2.0
"""Executions in groups, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sycl_dnn.device import is_simulated
from sycl_dnn.profiling.record import Record
from sycl_dnn.profiling.summary import Summary, charged, summarized

__all__ = ["table"]

_SHAPE = ("name", "implementation", "inserted", "shape", "attributes")
_KEYS = (*(f.name for f in fields(Record)), "shape")


@dataclass
class Group:
    """Executions that have some attributes in common."""

    key: tuple[Any, ...]
    calls: int = 0
    spent: int = 0
    host: int = 0
    clocks: set[str] = field(default_factory=set)


def _keys(group_by: str | Sequence[str]) -> tuple[str, ...]:
    if group_by == "shape":
        return _SHAPE
    names = (group_by,) if isinstance(group_by, str) else tuple(group_by)
    for name in names:
        if name not in _KEYS:
            raise ValueError(
                f"table: group_by must be 'shape' or name attributes of a record "
                f"({', '.join(_KEYS)}), got {name!r}"
            )
    return names


def groups_of(records: Sequence[Record], keys: Sequence[str]) -> list[Group]:
    """Return groups of executions, the longest first."""
    found: dict[tuple[Any, ...], Group] = {}
    _, times = charged(records)
    for record, spent in zip(records, times, strict=True):
        if not record.is_execution:
            continue
        key = tuple(getattr(record, k) for k in keys)
        group = found.setdefault(key, Group(key))
        group.calls += 1
        group.spent += spent
        group.host += record.host
        group.clocks.add(record.clock)
    return sorted(found.values(), key=lambda g: -g.spent)


def _cell(name: str, value: Any) -> str:
    if name == "inserted":
        return "inserted" if value else ""
    return "" if value is None else str(value)


def _row(group: Group, keys: Sequence[str], total: int, is_timed: bool) -> list[str]:
    share = f"{100 * group.spent / total:.1f}" if total else "-"
    spent = f"{group.spent / 1e6:.3f}" if any(group.clocks) or not is_timed else "-"
    clocks = [" ".join(sorted(c or "-" for c in group.clocks))] if is_timed else []
    host = [f"{group.host / 1e6:.3f}"] if is_timed else []
    cells = [_cell(k, v) for k, v in zip(keys, group.key, strict=True)]
    return [spent, share, str(group.calls), *host, *clocks, *cells]


def _aligned(rows: list[list[str]], n_numbers: int) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i < n_numbers else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * w for w in widths))
    return lines


def _rest(groups: Sequence[Group], n_keys: int) -> Group:
    calls, spent, host = (sum(getattr(g, n) for g in groups) for n in ("calls", "spent", "host"))
    key = (f"({len(groups)} more)", *[""] * (n_keys - 1))
    return Group(key, calls, spent, host, set().union(*(g.clocks for g in groups)))


def table(
    records: Sequence[Record],
    queues: Sequence[dict[str, Any]],
    dropped: int,
    group_by: str | Sequence[str] = "shape",
    top: int | None = None,
) -> str:
    """Return the table of ``Profile.table``."""
    keys = _keys(group_by)
    totals = summarized(records, dropped)
    is_timed = totals.measure == "time"
    groups = groups_of(records, keys)
    if top is not None and len(groups) > top:
        groups = [*groups[:top], _rest(groups[top:], len(keys))]
    total = sum(g.spent for g in groups)
    extra = ["host ms", "clock"] if is_timed else []
    first = "ms" if is_timed else "host ms"
    heads = [h.replace("inserted", "") if h == "inserted" else h for h in keys]
    rows = [[first, "%", "calls", *extra, *heads]]
    rows += [_row(g, keys, total, is_timed) for g in groups]
    lines = _aligned(rows, 4 if is_timed else 3) if groups else ["nothing was executed"]
    return "\n".join([*lines, "", *_notes(totals, records, queues)])


def _notes(
    totals: Summary, records: Sequence[Record], queues: Sequence[dict[str, Any]]
) -> list[str]:
    """Return lines about the whole."""
    n, spent = totals.executions, totals.time_ms
    timed = f"{spent:.3f} ms ({', '.join(totals.clocks)}), " if totals.clocks else ""
    lines = [f"{n} executions: {timed}{totals.host_ms:.3f} ms on the host to submit"]
    for count, ms, share, what in (
        (totals.inserted, totals.inserted_ms, totals.inserted_share, "inserted reorders"),
        (totals.reference, totals.reference_ms, totals.reference_share, "by ref implementations"),
        (totals.dpnp, totals.dpnp_ms, totals.dpnp_share, "calls of dpnp"),
    ):
        if count:
            lines.append(f"{count} {what}: {ms:.3f} ms, {100 * share:.1f} % of {totals.measure}")
    if totals.created:
        missed = totals.cache_misses
        known = "" if missed is None else f", {missed} not in oneDNN's cache"
        lines.append(f"{totals.created} primitives made{known}: {totals.creation_ms:.3f} ms")
    if totals.plan_misses:
        lines.append(f"{totals.plan_misses} functions traced: {totals.tracing_ms:.3f} ms")
    if totals.dropped:
        lines.append(f"{totals.dropped} records dropped: the limit is {len(records)}")
    if is_simulated("gpu") and "device" in totals.clocks:
        lines.append("the GPU is simulated: it executes nothing, so its times say nothing")
    return lines + _advice(records, queues)


def _advice(records: Sequence[Record], queues: Sequence[dict[str, Any]]) -> list[str]:
    """Say how executions get a time that have none."""
    without = [r for r in records if r.is_execution and r.time is None]
    if not without:
        return []
    if all(r.kind == "dpnp" for r in without):
        return [f"{len(without)} calls of dpnp without a time: use profile(wait=True)"]
    devices = sorted({queues[r.queue]["device"] for r in without if r.queue is not None})
    return [
        f"{len(without)} executions on {', '.join(devices)} without a time: use "
        'profile(wait=True), or a queue made with property="enable_profiling"'
    ]

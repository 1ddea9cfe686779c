# SPDX-License-Identifier: Apache-2.0
"""Presentation of records: tables, trace events and a plot."""

from __future__ import annotations

import os
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sycl_dnn.device import is_simulated
from sycl_dnn.tools.profile.records import Record, Summary, charged, summarized

_SHAPE = ("name", "implementation", "inserted", "shape", "attributes")
_KEYS = (*(f.name for f in fields(Record)), "shape")


@dataclass
class Group:
    """Executions with equal attributes."""

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
    """Group executions, longest first."""
    groups: dict[tuple[Any, ...], Group] = {}
    _, times = charged(records)
    for record, spent in zip(records, times, strict=True):
        if not record.is_execution:
            continue
        key = tuple(getattr(record, k) for k in keys)
        group = groups.setdefault(key, Group(key))
        group.calls += 1
        group.spent += spent
        group.host += record.host
        group.clocks.add(record.clock)
    return sorted(groups.values(), key=lambda g: -g.spent)


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
    """Return the lines about the whole profile."""
    n, spent = totals.executions, totals.time_ms
    timed = f"{spent:.3f} ms ({', '.join(totals.clocks)}), " if totals.clocks else ""
    lines = [f"{n} executions: {timed}{totals.host_ms:.3f} ms on the host to submit"]
    for count, ms, share, label in (
        (totals.inserted, totals.inserted_ms, totals.inserted_share, "inserted reorders"),
        (totals.reference, totals.reference_ms, totals.reference_share, "by ref implementations"),
        (totals.dpnp, totals.dpnp_ms, totals.dpnp_share, "calls of dpnp"),
    ):
        if count:
            lines.append(f"{count} {label}: {ms:.3f} ms, {100 * share:.1f} % of {totals.measure}")
    if totals.created:
        missed = totals.cache_misses
        cached = "" if missed is None else f", {missed} not in oneDNN's cache"
        lines.append(f"{totals.created} primitives made{cached}: {totals.creation_ms:.3f} ms")
    if totals.plan_misses:
        lines.append(f"{totals.plan_misses} functions traced: {totals.tracing_ms:.3f} ms")
    if totals.dropped:
        lines.append(f"{totals.dropped} records dropped: the limit is {len(records)}")
    if is_simulated("gpu") and "device" in totals.clocks:
        lines.append("the GPU is simulated: it executes nothing, so its times mean nothing")
    return lines + _advice(records, queues)


def _advice(records: Sequence[Record], queues: Sequence[dict[str, Any]]) -> list[str]:
    """Return advice on how to measure executions without times."""
    without = [r for r in records if r.is_execution and r.time is None]
    if not without:
        return []
    if all(r.kind == "dpnp" for r in without):
        return [f"{len(without)} calls of dpnp without a time: use profile(wait=True)"]
    devices = sorted({queues[r.queue]["device"] for r in without if r.queue is not None})
    return [
        f"{len(without)} executions on {', '.join(devices)} without a time: use "
        'profile(wait=True), or a queue created with property="enable_profiling"'
    ]


# --- Trace events for chrome://tracing and Perfetto

#: Process id of the host's tracks; queue n has id n + 1.
_HOST = 0
#: Clocks that differ by less, in ns, are considered equal; an offset would only add noise.
_SAME_CLOCK = 1_000_000


def trace_events(
    records: Sequence[Record], queues: Sequence[Mapping[str, Any]], threads: Mapping[int, str]
) -> list[dict[str, Any]]:
    """Return the events; ``ts`` and ``dur`` are microseconds since the first record.

    The host has one track per thread. Each queue has as many tracks as executions that ran
    simultaneously. Arrows lead from submissions to executions.
    """
    first = min((r.begin for r in records), default=0)
    offsets = _offsets(records)
    lanes = _lanes(records, offsets)
    events = _metadata(records, queues, threads)
    for number, record in enumerate(records):
        events.append(_host_event(record, first))
        if number in lanes:
            begin = record.started + offsets[record.queue, record.clock]
            events += _device_events(number, record, first, begin, lanes[number])
    return events


def _offsets(records: Sequence[Record]) -> dict[tuple[Any, str], int]:
    """Return the offset from the host's clock, by queue and clock."""
    differences: dict[tuple[Any, str], list[int]] = defaultdict(list)
    for r in records:
        if r.clock and r.queue is not None:
            # The device timestamped the submission during the host's call.
            differences[r.queue, r.clock].append(r.begin + r.host // 2 - r.submitted)
    offsets = {key: int(statistics.median(values)) for key, values in differences.items()}
    return {key: 0 if abs(v) < _SAME_CLOCK else v for key, v in offsets.items()}


def _lanes(records: Sequence[Record], offsets: Mapping[tuple[Any, str], int]) -> dict[int, int]:
    """Return a free track of the queue for each record, by its index."""
    timed = [
        (r.started + offsets[r.queue, r.clock], n)
        for n, r in enumerate(records)
        # Simulated devices have no clock: all times are 0.
        if (r.queue, r.clock) in offsets and r.started
    ]
    busy_until: dict[Any, list[int]] = defaultdict(list)
    result: dict[int, int] = {}
    for begin, number in sorted(timed):
        ends = busy_until[records[number].queue]
        lane = next((i for i, end in enumerate(ends) if end <= begin), len(ends))
        if lane == len(ends):
            ends.append(0)
        ends[lane] = begin + (records[number].time or 0)
        result[number] = lane
    return result


def _metadata(
    records: Sequence[Record], queues: Sequence[Mapping[str, Any]], threads: Mapping[int, str]
) -> list[dict[str, Any]]:
    def named(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
        return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}

    events = [named("process_name", _HOST, 0, "host")]
    for number, queue in enumerate(queues):
        name = f"queue {number}: {queue['device']}"
        events.append(named("process_name", number + 1, 0, name))
    for thread in sorted({r.thread for r in records}):
        name = threads.get(thread, f"thread {thread}")
        events.append(named("thread_name", _HOST, thread, name))
    return events


def _details(record: Record) -> dict[str, Any]:
    about = {
        "implementation": record.implementation,
        "attributes": record.attributes,
        "inserted": record.inserted,
        "reference": record.reference,
        "clock": record.clock,
        "was_cached": record.was_cached,
    }
    about |= {t.argument: str(t).split(":", 1)[-1] for t in record.tensors}
    return {name: value for name, value in about.items() if value not in ("", None, False)}


def _host_event(record: Record, first: int) -> dict[str, Any]:
    name = record.name if record.kind in ("primitive", "dpnp") else f"{record.kind} {record.name}"
    return {
        "ph": "X",
        "name": name,
        "cat": record.kind,
        "pid": _HOST,
        "tid": record.thread,
        "ts": (record.begin - first) / 1e3,
        "dur": record.host / 1e3,
        "args": _details(record),
    }


def _device_events(
    number: int, record: Record, first: int, begin: int, lane: int
) -> list[dict[str, Any]]:
    """Return the execution, and the arrow from its submission."""
    assert record.queue is not None
    assert record.time is not None
    device_row = {"pid": record.queue + 1, "tid": lane, "ts": (begin - first) / 1e3}
    host_row = {"pid": _HOST, "tid": record.thread, "ts": (record.begin - first) / 1e3}
    arrow = {"name": "submission", "cat": "submission", "id": number}
    run = {"ph": "X", "name": record.name, "cat": record.clock, "dur": record.time / 1e3}
    return [
        run | device_row | {"args": _details(record)},
        arrow | host_row | {"ph": "s"},
        arrow | device_row | {"ph": "f", "bp": "e"},
    ]


# --- Plot

#: Parts of a bar: label, color and predicate; the first match counts.
PARTS: tuple[tuple[str, str, Callable[[Record], bool]], ...] = (
    ("inserted reorder", "#e8a33d", lambda r: r.inserted),
    ("ref implementation", "#c8443c", lambda r: r.reference),
    ("dpnp", "#8a6fb0", lambda r: r.kind == "dpnp"),
    ("oneDNN", "#3c78b4", lambda r: True),
)
#: Maximum number of bars; shorter ones are merged into one more.
_MAX_PARTS = 15


def parts_by_name(records: Sequence[Record]) -> dict[str, list[float]]:
    """Return milliseconds by name and part, longest first."""
    parts: dict[str, list[float]] = {}
    for record, spent in zip(records, charged(records)[1], strict=True):
        if record.is_execution:
            number = next(i for i, (_, _, fits) in enumerate(PARTS) if fits(record))
            parts.setdefault(record.name, [0.0] * len(PARTS))[number] += spent / 1e6
    longest = sorted(parts.items(), key=lambda item: -sum(item[1]))
    largest, rest = longest[:_MAX_PARTS], longest[_MAX_PARTS:]
    if rest:
        sums = [sum(values) for values in zip(*(v for _, v in rest), strict=True)]
        largest.append((f"({len(rest)} more)", sums))
    return dict(largest)


def plot(records: Sequence[Record], path: str | os.PathLike[str]) -> None:
    """Draw the plot of ``Profile.plot``."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plot: matplotlib must be installed: pip install matplotlib") from None
    parts = parts_by_name(records)
    totals = summarized(records)
    figure = Figure(figsize=(11, max(3.2, 0.34 * len(parts) + 1.6)), layout="constrained")
    FigureCanvasAgg(figure)
    bars, shares = figure.subplots(1, 2, width_ratios=(3, 1))
    _draw_bars(bars, parts, totals)
    _draw_shares(shares, totals)
    figure.savefig(path, dpi=120)


def _draw_bars(axes: Any, parts: dict[str, list[float]], totals: Summary) -> None:
    names = list(parts)[::-1]
    left = [0.0] * len(names)
    for number, (label, colour, _) in enumerate(PARTS):
        widths = [parts[n][number] for n in names]
        if any(widths):
            axes.barh(names, widths, left=left, color=colour, label=label)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    clock = ", ".join(totals.clocks) if totals.measure == "time" else "of submission"
    axes.set_xlabel(f"ms ({clock})")
    axes.set_title(f"{totals.executions} executions")
    if names:
        axes.legend(loc="lower right")


def _draw_shares(axes: Any, totals: Summary) -> None:
    names = [label.replace(" ", "\n") for label, _, _ in PARTS[:3]]
    shares = [totals.inserted_share, totals.reference_share, totals.dpnp_share]
    drawn = axes.bar(names, [100 * s for s in shares], color=[c for _, c, _ in PARTS[:3]])
    axes.bar_label(drawn, fmt="%.1f")
    axes.set_ylim(0, max(10.0, 115 * max(shares)))
    axes.set_ylabel(f"% of {totals.measure}")
    axes.set_title("shares")

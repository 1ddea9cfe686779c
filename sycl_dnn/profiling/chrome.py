# SPDX-License-Identifier: Apache-2.0
"""Records as events of the trace format that chrome://tracing and Perfetto read."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sycl_dnn.profiling.record import Record

__all__ = ["trace_events"]

#: Process of the host's tracks; queue number n is process n + 1.
_HOST = 0
#: Clocks closer than this, in ns, are one clock; an offset would only add noise.
_SAME_CLOCK = 1_000_000


def trace_events(
    records: Sequence[Record], queues: Sequence[Mapping[str, Any]], threads: Mapping[int, str]
) -> list[dict[str, Any]]:
    """Return the events; ``ts`` and ``dur`` are microseconds since the first record.

    The host has a track for each thread; each queue has as many as ran at the same time. An arrow
    leads from each submission to what it started.
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
    """Return, by queue and clock, what to add to come to the host's clock."""
    apart: dict[tuple[Any, str], list[int]] = defaultdict(list)
    for r in records:
        if r.clock and r.queue is not None:
            # The device took note of the submission while the host made it.
            apart[r.queue, r.clock].append(r.begin + r.host // 2 - r.submitted)
    found = {key: int(statistics.median(values)) for key, values in apart.items()}
    return {key: 0 if abs(v) < _SAME_CLOCK else v for key, v in found.items()}


def _lanes(records: Sequence[Record], offsets: Mapping[tuple[Any, str], int]) -> dict[int, int]:
    """Return, by number of the record, a track of its queue that is free at that time."""
    timed = [
        (r.started + offsets[r.queue, r.clock], n)
        for n, r in enumerate(records)
        # Simulated devices have no clock: all times are 0.
        if (r.queue, r.clock) in offsets and r.started
    ]
    busy_until: dict[Any, list[int]] = defaultdict(list)
    found: dict[int, int] = {}
    for begin, number in sorted(timed):
        ends = busy_until[records[number].queue]
        lane = next((i for i, end in enumerate(ends) if end <= begin), len(ends))
        if lane == len(ends):
            ends.append(0)
        ends[lane] = begin + (records[number].time or 0)
        found[number] = lane
    return found


def _metadata(
    records: Sequence[Record], queues: Sequence[Mapping[str, Any]], threads: Mapping[int, str]
) -> list[dict[str, Any]]:
    def named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
        return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}

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
    """Return the execution, and the arrow to it from its submission."""
    assert record.queue is not None
    assert record.time is not None
    here = {"pid": record.queue + 1, "tid": lane, "ts": (begin - first) / 1e3}
    there = {"pid": _HOST, "tid": record.thread, "ts": (record.begin - first) / 1e3}
    arrow = {"name": "submission", "cat": "submission", "id": number}
    run = {"ph": "X", "name": record.name, "cat": record.clock, "dur": record.time / 1e3}
    return [
        run | here | {"args": _details(record)},
        arrow | there | {"ph": "s"},
        arrow | here | {"ph": "f", "bp": "e"},
    ]

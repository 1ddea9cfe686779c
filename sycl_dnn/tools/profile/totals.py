# SPDX-License-Identifier: Apache-2.0
"""Totals of a profile, and the time that each record is charged with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sycl_dnn.tools.profile.records import Record


@dataclass(frozen=True)
class Summary:
    """Totals; times in milliseconds, shares between 0 and 1 of all executions.

    Attributes
    ----------
    measure : str
        What shares are about: ``"time"`` of execution if any was measured, else ``"host"``.
    clocks : tuple of str
        Where times come from; see ``Record.clock``.
    executions : int
    time_ms, host_ms : float
        Measured time of the executions, and the host's to submit them.
    inserted, inserted_ms, inserted_share
        Reorders that nobody asked for.
    reference, reference_ms, reference_share
        Executions by oneDNN's slow reference implementations.
    dpnp, dpnp_ms, dpnp_share
        Calls of dpnp for what oneDNN lacks.
    created, cache_misses, creation_ms
        Primitives made, how many of them oneDNN's cache did not have (None if unknown), the time.
    plan_misses, tracing_ms
        Calls that had to be traced first, and the time of that, creations included.
    dropped : int
        Records beyond the limit.
    """

    measure: str
    clocks: tuple[str, ...]
    executions: int
    time_ms: float
    host_ms: float
    inserted: int
    inserted_ms: float
    inserted_share: float
    reference: int
    reference_ms: float
    reference_share: float
    dpnp: int
    dpnp_ms: float
    dpnp_share: float
    created: int
    cache_misses: int | None
    creation_ms: float
    plan_misses: int
    tracing_ms: float
    dropped: int


def _nested(records: Sequence[Record]) -> dict[int, int]:
    """Return, by position, what to take off calls of dpnp: executions inside of them."""
    inner: dict[int, int] = {}
    open_calls: dict[int, list[tuple[int, int]]] = {}
    for number, record in enumerate(records):
        calls = open_calls.setdefault(record.thread, [])
        while calls and record.begin >= calls[-1][0]:
            calls.pop()
        if calls and record.is_execution:
            spent = (record.time if record.clock else record.host) or 0
            inner[calls[-1][1]] = inner.get(calls[-1][1], 0) + spent
        if record.kind == "dpnp":
            calls.append((record.begin + record.host, number))
    return inner


def charged(records: Sequence[Record]) -> tuple[str, list[int]]:
    """Return the measure, ``"time"`` or ``"host"``, and what each record counts in it, in ns.

    Where executions were measured only those count. Calls of dpnp do not count what is recorded
    inside of them.
    """
    measure = "time" if any(r.time is not None and r.is_execution for r in records) else "host"
    inner = _nested(records)
    found = []
    for number, record in enumerate(records):
        spent = record.host if measure == "host" else record.time or 0
        is_split = record.kind == "dpnp" and spent
        found.append(max(0, spent - inner.get(number, 0)) if is_split else spent)
    return measure, found


def summarized(records: Sequence[Record], dropped: int = 0) -> Summary:
    """Return the totals of records."""
    measure, times = charged(records)
    runs = [(r, t) for r, t in zip(records, times, strict=True) if r.is_execution]
    total = sum(t for _, t in runs)

    def part(chosen: Iterable[int]) -> tuple[int, float, float]:
        found = list(chosen)
        return len(found), sum(found) / 1e6, sum(found) / total if total else 0.0

    created = [r for r in records if r.kind == "create"]
    traces = [r for r in records if r.kind == "trace"]
    known = all(r.was_cached is not None for r in created)
    return Summary(
        measure,
        tuple(sorted({r.clock for r, _ in runs if r.clock})),
        len(runs),
        sum(r.time or 0 for r, _ in runs) / 1e6,
        sum(r.host for r, _ in runs) / 1e6,
        *part(t for r, t in runs if r.inserted),
        *part(t for r, t in runs if r.reference),
        *part(t for r, t in runs if r.kind == "dpnp"),
        len(created),
        sum(not r.was_cached for r in created) if known else None,
        sum(r.host for r in created) / 1e6,
        len(traces),
        _covered(traces) / 1e6,
        dropped,
    )


def _covered(traces: Sequence[Record]) -> int:
    """Return the time of traces, those inside of others not counted twice."""
    ends: dict[int, int] = {}
    total = 0
    for trace in traces:
        end = trace.begin + trace.host
        if trace.begin >= ends.get(trace.thread, 0):
            total += trace.host
            ends[trace.thread] = end
    return total

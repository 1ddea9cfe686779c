# SPDX-License-Identifier: Apache-2.0
"""``Record``, one profiled operation, and ``Summary``."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sycl_dnn import _core
from sycl_dnn.onednn.reference_code import is_slow_reference


def attributes_text(attr: Any) -> str:
    """Format a PrimitiveAttr: ``"relu+add scales_mask=src,0 fpmath_mode=bf16"``."""
    return " ".join(_setting(name, values) for name, values in attr.calls)


def _setting(name: str, arguments: tuple[Any, ...]) -> str:
    if name == "set_post_ops":
        return "+".join(_post_op(*arguments[0][i]) for i in range(len(arguments[0])))
    values = [text for value in arguments if (text := _value(value))]
    return f"{name.removeprefix('set_')}={','.join(values)}"


def _post_op(method: str, arguments: tuple[Any, ...]) -> str:
    first = arguments[0] if arguments else None
    if isinstance(first, _core.algorithm):
        return first.name.split("_", 1)[1]
    return method.removeprefix("append_")


def _value(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (tuple, list)):
        return "x".join(map(str, value))
    return "" if value is None else str(value)


# --- Record

#: Kinds of records that compute on arrays; others are preparation on the host.
EXECUTIONS = ("primitive", "fill", "partition", "dpnp")


class TensorFacts(NamedTuple):
    """An argument of an execution.

    Attributes
    ----------
    argument : str
        oneDNN's name: ``"src"``, ``"weights"``, ``"attr_scales_dst"``...
    dtype : str
    shape : tuple of int
        -1 if a size is unknown.
    layout : str
        oneDNN's tag in letters, ``"acdb"``, or strides.
    """

    argument: str
    dtype: str
    shape: tuple[int, ...]
    layout: str

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "()"
        return ":".join(p for p in (self.argument, self.dtype, shape, self.layout) if p)


@dataclass(frozen=True)
class Record:
    """One execution, creation or trace. All times are in nanoseconds.

    Attributes
    ----------
    kind : str
        ``"primitive"``; ``"fill"`` (zeros); ``"partition"`` of a graph; ``"dpnp"`` (a dpnp call);
        ``"create"`` (creation of a primitive); ``"trace"`` (creation of a plan).
    name : str
        Name of the primitive, operations of the partition, or name of the function.
    implementation : str
        oneDNN's name; empty if the record is not a primitive.
    tensors : tuple of TensorFacts
    attributes : str
        Post-ops, scales and others, abbreviated.
    inserted : bool
        Whether this reorder was inserted by the package, between layouts or dtypes.
    reference : bool
        Whether it is oneDNN's slow reference implementation.
    was_cached : bool or None
        For ``"create"``: whether oneDNN's primitive cache had it; None if unknown.
    begin, host : int
        Start of the submission, on the clock of ``time.perf_counter_ns``, and its duration. For
        ``"dpnp"``, ``"create"`` and ``"trace"``: the time on the host.
    time : int or None
        Execution time; None if it was not measured.
    clock : str
        Source of ``time``: ``"device"`` (event timestamps), ``"host_task"`` (event timestamps of
        the CPU device's host task), ``"wall"`` (from submission to the end of the wait), or ``""``.
    submitted, started, finished : int
        Timestamps on that clock; 0 if ``clock`` is ``""``.
    thread : int
        System id of the submitting thread.
    queue : int or None
        Index in ``Profile.queues``.
    """

    kind: str
    name: str
    implementation: str
    tensors: tuple[TensorFacts, ...]
    attributes: str
    inserted: bool
    reference: bool
    was_cached: bool | None
    begin: int
    host: int
    time: int | None
    clock: str
    submitted: int
    started: int
    finished: int
    thread: int
    queue: int | None

    @property
    def is_execution(self) -> bool:
        """Whether it computed on arrays, rather than prepared something."""
        return self.kind in EXECUTIONS

    @property
    def shape(self) -> str:
        """The tensors as one string."""
        return " ".join(map(str, self.tensors))

    def as_dict(self) -> dict[str, Any]:
        """Return the fields in a form that ``json`` can write."""
        return asdict(self) | {"tensors": [t._asdict() for t in self.tensors]}


def records_of(subjects: Sequence[Any], rows: Iterable[tuple[Any, ...]]) -> list[Record]:
    """Convert the extension's records, in order of submission."""
    facts = [_facts(s) for s in subjects]
    results = [_record(facts[row[0]], row) for row in rows]
    return sorted(results, key=lambda r: r.begin)


def _facts(subject: Any) -> dict[str, Any]:
    name, implementation = subject["name"], subject["implementation"]
    attr = subject["attr"]
    return {
        "kind": subject["kind"],
        "name": name,
        "implementation": implementation,
        "tensors": tuple(TensorFacts(*t) for t in subject["tensors"]),
        "attributes": "" if attr is None else attributes_text(attr),
        "inserted": subject["inserted"],
        "reference": is_slow_reference(name, implementation),
        "was_cached": subject["was_cached"],
    }


def _record(facts: dict[str, Any], row: tuple[Any, ...]) -> Record:
    _, begin, end, thread, queue, clock, submitted, started, finished = row
    return Record(
        **facts,
        begin=begin,
        host=end - begin,
        time=finished - started if clock else None,
        clock=clock,
        submitted=submitted,
        started=started,
        finished=finished,
        thread=thread,
        queue=None if queue < 0 else queue,
    )


# --- Summary


@dataclass(frozen=True)
class Summary:
    """Totals; times in milliseconds, shares of all executions between 0 and 1.

    Attributes
    ----------
    measure : str
        What shares refer to: execution ``"time"`` if any was measured, else ``"host"`` time.
    clocks : tuple of str
        Sources of times; see ``Record.clock``.
    executions : int
    time_ms, host_ms : float
        Total measured execution time, and total host time of submissions.
    inserted, inserted_ms, inserted_share
        Reorders that the package inserted.
    reference, reference_ms, reference_share
        Executions by oneDNN's slow reference implementations.
    dpnp, dpnp_ms, dpnp_share
        dpnp calls for what oneDNN lacks.
    created, cache_misses, creation_ms
        Primitives created, how many of them were not in oneDNN's cache (None if unknown), time.
    plan_misses, tracing_ms
        Calls that had to be traced first, and the time for that, including creation of primitives.
    dropped : int
        Number of records beyond the limit.
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
    """Return, by index, the time of executions nested in dpnp calls, to subtract from them."""
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
    """Return the measure, ``"time"`` or ``"host"``, and each record's contribution in ns.

    If executions were measured, only those count. dpnp calls exclude what is recorded inside.
    """
    measure = "time" if any(r.time is not None and r.is_execution for r in records) else "host"
    inner = _nested(records)
    matches = []
    for number, record in enumerate(records):
        spent = record.host if measure == "host" else record.time or 0
        is_split = record.kind == "dpnp" and spent
        matches.append(max(0, spent - inner.get(number, 0)) if is_split else spent)
    return measure, matches


def summarized(records: Sequence[Record], dropped: int = 0) -> Summary:
    """Return the totals of records."""
    measure, times = charged(records)
    runs = [(r, t) for r, t in zip(records, times, strict=True) if r.is_execution]
    total = sum(t for _, t in runs)

    def part(chosen: Iterable[int]) -> tuple[int, float, float]:
        times = list(chosen)
        return len(times), sum(times) / 1e6, sum(times) / total if total else 0.0

    created = [r for r in records if r.kind == "create"]
    traces = [r for r in records if r.kind == "trace"]
    is_known = all(r.was_cached is not None for r in created)
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
        sum(not r.was_cached for r in created) if is_known else None,
        sum(r.host for r in created) / 1e6,
        len(traces),
        _covered(traces) / 1e6,
        dropped,
    )


def _covered(traces: Sequence[Record]) -> int:
    """Return the time of traces, counting nested ones once."""
    ends: dict[int, int] = {}
    total = 0
    for trace in traces:
        end = trace.begin + trace.host
        if trace.begin >= ends.get(trace.thread, 0):
            total += trace.host
            ends[trace.thread] = end
    return total

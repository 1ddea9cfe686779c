# SPDX-License-Identifier: Apache-2.0
"""``profile``: records everything that is executed in a ``with`` block."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Any

from sycl_dnn import _core
from sycl_dnn.tools.profile import presentation
from sycl_dnn.tools.profile.records import Record, Summary, records_of, summarized


class Profile:
    """The records of a ``with`` block. Created by ``profile``.

    Records may be read inside the block too, and from several threads.

    Attributes
    ----------
    queues : list of dict
        Indexed by ``Record.queue``: device, and whether it is a CPU, in-order, and profiling.
    """

    def __init__(self, wait: bool, limit: int) -> None:
        self._recorder = _core.Recorder(limit, wait)
        self._wait = wait
        self._limit = limit
        self._state = "new"
        self._lock = threading.Lock()
        self._records: list[Record] = []
        self._threads: dict[int, str] = {}

    def __enter__(self) -> Profile:
        """Start recording."""
        with self._lock:
            if self._state != "new":
                raise RuntimeError("profile: a profile can be entered only once")
            self._state = "open"
        self._note_threads()
        self._recorder.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop recording. Records are kept; exceptions propagate."""
        self._recorder.stop()
        self._note_threads()
        self._state = "closed"

    def _note_threads(self) -> None:
        for thread in threading.enumerate():
            if thread.native_id is not None:
                self._threads[thread.native_id] = thread.name

    @property
    def records(self) -> list[Record]:
        """Records so far, in order of submission; waits for unfinished executions."""
        with self._lock:
            is_final = self._state == "closed"
            if self._records and self._state == "read":
                return list(self._records)
            self._recorder.settle()
            rows = self._recorder.records()
            self._records = records_of(self._recorder.subjects(), rows)
            if is_final:
                self._state = "read"
            return list(self._records)

    @property
    def dropped(self) -> int:
        """Number of records beyond the limit, which were discarded."""
        return self._recorder.dropped

    @property
    def queues(self) -> list[dict[str, Any]]:
        """Queues, indexed by ``Record.queue``."""
        return self._recorder.queues()

    @property
    def threads(self) -> dict[int, str]:
        """Names of threads that were alive at the start or end of the block, by id."""
        return dict(self._threads)

    @property
    def summary(self) -> Summary:
        """Totals: time, inserted reorders, reference implementations, cache misses."""
        return summarized(self.records, self.dropped)

    def table(self, group_by: str | Sequence[str] = "shape", top: int | None = None) -> str:
        """Return a table of grouped executions, longest first.

        Parameters
        ----------
        group_by : str or sequence of str
            ``"shape"`` (primitive, implementation, tensors and attributes), or attributes of
            ``Record``: ``"name"``, ``"implementation"``, ``"kind"``, ``"thread"``, ``"queue"``...
        top : int, optional
            Maximum number of groups; the rest become one line.

        Returns
        -------
        str
            Times in milliseconds, followed by lines about inserted reorders, reference
            implementations, cache misses and dropped records.

        Raises
        ------
        ValueError
            There is no such attribute.
        """
        return presentation.table(self.records, self.queues, self.dropped, group_by, top)

    def to_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write JSON for ``chrome://tracing`` or Perfetto, with a track per thread and queue."""
        events = presentation.trace_events(self.records, self.queues, self._threads)
        data = {"traceEvents": events, "displayTimeUnit": "ms"}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write summary, queues and records as JSON; record times are in nanoseconds."""
        data = {
            "summary": asdict(self.summary),
            "queues": self.queues,
            "threads": self._threads,
            "records": [r.as_dict() for r in self.records],
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Plot time by primitive, with the shares of inserted reorders and references.

        Parameters
        ----------
        path : path
            Output file; its extension determines the format.

        Raises
        ------
        ImportError
            matplotlib is not installed.
        """
        presentation.plot(self.records, path)

    def __repr__(self) -> str:
        state = {"new": "not entered", "open": "recording"}.get(self._state, "closed")
        return f"<Profile, {state}, wait={self._wait}, limit={self._limit}>"


def profile(*, wait: bool = False, limit: int = 100_000) -> Profile:
    """Record everything that the process executes inside a ``with`` block.

    Recorded are primitives of ``sycl_dnn.onednn``, ``functional``, compiled functions and plans,
    partitions of graphs, dpnp calls for what oneDNN lacks, creation of primitives, and tracing of
    functions, in all threads. Results do not change. Without an open block, the cost is one integer
    comparison per execution. Blocks may be nested or open in several threads: each records
    everything that runs while it is open.

    Parameters
    ----------
    wait : bool
        Wait for each execution in the process before the next, so that every one has a time. On
        queues without profiling, that is the time from submission to the end of the wait.
    limit : int
        Maximum number of records; the others are counted in ``dropped``.

    Returns
    -------
    Profile
        A context manager, readable inside the block or after it.

    Raises
    ------
    ValueError
        ``limit`` is not positive.

    Notes
    -----
    Execution times come from SYCL events if the queue was created with profiling:
    ``dpctl.SyclQueue("gpu", property="enable_profiling")``. The event is that of a primitive's last
    kernel, on the CPU device that of a host task. On other queues only the submission is timed,
    unless ``wait`` is set.

    Source: oneDNN developer guide, "Profiling oneDNN Performance"; SYCL 2020, "Profiling".

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> with sycl_dnn.profile(wait=True) as p:
    ...     y = F.conv2d(F.ones(1, 2, 8, 8), F.ones(4, 2, 3, 3))
    >>> print(p.table())  # doctest: +SKIP
    """
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise TypeError(f"profile: limit must be an integer, got {limit!r}")
    if limit <= 0:
        raise ValueError(f"profile: limit must be positive, got {limit}")
    return Profile(bool(wait), limit)

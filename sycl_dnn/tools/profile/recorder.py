# SPDX-License-Identifier: Apache-2.0
"""``profile``: records what is executed in a ``with`` block."""

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
    """What ran inside a ``with`` block. Created by ``profile``.

    Records may also be read inside the block, and from several threads.

    Attributes
    ----------
    queues : list of dict
        Indexed by ``Record.queue``: device, whether it is a CPU, in order, with profiling.
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
        """Stop recording. Records are kept, errors propagate."""
        self._recorder.stop()
        self._note_threads()
        self._state = "closed"

    def _note_threads(self) -> None:
        for thread in threading.enumerate():
            if thread.native_id is not None:
                self._threads[thread.native_id] = thread.name

    @property
    def records(self) -> list[Record]:
        """What has run so far, in order of submission; waits for unfinished executions."""
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
        """Number of records beyond the limit; nothing else is known about them."""
        return self._recorder.dropped

    @property
    def queues(self) -> list[dict[str, Any]]:
        """The queues that records refer to by index."""
        return self._recorder.queues()

    @property
    def threads(self) -> dict[int, str]:
        """Names of the threads that were alive at the start or end of the block, by number."""
        return dict(self._threads)

    @property
    def summary(self) -> Summary:
        """Totals: time, inserted reorders, reference implementations, cache misses."""
        return summarized(self.records, self.dropped)

    def table(self, group_by: str | Sequence[str] = "shape", top: int | None = None) -> str:
        """Return executions in groups, the longest first.

        Parameters
        ----------
        group_by : str or sequence of str
            ``"shape"`` (primitive, implementation, tensors and attributes), or attributes of
            ``Record``: ``"name"``, ``"implementation"``, ``"kind"``, ``"thread"``, ``"queue"``...
        top : int, optional
            Number of groups; the rest become one line.

        Returns
        -------
        str
            Milliseconds; lines about inserted reorders, reference implementations, cache misses
            and dropped records follow.

        Raises
        ------
        ValueError
            There is no such attribute.
        """
        return presentation.table(self.records, self.queues, self.dropped, group_by, top)

    def to_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write JSON for ``chrome://tracing`` or Perfetto: a track for each thread and queue."""
        events = presentation.trace_events(self.records, self.queues, self._threads)
        data = {"traceEvents": events, "displayTimeUnit": "ms"}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write summary, queues and records as JSON; times of records in nanoseconds."""
        data = {
            "summary": asdict(self.summary),
            "queues": self.queues,
            "threads": self._threads,
            "records": [r.as_dict() for r in self.records],
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw time by primitive, and the shares of inserted reorders and of references.

        Parameters
        ----------
        path : path
            The plot's file; its extension determines the format.

        Raises
        ------
        ImportError
            matplotlib is not installed.
        """
        presentation.plot(self.records, path)

    def __repr__(self) -> str:
        what = {"new": "not entered", "open": "recording"}.get(self._state, "closed")
        return f"<Profile, {what}, wait={self._wait}, limit={self._limit}>"


def profile(*, wait: bool = False, limit: int = 100_000) -> Profile:
    """Record every primitive that the process executes inside a ``with`` block.

    It records the primitives of ``sycl_dnn.onednn``, ``functional``, compiled functions and plans,
    partitions of graphs, calls of dpnp for what oneDNN lacks, the creation of primitives and the
    tracing of functions, from all threads. Results do not change. Without an open block the cost
    is one check of a number for each execution. Several blocks may be open, nested or in different
    threads: each records everything that runs while it is open.

    Parameters
    ----------
    wait : bool
        Complete each execution of the process before the next, so that each has a time on any
        queue. If the queue has no profiling, that time is from submission to the end of the wait.
    limit : int
        Maximum number of records that are kept; the rest are counted in ``dropped``.

    Returns
    -------
    Profile
        A context manager; read it inside the block or after it.

    Raises
    ------
    ValueError
        ``limit`` is not positive.

    Notes
    -----
    Times of execution come from SYCL's events if the queue was created with profiling:
    ``dpctl.SyclQueue("gpu", property="enable_profiling")``. The event is that of a primitive's
    last kernel. On the CPU device it is a task of the host. On other queues only the submission
    is timed, unless ``wait`` is set.

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

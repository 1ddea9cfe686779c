# SPDX-License-Identifier: Apache-2.0
"""Clocks: batches of submissions, timed from outside on a CPU, by the device on a GPU."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import dpctl

from sycl_dnn import onednn as dnnl

#: A batch is repeated until it takes this long, so that starting and waiting do not count.
_BATCH_SECONDS = 2e-3
_MIN_BATCHES = 5
_MAX_RUNS = 100_000

Batch = Callable[[int], float]


def stream_for(device: dpctl.SyclDevice) -> dnnl.Stream:
    """Return a stream whose runs follow each other; on a GPU, with events that have times.

    Parameters
    ----------
    device : dpctl.SyclDevice
    """
    properties = ["in_order"] if device.is_cpu else ["in_order", "enable_profiling"]
    queue = dpctl.SyclQueue(device, property=properties)
    return dnnl.Stream(dnnl.Engine(queue), queue)


def clock_of(stream: dnnl.Stream) -> str:
    """Return which clock is used: ``device`` where the queue has profiling, else ``host``."""
    return "device" if stream.sycl_queue.has_enable_profiling else "host"


def batches(stream: dnnl.Stream, primitive: Any, arguments: list[dict[str, Any]]) -> Batch:
    """Return a function that runs a batch of some length and returns seconds for one run.

    Parameters
    ----------
    stream : in order
    primitive : sycl_dnn.onednn.Primitive
    arguments : taken in turn

    Returns
    -------
    callable (int) -> float
        With the host's clock from the first submission to the end of the last run; with the
        device's, from the end of what was before to the end of the last run.
    """
    turns = itertools.cycle(arguments)
    queue = stream.sycl_queue

    def submit(count: int) -> None:
        for args in itertools.islice(turns, count):
            primitive.execute(stream, args)

    def by_host(count: int) -> float:
        start = time.perf_counter()
        submit(count)
        stream.wait()
        return (time.perf_counter() - start) / count

    def by_device(count: int) -> float:
        before = queue.submit_barrier()
        submit(count)
        after = queue.submit_barrier()
        stream.wait()
        after.wait()
        return (after.profiling_info_end - before.profiling_info_end) * 1e-9 / count

    return by_device if clock_of(stream) == "device" else by_host


def _length(batch: Batch, copies: int) -> int:
    """Return how many runs make a batch; the runs that find it out are the warm-up."""
    length = copies
    while length < _MAX_RUNS:
        seconds = max(batch(length), 1e-9)
        if seconds * length >= _BATCH_SECONDS:
            return length
        length = max(2 * length, int(_BATCH_SECONDS / seconds))
    return _MAX_RUNS


def samples(batch: Batch, copies: int, seconds: float, runs: int | None = None) -> list[float]:
    """Return seconds for one run, of one batch after another.

    Parameters
    ----------
    batch : see `batches`
    copies : number of argument sets; the warm-up uses each
    seconds : how long to go on, in s; at least 5 batches
    runs : run exactly so often after the warm-up, one run a batch, whatever the time

    Returns
    -------
    list of float
    """
    if runs is not None:
        batch(copies)
        return [batch(1) for _ in range(runs)]
    length = _length(batch, copies)
    found: list[float] = []
    end = time.perf_counter() + seconds
    while len(found) < _MIN_BATCHES or time.perf_counter() < end:
        found.append(batch(length))
    return found

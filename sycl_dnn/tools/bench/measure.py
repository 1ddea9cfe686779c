# SPDX-License-Identifier: Apache-2.0
"""Measurement of a case: preparation, timing, and counts of operations and bytes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import prod
from statistics import mean, median
from typing import Any

import dpctl
import numpy as np

from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import DnnlError
from sycl_dnn.tools.cases import data
from sycl_dnn.tools.cases.call import Call, memory_bytes
from sycl_dnn.tools.cases.case_files import Case
from sycl_dnn.tools.cases.driver import Refusal
from sycl_dnn.tools.cases.drivers import DRIVERS
from sycl_dnn.tools.cases.execution import Execution, from_forward, prepare
from sycl_dnn.trace.capabilities import cache_bytes

COLD = ("none", "wei", "all")
_MAX_COPIES = 256


@dataclass(frozen=True)
class Prepared:
    """A case that is ready to run.

    primitive : sycl_dnn.onednn.Primitive
    arguments : one dictionary of memories per copy; runs use them in turn
    create_ms : time to create descriptor and primitive
    """

    call: Call
    primitive: Any
    arguments: list[dict[str, Any]]
    impl: str
    create_ms: float


def _copies(nbytes: int, cold: str, device: Any) -> int:
    """Return the number of copies that exceed the caches twofold."""
    if cold == "none":
        return 1
    return min(max(2 * cache_bytes(device) // max(nbytes, 1) + 1, 2), _MAX_COPIES)


def _is_cold(name: str, cold: str) -> bool:
    return cold == "all" or "weights" in name


def ready(case: Case, stream: Any, cold: str = "none") -> Prepared:
    """Create, fill and run a case once.

    ``cold``: {"none", "wei", "all"}, which arguments must not be in the cache; enough copies are
    made to ensure that. Raises DnnlError if oneDNN refuses the case.
    """
    call, start = case.call(), time.perf_counter()
    pd, hint, _ = prepare(call, stream.engine)
    first = Execution(call, pd, stream, case.line)
    create_ms = (time.perf_counter() - start) * 1e3
    values: data.Arrays = {}
    workspace: dict[str, Any] = {}
    if call.forward is not None:
        values, workspace = from_forward(call.forward, hint, stream, case.line)
    first.arrays |= values
    first.run(workspace)
    changing = [buffer for name, buffer in first.buffers.items() if _is_cold(name, cold)]
    count = _copies(sum(buffer.nbytes for buffer in changing), cold, stream.sycl_queue.sycl_device)
    arguments = [first.args]
    while len(arguments) < count:
        execution = Execution(call, pd, stream, case.line)
        execution.arrays |= first.arrays
        execution.run(workspace)
        arguments.append(
            first.args | {n: m for n, m in execution.args.items() if _is_cold(n, cold)}
        )
    return Prepared(call, first.primitive, arguments, pd.impl_info, create_ms)


# --- Operation and byte counts

_WEIGHTS = ("weights_layer", "weights_iter", "weights_projection")


def _recurrent(call: Call) -> int:
    """Count the products of all cells: each weight is applied once per sample and step."""
    steps, batch = call.tensors["src_layer"].dims[:2]
    weights = sum(prod(call.tensors[n].dims) for n in _WEIGHTS if n in call.tensors)
    return steps * batch * weights * (2 if call.is_backward else 1)


def _dims(call: Call, name: str) -> tuple[int, ...]:
    """Return the shape of a tensor, or of its gradient if only that is part of the call."""
    return next(call.tensors[n].dims for n in (name, f"diff_{name}") if n in call.tensors)


def _windows(small: str, large: str) -> Callable[[Call], int]:
    """Return a function that counts products: windows on the large side, one per small pixel.

    Weights on padding do not count.
    """

    def count(call: Call) -> int:
        below, above, weights = (_dims(call, name) for name in (small, large, "weights"))
        rank = len(below) - 2
        sizes = zip(below[2:], above[2:], weights[-rank:], strict=True)
        result = below[0] * prod(weights[:-rank])
        for axis, (n_windows, size, kernel) in enumerate(sizes):
            step, hole, pad = (call.params[n][axis] for n in ("strides", "dilates", "padding_l"))
            starts = np.arange(n_windows) * step - pad
            meets = starts[:, None] + np.arange(kernel) * (hole + 1)
            result *= int(np.count_nonzero((meets >= 0) & (meets < size)))
        return result

    return count


#: Drivers whose reference computes more or less than the primitive.
_PRODUCTS = {
    "rnn": _recurrent,
    "conv": _windows("dst", "src"),
    "deconv": _windows("src", "dst"),
}


def operations(call: Call) -> int:
    """Return the number of additions and multiplications of a case, as benchdnn counts them.

    Products with padding do not count; 0 for drivers without products.
    """
    return 2 * _PRODUCTS.get(call.driver, DRIVERS[call.driver].operations)(call)


def bytes_moved(call: Call, arguments: dict[str, dict[str, Any]]) -> int:
    """Return the minimum number of bytes that a case reads and writes: each argument once."""
    sizes = {n: slot["desc"].size for n, slot in arguments.items() if n != "scratchpad"}
    twice = sizes.get("dst", 0) if data.needs_old_dst(call) else 0
    return sum(sizes.values()) + twice


# --- Timing: batches of submissions, by host clock on a CPU, by device events on a GPU

#: Minimum duration of a batch, so that starting and waiting are negligible.
_BATCH_SECONDS = 2e-3
_MIN_BATCHES = 5
_MAX_RUNS = 100_000

Batch = Callable[[int], float]


def stream_for(device: dpctl.SyclDevice) -> dnnl.Stream:
    """Return an in-order stream; on a GPU, with profiling."""
    properties = ["in_order"] if device.is_cpu else ["in_order", "enable_profiling"]
    queue = dpctl.SyclQueue(device, property=properties)
    return dnnl.Stream(dnnl.Engine(queue), queue)


def clock_of(stream: dnnl.Stream) -> str:
    """Return the clock in use: ``device`` if the queue has profiling, else ``host``."""
    return "device" if stream.sycl_queue.has_enable_profiling else "host"


def batches(stream: dnnl.Stream, primitive: Any, arguments: list[dict[str, Any]]) -> Batch:
    """Return a function that runs a batch of a given length and returns seconds per run.

    By the host clock from the first submission to the end of the last run; by the device clock from
    the end of previous work to the end of the last run.
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
    """Return the number of runs per batch; the runs that determine it are the warm-up."""
    length = copies
    while length < _MAX_RUNS:
        seconds = max(batch(length), 1e-9)
        if seconds * length >= _BATCH_SECONDS:
            return length
        length = max(2 * length, int(_BATCH_SECONDS / seconds))
    return _MAX_RUNS


def samples(batch: Batch, copies: int, seconds: float, runs: int | None = None) -> list[float]:
    """Yield seconds per run, one batch at a time."""
    if runs is not None:
        batch(copies)
        return [batch(1) for _ in range(runs)]
    length = _length(batch, copies)
    results: list[float] = []
    end = time.perf_counter() + seconds
    while len(results) < _MIN_BATCHES or time.perf_counter() < end:
        results.append(batch(length))
    return results


# --- Measuring a case


@dataclass(frozen=True)
class Settings:
    """Measurement settings.

    seconds : per case
    runs : exact number of runs
    cold : ``none``, ``wei`` or ``all``, see `sycl_dnn.tools.bench.measure.ready`
    max_memory : bytes, on device and host; cases that need more are refused
    """

    seconds: float = 1.0
    runs: int | None = None
    cold: str = "none"
    max_memory: int = 4 << 30


@dataclass(frozen=True)
class Figures:
    """The measurement of a case, or the reason why there is none.

    flops : operations per run; 0 for drivers without products
    nbytes : minimum bytes read and written per run
    min_ms, avg_ms, median_ms, max_ms : per run, over the batches
    clock : ``host`` or ``device``
    refusal : reason why there are no figures
    """

    driver: str
    line: str
    name: str = ""
    impl: str = ""
    create_ms: float = 0.0
    flops: int = 0
    nbytes: int = 0
    min_ms: float = 0.0
    avg_ms: float = 0.0
    median_ms: float = 0.0
    max_ms: float = 0.0
    batches: int = 0
    clock: str = ""
    refusal: str = ""

    def gflops(self, ms: float) -> float:
        """Return GFLOP/s for a time in ms."""
        return self.flops / ms * 1e-6 if ms > 0 else 0.0

    def bandwidth(self, ms: float) -> float:
        """Return GB/s for a time in ms."""
        return self.nbytes / ms * 1e-6 if ms > 0 else 0.0

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / max(self.nbytes, 1)

    def as_dict(self) -> dict[str, Any]:
        """Return fields and rates by name."""
        rates = {"gflops": self.gflops(self.min_ms), "gbytes": self.bandwidth(self.min_ms)}
        return asdict(self) | rates


def _name(case: Case) -> str:
    return case.problem.partition("_n")[2].strip('"')


def _figures(case: Case, prepared: Prepared, times: list[float], clock: str) -> Figures:
    ms = [1e3 * t for t in times]
    return Figures(
        case.driver,
        case.line,
        _name(case),
        prepared.impl,
        prepared.create_ms,
        operations(prepared.call),
        bytes_moved(prepared.call, prepared.primitive.arguments),
        *(min(ms), mean(ms), median(ms), max(ms)),
        len(ms),
        clock,
    )


def measure(case: Case, stream: Any, settings: Settings = Settings()) -> Figures:  # noqa: B008
    """Measure one case.

    ``stream``: see `sycl_dnn.tools.bench.measure.stream_for`. Without times, and with ``refusal``,
    if the case is refused or needs too much memory.
    """
    needed = memory_bytes(case.call())
    if needed > settings.max_memory:
        why = f"a case must need at most {settings.max_memory} bytes, this one {needed}"
        return Figures(case.driver, case.line, _name(case), refusal=why)
    try:
        prepared = ready(case, stream, settings.cold)
    except (DnnlError, Refusal) as error:
        why = str(error.args[0] if error.args else error).split("\n")[0]
        return Figures(case.driver, case.line, _name(case), refusal=why)
    batch = batches(stream, prepared.primitive, prepared.arguments)
    times = samples(batch, len(prepared.arguments), settings.seconds, settings.runs)
    return _figures(case, prepared, times, clock_of(stream))

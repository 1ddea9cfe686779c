# SPDX-License-Identifier: Apache-2.0
"""One case from text to figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import Any

from sycl_dnn.bench import work
from sycl_dnn.bench.prepare import Prepared, ready
from sycl_dnn.bench.timing import batches, clock_of, samples
from sycl_dnn.errors import DnnlError
from sycl_dnn.verify.cases import Case
from sycl_dnn.verify.errors import Failure
from sycl_dnn.verify.extra import memory_bytes


@dataclass(frozen=True)
class Settings:
    """How to measure.

    seconds : for each case
    runs : exactly so many runs instead
    cold : ``none``, ``wei`` or ``all``, see `sycl_dnn.bench.prepare.ready`
    max_memory : bytes, on device and host; a case that needs more is refused
    """

    seconds: float = 1.0
    runs: int | None = None
    cold: str = "none"
    max_memory: int = 4 << 30


@dataclass(frozen=True)
class Figures:
    """What was measured, or why it was not.

    flops : operations of one run; 0 for drivers that are not products
    nbytes : bytes that one run reads and writes at least
    min_ms, avg_ms, median_ms, max_ms : of one run, over the batches
    clock : ``host`` or ``device``
    refusal : why there are no figures
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
        """Return 10**9 operations a second, for a time in ms."""
        return self.flops / ms * 1e-6 if ms > 0 else 0.0

    def bandwidth(self, ms: float) -> float:
        """Return 10**9 bytes a second, for a time in ms."""
        return self.nbytes / ms * 1e-6 if ms > 0 else 0.0

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.flops / max(self.nbytes, 1)

    def as_dict(self) -> dict[str, Any]:
        """Return fields and rates by name."""
        rates = {"gflops": self.gflops(self.min_ms), "gbytes": self.bandwidth(self.min_ms)}
        return asdict(self) | rates


def _name(case: Case) -> str:
    return case.problem.partition("_n")[2].strip('"')


def _figures(case: Case, one: Prepared, times: list[float], clock: str) -> Figures:
    ms = [1e3 * t for t in times]
    return Figures(
        case.driver,
        case.line,
        _name(case),
        one.impl,
        one.create_ms,
        work.operations(one.call),
        work.bytes_moved(one.call, one.primitive.arguments),
        *(min(ms), mean(ms), median(ms), max(ms)),
        len(ms),
        clock,
    )


def measure(case: Case, stream: Any, settings: Settings = Settings()) -> Figures:  # noqa: B008
    """Measure one case.

    Parameters
    ----------
    case : Case
    stream : sycl_dnn.onednn.Stream
        See `sycl_dnn.bench.timing.stream_for`.
    settings : Settings

    Returns
    -------
    Figures
        Without times, and with ``refusal``, where oneDNN or the memory refuses the case.
    """
    needed = memory_bytes(case.call())
    if needed > settings.max_memory:
        why = f"a case must need at most {settings.max_memory} bytes, this one {needed}"
        return Figures(case.driver, case.line, _name(case), refusal=why)
    try:
        one = ready(case, stream, settings.cold)
    except (DnnlError, Failure) as error:
        why = str(error.args[0] if error.args else error).split("\n")[0]
        return Figures(case.driver, case.line, _name(case), refusal=why)
    batch = batches(stream, one.primitive, one.arguments)
    times = samples(batch, len(one.arguments), settings.seconds, settings.runs)
    return _figures(case, one, times, clock_of(stream))

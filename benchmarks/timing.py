# SPDX-License-Identifier: Apache-2.0
"""Fair timing: alternating blocks of runs, their summary, and a description of the machine."""

from __future__ import annotations

import dataclasses
import importlib.metadata as metadata
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

__all__ = ["Runner", "Summary", "alternate", "describe_machine", "print_table", "summary"]

PACKAGES = ("sycl_dnn", "dpctl", "dpnp", "numpy", "onednn", "intel-sycl-rt", "torch")
Runner = Callable[[int], list[float]]


def alternate(
    runners: Mapping[str, Runner], blocks: int, per_block: int, warm_up: int = 1
) -> dict[str, list[float]]:
    """Run blocks of each runner in turn.

    Parameters
    ----------
    runners : mapping of str to callable
        A runner performs the given number of runs and returns their times.
    blocks, per_block : int
        Number of blocks of each runner, and of timed runs in a block.
    warm_up : int
        Runs at the start of each block whose times are dropped, since caches have others' data.

    Returns
    -------
    dict of str to list of float
        ``blocks * per_block`` times of each runner, in the runner's unit, in order of time.
    """
    times: dict[str, list[float]] = {name: [] for name in runners}
    for block in range(blocks):
        # The order alternates, so that a drift of the clock rate favors neither side.
        order = list(runners) if block % 2 == 0 else list(reversed(runners))
        for name in order:
            times[name] += runners[name](warm_up + per_block)[warm_up:]
    return times


@dataclasses.dataclass(frozen=True)
class Summary:
    """Median, smallest and largest time, and the ratio to the base's time."""

    median: float
    low: float
    high: float
    ratio: float


def summary(
    times: Mapping[str, Sequence[float]], base: str, per_block: int = 1
) -> dict[str, Summary]:
    """Summarize what `alternate` returned.

    The ratio is the median over the blocks of (median of the block / median of the base's adjacent
    block): other load on the machine varies, and adjacent blocks share it.
    """

    def block_medians(name: str) -> list[float]:
        all_times = times[name]
        starts = range(0, len(all_times), per_block)
        return [statistics.median(all_times[start : start + per_block]) for start in starts]

    def one(name: str) -> Summary:
        pairs = zip(block_medians(name), block_medians(base), strict=True)
        ratio = statistics.median(own / other for own, other in pairs)
        return Summary(statistics.median(times[name]), min(times[name]), max(times[name]), ratio)

    return {name: one(name) for name in times}


def print_table(title: str, rows: Mapping[str, Summary], unit: str) -> None:
    """Print one line for each runner: median, range, and ratio to the base."""
    width = max(len(name) for name in rows)
    print(f"\n{title}, {unit}")
    print(f"  {'':{width}}   median  [     min -      max]   ratio")
    for name, row in rows.items():
        spread = f"[{row.low:8.3f} - {row.high:8.3f}]"
        print(f"  {name:{width}} {row.median:8.3f}  {spread}  {row.ratio:6.3f}")


# --- the machine ---------------------------------------------------------------------------------


def cpu_model() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def version_of(package: str) -> str | None:
    """Installed version of ``package``, None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def describe_machine() -> str:
    """Describe CPU, load, the setting that affects the dispatch cost, and versions, in lines."""
    versions = ((package, version_of(package)) for package in PACKAGES)
    pool = os.environ.get("SYCL_QUEUE_THREAD_POOL_SIZE", "unset")
    available = len(os.sched_getaffinity(0))
    return "\n".join(
        (
            f"CPU: {cpu_model()}, {available} available, load {os.getloadavg()[0]:.1f}",
            f"SYCL_QUEUE_THREAD_POOL_SIZE: {pool}",
            f"Python {platform.python_version()}, "
            + ", ".join(f"{package} {version}" for package, version in versions if version),
        )
    )

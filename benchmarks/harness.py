# SPDX-License-Identifier: Apache-2.0
"""Fair timing of Python against C++ twins: compile, talk to, alternate, sum up.

A twin is a program of ``benchmarks/cpp`` that makes the same oneDNN calls as a Python benchmark.
It sets up once and then obeys commands on stdin (``cpp/protocol.hpp`` lists them), so that blocks
of runs can alternate between the two processes while the other one is asleep.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata as metadata
import json
import os
import platform
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

__all__ = [
    "Summary",
    "Twin",
    "alternate",
    "checksum",
    "compile_twin",
    "describe_machine",
    "difference",
    "print_table",
    "summary",
    "values",
]

SOURCES = Path(__file__).resolve().parent / "cpp"
FLAGS = ("-std=c++17", "-O2")
PACKAGES = ("sycl_dnn", "dpctl", "dpnp", "numpy", "onednn", "intel-sycl-rt", "torch")


# --- compiling -----------------------------------------------------------------------------------


def find_file(distribution: str, tail: str) -> Path:
    """Path of the installed file of ``distribution`` whose path ends with ``tail``."""
    for file in metadata.files(distribution) or ():
        if file.as_posix().endswith(tail):
            return Path(os.path.abspath(file.locate()))
    raise FileNotFoundError(f"{tail} not found in the package {distribution}")


def compiler() -> str:
    """Path of the C++ compiler: ``$CXX``, else g++."""
    wanted = os.environ.get("CXX", "g++")
    found = shutil.which(wanted)
    if found is None:
        raise FileNotFoundError(f"compile_twin: no C++17 compiler: {wanted} not found; set $CXX")
    return found


def compiler_arguments() -> tuple[list[str], list[str]]:
    """Arguments before and after the source file: flags and headers, libraries and their path."""
    headers = {
        find_file("onednn-devel", "include/oneapi/dnnl/dnnl.hpp").parents[2],
        find_file("intel-sycl-rt", "include/sycl/sycl.hpp").parents[1],
    }
    libraries = {
        find_file("onednn", "/libdnnl.so").parent,
        find_file("intel-sycl-rt", "/libsycl.so").parent,
    }
    before = [*FLAGS, *(f"-isystem{path}" for path in sorted(headers))]
    # An RPATH, unlike a RUNPATH, also serves the libraries that libdnnl needs.
    after = [f"-L{path}" for path in sorted(libraries)]
    after += ["-ldnnl", "-lsycl", "-pthread", "-Wl,--disable-new-dtags"]
    after += [f"-Wl,-rpath,{path}" for path in sorted(libraries)]
    return before, after


def cache_folder() -> Path:
    """Make the user's own folder for compiled twins below the system's temporary folder."""
    folder = Path(tempfile.gettempdir()) / f"sycl_dnn-twins-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"compile_twin: {folder} belongs to somebody else")
    return folder


def compile_twin(name: str) -> Path:
    """Compile ``cpp/<name>.cpp`` unless that was done before; give the path of the program."""
    source = SOURCES / f"{name}.cpp"
    before, after = compiler_arguments()
    cxx = compiler()
    key = hashlib.sha256(repr((before, after, metadata.version("onednn-devel"))).encode())
    key.update(subprocess.run([cxx, "--version"], check=True, capture_output=True).stdout)
    for part in (source, *sorted(SOURCES.glob("*.hpp"))):
        key.update(part.read_bytes())
    program = cache_folder() / f"{name}-{key.hexdigest()[:16]}"
    if not program.exists():
        fresh = program.with_suffix(f".{os.getpid()}")
        subprocess.run([cxx, *before, str(source), "-o", str(fresh), *after], check=True)
        fresh.replace(program)
    return program


# --- talking to a twin ---------------------------------------------------------------------------


def opencl_cpu_driver() -> dict[str, str]:
    """Environment that makes the CPU device of the pip wheels visible; empty where it is already.

    The same driver under two names would give two devices.
    """
    listed = os.environ.get("OCL_ICD_FILENAMES", "")
    vendors = Path(os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors"))
    registered = [icd.read_text() for icd in vendors.glob("*.icd")]
    if any("libintelocl" in text for text in (listed, *registered)):
        return {}
    try:
        driver = find_file("intel-opencl-rt", "/libintelocl.so")
    except metadata.PackageNotFoundError:
        return {}
    return {"OCL_ICD_FILENAMES": os.pathsep.join(filter(None, (str(driver), listed)))}


class Twin:
    """A running twin; use it in a ``with`` statement.

    Parameters
    ----------
    name : str
        Name of the program, as for `compile_twin`.
    device : {"cpu", "gpu"}
    *options : str
        Words of the program's command line, such as ``"bf16"`` or ``"in_order"``.
    env : mapping, optional
        Environment variables to add to those of this process.
    """

    def __init__(
        self, name: str, device: str = "cpu", *options: str, env: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self._command = [str(compile_twin(name)), device, *options]
        self._environment = {**os.environ, **opencl_cpu_driver(), **(env or {})}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Twin:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environment,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        process, self._process = self._process, None
        try:
            process.communicate("quit\n", timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    @property
    def pid(self) -> int:
        """Number of the running process."""
        if self._process is None:
            raise RuntimeError(f"{self.name}: not started; use it in a with statement")
        return self._process.pid

    def ask(self, *words: object) -> dict:
        """Send one command and wait for its reply; a reported failure becomes RuntimeError."""
        process = self._process
        if process is None:
            raise RuntimeError(f"{self.name}: not started; use it in a with statement")
        try:
            process.stdin.write(" ".join(map(str, words)) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # the reason, if it left one, is still to be read
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: ended with code {process.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            raise RuntimeError(f"{self.name}: {reply['error']}")
        return reply

    def info(self) -> dict:
        """Program, device, versions and, under ``"steps"``, the implementation of each step."""
        return self.ask("info")

    def check(self) -> dict[str, list[float]]:
        """`checksum` of every output after one step."""
        return self.ask("check")

    def run(self, count: int, *policy: float) -> list[float]:
        """Time ``count`` training steps, in ms each; ``policy``: drain, poll time in us."""
        return self.ask("run", count, *policy)["ms"]

    def chain(self, operation: str, count: int, *policy: float) -> float:
        """Time a chain of ``count`` calls, in us per call; ``policy``: drain, poll time in us."""
        return self.ask("chain", operation, count, *policy)["us"]

    def each(self, operation: str, count: int, poll_us: float = 0) -> float:
        """Time ``count`` calls with a wait after each, in us per call."""
        return self.ask("each", operation, count, poll_us)["us"]


# --- the same work on both sides -----------------------------------------------------------------


def values(shape: Sequence[int], seed: int, scale: float = 1.0) -> np.ndarray:
    """Float32 test values in [-scale, scale), equal to ``value`` of ``cpp/floor.hpp``."""
    index = np.arange(np.prod(shape, dtype=np.int64), dtype=np.uint32)
    mixed = index * np.uint32(2654435761) + np.uint32(seed * 40503 & 0xFFFFFFFF)
    mixed ^= mixed >> 15
    mixed *= np.uint32(739982445)
    mixed ^= mixed >> 12
    centred = ((mixed >> 8) & 0xFFFF).astype(np.float32) - 32768
    return (centred / 32768 * np.float32(scale)).astype(np.float32).reshape(shape)


def checksum(array: np.ndarray) -> list[float]:
    """Sum, sum of magnitudes, and scalar product with ``values(shape, 99)``, in float64."""
    flat = np.asarray(array, dtype=np.float64).reshape(-1)
    weights = values(flat.shape, 99).astype(np.float64)
    return [float(flat.sum()), float(np.abs(flat).sum()), float(flat @ weights)]


def difference(first: Mapping[str, list[float]], second: Mapping[str, list[float]]) -> float:
    """Largest difference of two sets of checksums, relative to the sum of magnitudes."""
    if first.keys() != second.keys():
        raise ValueError(f"difference: outputs differ: {sorted(first)} and {sorted(second)}")
    worst = 0.0
    for name, sums in first.items():
        gap = max(abs(a - b) for a, b in zip(sums, second[name], strict=True))
        worst = max(worst, gap / sums[1] if sums[1] else gap)
    return worst


# --- timing --------------------------------------------------------------------------------------

Runner = Callable[[int], list[float]]


def alternate(
    runners: Mapping[str, Runner], blocks: int, per_block: int, warm_up: int = 1
) -> dict[str, list[float]]:
    """Run blocks of each runner in turn.

    Parameters
    ----------
    runners : mapping of str to callable
        A runner makes the number of runs that it is given and returns their times.
    blocks, per_block : int
        Number of blocks of each runner, and of timed runs in a block.
    warm_up : int
        Runs at the start of each block whose times are dropped: the caches hold the other's data.

    Returns
    -------
    dict of str to list of float
        ``blocks * per_block`` times of each runner, in the runner's unit, in order of time.
    """
    times: dict[str, list[float]] = {name: [] for name in runners}
    for block in range(blocks):
        # Who goes first changes, so that a drift of the clock rate favours nobody.
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
    """Sum up what `alternate` returned.

    The ratio is the median over the blocks of (median of the block / median of the base's block
    next to it): other load on the machine comes and goes, and neighbours share it.
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
    """Print one line per runner: median, range, and ratio to the base."""
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
    """Installed version of ``package``, None where it is absent."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def describe_machine() -> str:
    """Describe CPU, load, the setting that changes the dispatch cost, and versions, in lines."""
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

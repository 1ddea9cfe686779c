# SPDX-License-Identifier: Apache-2.0
"""C++ twins of the benchmarks: start one, communicate with it, compare its results.

A twin is a program of ``benchmarks/cpp`` that makes the same oneDNN calls as a Python benchmark.
It sets up once and then executes commands from stdin (``cpp/protocol.hpp`` lists them), so that
blocks of runs can alternate between the two processes while the other one sleeps.
"""

from __future__ import annotations

import importlib.metadata as metadata
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from compile_twin import compile_twin, find_file

__all__ = ["Twin", "checksum", "difference", "values"]


def opencl_cpu_driver() -> dict[str, str]:
    """Environment that makes the CPU device of the pip wheels visible; empty if it already is.

    The same driver under two names would appear as two devices.
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
        Arguments of the program's command line, such as ``"bf16"`` or ``"in_order"``.
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
            pass  # its reason, if any, is still to be read
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

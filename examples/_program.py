# SPDX-License-Identifier: Apache-2.0
"""What the training programs share: options, timing, comparison."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from _common import make_parser, print_implementations


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with the common options of training programs; ``--help`` shows ``doc``."""
    p = make_parser(doc)
    p.description = doc
    p.formatter_class = argparse.RawDescriptionHelpFormatter
    p.add_argument(
        "--steps", type=int, default=10, help="timed training steps, of 20 s at most (default: 10)"
    )
    return p


def train(network: Any, steps: int) -> None:
    """Run one step to warm up and ``steps`` timed ones; print times, and known implementations."""
    print_implementations(getattr(network, "implementations", ()))
    network.step()
    times: list[float] = []
    while len(times) < steps and sum(times) < 20e3:
        start = time.perf_counter()
        network.step()
        times.append(1e3 * (time.perf_counter() - start))
    if times:
        print(
            f"{statistics.median(times):.1f} ms per step, "
            f"median of {len(times)}; {min(times):.1f} min"
        )


def compare(
    outputs: Mapping[str, Any], expected: Mapping[str, np.ndarray], tolerance: float
) -> None:
    """Compare each output with NumPy's by relative Euclidean error; exit if it is too large."""
    failed = False
    for name, array in outputs.items():
        difference = array.asnumpy().astype("f8") - expected[name]
        error = np.linalg.norm(difference) / np.linalg.norm(expected[name])
        good = error <= tolerance  # false for a nan
        failed |= not good
        print(f"  {name:20} error {error:.1e} {'ok' if good else 'TOO BIG'}")
    if failed:
        sys.exit(f"results differ from NumPy's by more than {tolerance:g}")
    print(f"results are NumPy's within {tolerance:g}")

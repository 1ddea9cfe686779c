# SPDX-License-Identifier: Apache-2.0
"""How long the driver takes to compile kernels, one by one and together.

    SYCL_DNN_KERNELS_DIR=folder python program.py       # writes the modules of a program's kernels
    python benchmarks/kernel_builds.py folder

The kernels of a compiled function are compiled together. The first build of a process takes longer
by what the driver needs to begin, so a module is compiled before anything is measured.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

os.environ["SYCL_DNN_INTERPRET"] = "never"

import sycl_dnn
from sycl_dnn import _core


def built(modules: dict[str, bytes]) -> float:
    """Return the milliseconds in which the driver compiles modules together."""
    queue, kept = sycl_dnn.default_queue("cpu"), []
    start = time.perf_counter()
    kernels = [
        _core.Kernel(
            _core.ProgramBuild(queue, module, lambda build: ("", b""), lambda *a: kept.append(a)),
            name, (), 1, 1,
        )
        for name, module in modules.items()
    ]  # fmt: skip
    _core.Kernel.start_together(kernels, [0] * len(kernels))
    while sum(len(keys) for keys, _ in kept) < len(kernels):
        time.sleep(1e-3)
        _core.Kernel.start_together([], [])  # what is done is kept
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    """Compile the modules of a folder; print their sizes and times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    files = sorted(parser.parse_args().folder.glob("*.spv"), key=lambda p: p.stat().st_size)
    modules = {path.stem: path.read_bytes() for path in files}
    first = built(dict(list(modules.items())[:1]))
    single = [built({name: module}) for name, module in modules.items()]
    n_bytes = sum(map(len, modules.values()))
    print(f"{len(modules)} modules, {n_bytes >> 10} KB; the smallest, first: {first:.0f} ms")
    print(f"one by one: {sum(single):.0f} ms, each {min(single):.0f} to {max(single):.0f}")
    print(f"together: {built(modules):.0f} ms")


if __name__ == "__main__":
    main()

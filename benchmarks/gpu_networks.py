# SPDX-License-Identifier: Apache-2.0
"""Count what a call of each network requires of a GPU: kernels, copies, waits, memory.

It writes the tables of a page. Each network runs on simulated GPUs (tests/simulated_gpu.sh), which
execute nothing; the counts do not depend on values. Times are not measured.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT / "benchmarks")]

import page_tables  # noqa: E402
from driver_calls import mark, traced  # noqa: E402

PAGE = ROOT / "docs" / "gpu_networks.md"
GPUS = {"arc": "Arc A770", "dg1": "DG1", "tgl": "Tiger Lake"}
NETWORKS = ("resnet50-1", "bert-128", "gpt-step", "mobilenetv3-1", "unet-256")


def measure(name: str, *, tiny: bool, compiled_alone: bool) -> dict[str, Any]:
    """Call a network and mark the phases for the trace; return what it reports about itself."""
    import dpnp
    from models import zoo

    import sycl_dnn

    entry = (zoo.TINY if tiny else zoo.ENTRIES)[name]
    queue = sycl_dnn.default_queue("gpu")

    def put(value: Any) -> Any:
        if isinstance(value, list):
            return [put(v) for v in value]
        return dpnp.asarray(value, sycl_queue=queue)

    parameters = {n: put(v) for n, v in entry.parameters().items()}
    arrays = [put(v) for v in entry.arrays()]

    def network(*inputs: Any) -> Any:
        return entry.function(parameters, *inputs)

    compiled = sycl_dnn.compile(network)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forms = {"compiled": compiled, "operations": network}
        if compiled_alone:
            del forms["operations"]
        for phase, function in forms.items():
            function(*arrays)
            function(*arrays)
            queue.wait()
            mark(phase)
            function(*arrays)
            mark(f"after {phase}")
            queue.wait()
    told = compiled.explain(*arrays)
    return {
        "steps": told.n_steps,
        "reorders": told.n_reorders,
        "reference": [f"{p.row} {p.implementation}" for p in told.slow],
        "fallbacks": [str(w.message) for w in caught if w.category is sycl_dnn.FallbackWarning],
        "planned_bytes": told.arena_bytes,
        "constant_bytes": told.constant_bytes,
    }


def counted(name: str, *options: str) -> dict[str, Any]:
    """Return what a network reports and what was counted, from a separate process."""
    phases, text = traced(__file__, "--measure", name, *options, timeout=3000)
    return json.loads(text.splitlines()[-1]) | {
        phase: dataclasses.asdict(asked) for phase, asked in phases.items()
    }


def _rows(record: dict[str, Any], cells: Any) -> list[list[Any]]:
    return [
        [network, GPUS[gpu], *cells(record[f"{network} {gpu}"])]
        for network in NETWORKS
        for gpu in GPUS
    ]


def tables(record: dict[str, Any]) -> dict[str, str]:
    """Return the tables of the page."""
    asked = lambda a: [a["kernels"], a["copies"], a["waits"]]  # noqa: E731
    cells = {
        "compiled": lambda r: [
            r["steps"], r["reorders"], *asked(r["compiled"]), len(r["fallbacks"]),
            len(r["reference"]),
        ],
        "operations": lambda r: asked(r["operations"]),
        "memory": lambda r: [
            f"{nbytes / 2**20:.1f}"
            for nbytes in (r["planned_bytes"], r["constant_bytes"], r["operations"]["peak_bytes"])
        ],
    }  # fmt: skip
    heads = {
        "compiled": ["steps", "reorders", "kernels", "copies", "waits", "fallbacks", "reference"],
        "operations": ["kernels", "copies", "waits"],
        "memory": ["planned", "constants", "peak"],
    }
    return {
        name: page_tables.table(["network", "GPU", *head], _rows(record, cells[name]), len(head))
        for name, head in heads.items()
    }  # fmt: skip


def _on_simulated(gpu: str, name: str) -> dict[str, Any]:
    script = str(ROOT / "tests" / "simulated_gpu.sh")
    command = [script, "--gpu", gpu, "--backend", "level_zero", sys.executable, __file__]
    done = subprocess.run([*command, "--counted", name], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} on {gpu}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure all networks on all GPUs, and write the tables of the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--counted", help=argparse.SUPPRESS)
    parser.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--compiled-alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        asked = {"tiny": options.tiny, "compiled_alone": options.compiled_alone}
        print(json.dumps(measure(options.measure, **asked)), flush=True)
        os._exit(0)  # the simulated driver may abort at exit
    if options.counted:
        print(json.dumps(counted(options.counted)))
        return
    pairs = [(name, gpu) for name in NETWORKS for gpu in GPUS]
    record = {f"{name} {gpu}": _on_simulated(gpu, name) for name, gpu in pairs}
    page_tables.write(PAGE, **tables(record))


if __name__ == "__main__":
    main()

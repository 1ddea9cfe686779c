# SPDX-License-Identifier: Apache-2.0
"""Count what a call of each network requires of a GPU: kernels, copies, waits, memory.

It writes a page. Each network runs on simulated GPUs (tests/simulated_gpu.sh), which execute
nothing; the counts do not depend on values. Times are not measured.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT / "benchmarks")]

from driver_calls import mark, traced  # noqa: E402

PAGE = ROOT / "docs" / "gpu_networks.md"
GPUS = {"arc": "Arc A770", "dg1": "DG1", "tgl": "Tiger Lake"}
NETWORKS = ("resnet50-1", "bert-128", "gpt-step", "mobilenetv3-1", "unet-256")
HEAD = """# Networks on GPUs: kernels, waits, memory

What one call of each network requests from the driver, after it was compiled and called before.
**Nothing was executed and no time was measured**: the GPUs are simulated (`tests/simulated_gpu.sh
--backend level_zero`), oneDNN chooses as it would for the real ones, and calls are counted in
SYCL's trace of the driver. `tests/gpu/test_host_waits_on_gpu.py` has the bounds. Written by

    python benchmarks/gpu_networks.py

Each network was run on each GPU of `tests/simulated_gpu.sh`.
[Implementations on GPUs](gpu_dispatch.md) has the same for single functions.

"""
COMPILED = """## Compiled

`sycl_dnn.compile` in float32. *Steps* were planned, *kernels* were launched: oneDNN
splits some steps. *Copies* are memory operations on the queue, *waits* are calls in which the host
waits for the device between the input and the result. *Fallbacks* ran on the CPU or in another
dtype; *reference* steps have only oneDNN's slow implementation: four pools of MobileNetV3.
On DG1 and Tiger Lake a product in float32 with a bias is two kernels (`ocl:with_po`), on Arc one.
The three reorders of each layer of BERT separate the heads: some of oneDNN's kernels misread
interleaved matrices, and the machine code for GPUs could not be checked.

"""
OPERATIONS = """
## Operation by operation

The same networks called without `compile`. In GPT the waits are those of dpnp's own `+` of arrays,
two in each layer; those of other networks were not examined. They vary by one from run to run.

"""
MEMORY = """
## Memory

MiB. *Planned*: intermediate values of a call, including scratchpads. *Constants*: values computed
from the parameters. *Peak*: the most memory that the process had allocated at the same time:
parameters, constants, inputs, and what calls in both forms need.

"""
IMPLEMENTATIONS = """
## Implementations

Number of steps of the compiled network by implementation.

"""


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
        "implementations": Counter(f"{p.row} {p.implementation}" for p in told.parts),
    }


def counted(name: str, *options: str) -> dict[str, Any]:
    """Return what a network reports and what was counted, from a separate process."""
    phases, text = traced(__file__, "--measure", name, *options, timeout=3000)
    return json.loads(text.splitlines()[-1]) | {
        phase: dataclasses.asdict(asked) for phase, asked in phases.items()
    }


def _table(head: str, rows: list[list[Any]]) -> str:
    columns = head.split(" | ")
    lines = [head, " | ".join(["---"] * 2 + ["--:"] * (len(columns) - 2))]
    lines += [" | ".join(map(str, row)) for row in rows]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def _rows(record: dict[str, Any], cells: Any) -> list[list[Any]]:
    return [
        [network, GPUS[gpu], *cells(record[f"{network} {gpu}"])]
        for network in NETWORKS
        for gpu in GPUS
    ]


def _mib(nbytes: int) -> str:
    return f"{nbytes / 2**20:.1f}"


def page(record: dict[str, Any]) -> str:
    """Return the page of a record."""
    asked = lambda a: [a["kernels"], a["copies"], a["waits"]]  # noqa: E731
    compiled = _rows(
        record,
        lambda r: [
            r["steps"], r["reorders"], *asked(r["compiled"]), len(r["fallbacks"]),
            len(r["reference"]),
        ],
    )  # fmt: skip
    memory = _rows(
        record,
        lambda r: [
            _mib(r["planned_bytes"]),
            _mib(r["constant_bytes"]),
            _mib(r["operations"]["peak_bytes"]),
        ],
    )
    operations = _rows(record, lambda r: asked(r["operations"]))
    chosen = _rows(
        record,
        lambda r: [", ".join(f"{n} x `{i}`" for i, n in sorted(r["implementations"].items()))],
    )
    return "".join(
        [
            HEAD,
            COMPILED,
            _table(
                "network | GPU | steps | reorders | kernels | copies | waits | fallbacks | "
                "reference",
                compiled,
            ),
            OPERATIONS,
            _table("network | GPU | kernels | copies | waits", operations),
            MEMORY,
            _table("network | GPU | planned | constants | peak", memory),
            IMPLEMENTATIONS,
            _table("network | GPU | steps by implementation", chosen).replace("--:", "---"),
        ]
    )


def _on_simulated(gpu: str, name: str) -> dict[str, Any]:
    script = str(ROOT / "tests" / "simulated_gpu.sh")
    command = [script, "--gpu", gpu, "--backend", "level_zero", sys.executable, __file__]
    done = subprocess.run([*command, "--counted", name], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} on {gpu}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure all networks on all GPUs, and write the page."""
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
    PAGE.write_text(page({f"{name} {gpu}": _on_simulated(gpu, name) for name, gpu in pairs}))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Training steps of three networks: Python against the C++ twins, and against PyTorch's CPU.

The networks are those of examples/cnn_training_f32.py, cnn_training_bf16.py and
rnn_training_f32.py. Blocks of steps alternate between the two sides; results must be equal
before anything is timed. The same step as a compiled function of ``sycl_dnn.functional`` is
measured beside the primitives. PyTorch is compared if it is installed and the device is the CPU.
A row that the device cannot compute is left out, by name.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dpctl
import numpy as np
import timing
from twin import Twin, checksum, difference, values

import sycl_dnn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from _alexnet_head import AlexNetHead  # noqa: E402
from _functional_head import FunctionalHead  # noqa: E402
from _gnmt_lstm import GnmtLstm  # noqa: E402
from _training_data import HEAD_SHAPES, HeadData, LstmData, lstm_shapes  # noqa: E402

#: Largest relative difference of checksums from the twin's, and from others' in f32 and bf16.
EQUAL = 1e-6
CLOSE = {"f32": 1e-3, "bf16": 3e-2}
#: The most that Python may cost: its time over the C++ time.
MOST_OVER_TWIN = 1.03


def head_data() -> HeadData:
    """Test values of cpp/cnn_training.cpp."""
    return HeadData(*arrays(HEAD_SHAPES, (1, 1 / 16, 1 / 16, 1)))


def lstm_data() -> LstmData:
    """Test values of cpp/rnn_training.cpp."""
    scales = (1, 1 / 32, 1 / 32, 1 / 32, 1)
    return LstmData(*arrays(lstm_shapes(35, 17, 1024), scales), n_long=11, short=8)


def arrays(shapes: tuple, scales: tuple) -> list[np.ndarray]:
    """Return test values of each shape and scale, with seeds 1, 2, ..."""
    rows = enumerate(zip(shapes, scales, strict=True), 1)
    return [values(shape, seed, scale) for seed, (shape, scale) in rows]


def torch_head(data_type: str) -> Any:
    """Create the head of AlexNet in PyTorch."""
    import torch_nets

    return torch_nets.AlexNetHead(data_type, head_data())


def torch_lstm() -> Any:
    """Create the LSTM in PyTorch."""
    import torch_nets

    return torch_nets.GnmtLstm(lstm_data())


@dataclasses.dataclass(frozen=True)
class Net:
    """A network: how to create it on each side, and how much faster than torch it must be."""

    twin: tuple[str, ...]
    build: Callable[[dpctl.SyclQueue], Any]
    torch: Callable[[], Any]
    data_type: str
    least_over_torch: float
    function: Callable[[dpctl.SyclQueue], Any] | None = None


def head(data_type: str, least: float) -> Net:
    """Describe the head of AlexNet in one data type."""

    def build(queue: dpctl.SyclQueue) -> Any:
        return AlexNetHead(queue, head_data(), data_type=data_type)

    def function(queue: dpctl.SyclQueue) -> Any:
        return FunctionalHead(queue, head_data(), data_type)

    twin = ("cnn_training", data_type)
    return Net(twin, build, lambda: torch_head(data_type), data_type, least, function)


def build_lstm(queue: dpctl.SyclQueue) -> Any:
    """Create the LSTM."""
    return GnmtLstm(queue, lstm_data())


NETS = {
    "cnn_training_f32": head("f32", 6.0),
    "cnn_training_bf16": head("bf16", 8.0),
    "rnn_training_f32": Net(("rnn_training", "f32"), build_lstm, torch_lstm, "f32", 1.3),
}


def runner(network: Any) -> timing.Runner:
    """Return a function that runs a number of steps and returns the time of each, in ms."""

    def run(count: int) -> list[float]:
        times = []
        for _ in range(count):
            start = time.perf_counter()
            network.step()
            times.append(1e3 * (time.perf_counter() - start))
        return times

    return run


def checksums(network: Any) -> dict[str, list[float]]:
    """Run one step and return the `checksum` of each output."""
    network.step()
    outputs: Mapping[str, Any] = network.outputs
    return {
        name: checksum(a.asnumpy() if hasattr(a, "asnumpy") else a) for name, a in outputs.items()
    }


def against_twin(net: Net, network: Any, options: argparse.Namespace) -> dict:
    """Compare results and times with the C++ program's."""
    words = [*net.twin[1:], *(["in_order"] if options.in_order else [])]
    with Twin(net.twin[0], options.device, *words) as twin:
        gap = difference(checksums(network), twin.check())
        sides = {"C++": twin.run, "Python": runner(network)}
        times = timing.alternate(sides, options.blocks, options.steps)
    return report("C++", times, gap, EQUAL, options)


def against_others(net: Net, ours: Mapping[str, Any], options: argparse.Namespace) -> dict:
    """Compare results and times of the ways in Python, and PyTorch's."""
    networks = {**ours, **({"PyTorch": net.torch()} if options.torch else {})}
    base, *others = networks
    expected = checksums(networks[base])
    gap = max((difference(expected, checksums(networks[name])) for name in others), default=0.0)
    sides = {name: runner(network) for name, network in networks.items()}
    times = timing.alternate(sides, options.blocks, options.steps)
    return report(base, times, gap, CLOSE[net.data_type], options)


def report(
    base: str, times: Mapping[str, list[float]], gap: float, most: float, options: Any
) -> dict:
    """Print and return the summary of `timing.alternate`, with the difference of results."""
    rows = timing.summary(times, base, options.steps)
    equal = gap <= most or options.no_check
    timing.print_table(f"{' against '.join(times)}, training step", rows, "ms")
    verdict = "not checked" if options.no_check else "ok" if equal else "WRONG"
    print(f"  results differ by {gap:.1e} (at most {most:g}): {verdict}")
    summaries = {name: dataclasses.asdict(row) for name, row in rows.items()}
    return {"ms": summaries, "difference": gap, "equal": equal}


def built(net: Net, queue: dpctl.SyclQueue) -> Any:
    """Return the network of primitives, None if the device lacks one of them."""
    try:
        return net.build(queue)
    except sycl_dnn.Unimplemented:
        isa = sycl_dnn.onednn.get_effective_cpu_isa().name
        device = "this GPU" if queue.sycl_device.is_gpu else f"this CPU ({isa})"
        print(f"  C++ and Python by primitives left out: {device} has none for {net.data_type}")
        return None


def measure(name: str, queue: dpctl.SyclQueue, options: argparse.Namespace) -> dict:
    """Run all comparisons of one network."""
    print(f"\n{name}")
    net, result = NETS[name], {}
    network = built(net, queue)
    ours = {} if network is None else {"Python": network}
    if network is not None:
        result["twin"] = against_twin(net, network, options)
        ratio = result["twin"]["ms"]["Python"]["ratio"]
        print(f"  Python / C++ = {ratio:.3f} (goal: at most {MOST_OVER_TWIN})")
    if net.function is not None:
        ours["function"] = net.function(queue)
    if len(ours) + options.torch > 1:
        result["others"] = against_others(net, ours, options)
    if options.torch and network is not None:
        ratio = result["others"]["ms"]["PyTorch"]["ratio"]
        print(f"  PyTorch / Python = {ratio:.2f} (goal: at least {net.least_over_torch})")
    return result


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nets", nargs="*", metavar="NET", help=f"default: {' '.join(NETS)}")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--steps", type=int, default=5, help="timed steps in a block (default: 5)")
    parser.add_argument("--blocks", type=int, default=7, help="blocks of each side (default: 7)")
    parser.add_argument("--in-order", action="store_true", help="use in-order queues")
    parser.add_argument("--no-torch", dest="torch", action="store_false")
    parser.add_argument("--no-check", action="store_true", help="for a simulated GPU")
    parser.add_argument("--json", type=Path, help="write the results to this file as well")
    options = parser.parse_args()
    unknown = set(options.nets) - set(NETS)
    if unknown:
        parser.error(f"NET must be one of {', '.join(NETS)}, got {', '.join(sorted(unknown))}")
    has_torch = importlib.util.find_spec("torch") is not None
    options.torch = options.torch and has_torch and options.device == "cpu"
    return options


def main() -> None:
    """Measure what the command line names; exit with 1 if results differ."""
    options = parse()
    print(timing.describe_machine())
    properties = ["in_order"] if options.in_order else []
    queue = dpctl.SyclQueue(options.device, property=properties)
    results = {name: measure(name, queue, options) for name in options.nets or NETS}
    if options.json:
        machine = timing.describe_machine().splitlines()
        options.json.write_text(json.dumps({"machine": machine, "nets": results}, indent=2) + "\n")
    if not all(part["equal"] for result in results.values() for part in result.values()):
        sys.exit("results differ; see above")


if __name__ == "__main__":
    main()

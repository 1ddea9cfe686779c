# SPDX-License-Identifier: Apache-2.0
"""Time per ``execute`` of a tiny primitive: Python over the same loop in C++.

``chain``: 1,000 executions chained by events and one wait; the in-flight policy of both sides is
the binding's (at most 8, polling 50 us, then blocking). ``each``: a wait after every execution.
Blocks alternate between the two; the difference counts, since times drift with the machine.

A CPU primitive is passed to a thread of SYCL's pool. That costs a few us or tens of us, depending
on where the system has placed the thread, which often does not change for the life of a process. So
the difference between two processes whose threads are free to move is random, in any language.
``--placement``:

together    both processes have one CPU: what Python itself adds
apart       the calling thread of each is bound to one CPU, all others to a second
free        the system places them; compare several runs

``--calls`` compares the ways to call one function instead: eager, bound, compiled, a graph, ``vjp``
and its pullback. It prints what each costs more than a bound call (``vjp and pullback``: than two),
and the number of Python functions that it enters.

``--functions`` compares ``vjp`` and pullback of a chain of operations as your function, whose
Python code runs at each call, with the same chain as one function of the layer, whose code does
not.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np
import timing
from twin import Twin, values

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.call.operation import operation
from sycl_dnn.graph import Graph

#: The most that one call may cost above C++, in us.
MOST_OVER_CPP = 2.0
#: The most that each way to call may cost above another, in us, and which other.
MOST_OVER = {"eager": 2.0, "compiled": 2.0, "graph": 2.0, "vjp and pullback": 6.0}
OVER_BOUND = {"eager": "bound", "compiled": "bound", "graph": "bound"} | {
    "vjp and pullback": "two bound"
}
CALLS = 1000
CPUS = sorted(os.sched_getaffinity(0))
PLACEMENTS = ("together", "apart", "free")


def tiny(operation: str, engine: Any) -> tuple[Any, dict]:
    """Return a primitive and its arguments: relu of 1x16x8x8, or 16x16 times 16x16."""
    if operation == "relu":
        d = dnnl.MemoryDesc((1, 16, 8, 8), dnnl.data_type.f32)
        names = ("src", "dst")
        kind = dnnl.prop_kind.forward_inference
        algorithm = dnnl.algorithm.eltwise_relu
        pd = dnnl.eltwise_forward(engine, prop_kind=kind, algorithm=algorithm, src=d, dst=d)
    else:
        d = dnnl.MemoryDesc((16, 16), dnnl.data_type.f32)
        names = ("src", "weights", "dst")
        pd = dnnl.matmul(engine, src=d, weights=d, dst=d)
    args = {}
    for seed, name in enumerate(names, 1):
        array = dpnp.asarray(values(d.dims, seed), sycl_queue=engine.sycl_queue)
        args[name] = dnnl.Memory(d, engine, array)
    return dnnl.Primitive(pd), args


def chain(execute: Callable, stream: Any, args: dict, count: int) -> None:
    """Run ``count`` executions chained by events; wait once."""
    depends: tuple = ()
    for _ in range(count):
        depends = (execute(stream, args, depends),)
    depends[0].wait()


def each(execute: Callable, stream: Any, args: dict, count: int) -> None:
    """Run ``count`` executions and wait after each."""
    for _ in range(count):
        execute(stream, args).wait()


def python_runner(loop: Callable, operation: str, engine: Any) -> timing.Runner:
    """Return a runner that returns us per call of the Python loop."""
    primitive, args = tiny(operation, engine)
    stream = dnnl.Stream(engine, ordered=False)

    def run(count: int) -> list[float]:
        times = []
        for _ in range(count):
            start = time.perf_counter()
            loop(primitive.execute, stream, args, CALLS)
            times.append((time.perf_counter() - start) / CALLS * 1e6)
        return times

    return run


def twin_runner(ask: Callable[[str, int], float], operation: str) -> timing.Runner:
    """Return a runner that returns us per call of the C++ loop."""
    return lambda count: [ask(operation, CALLS) for _ in range(count)]


def bind_threads(pid: int) -> None:
    """Bind the calling thread of a process to one CPU and all its other threads to a second."""
    for thread in map(int, os.listdir(f"/proc/{pid}/task")):
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.sched_setaffinity(thread, CPUS[:1] if thread == pid else CPUS[1:2])


def place_apart(runners: dict[str, timing.Runner], twin: Any) -> None:
    """Bind the threads of both sides, after a first run has created those of the pool."""
    for runner, pid in zip(runners.values(), (twin.pid, os.getpid()), strict=True):
        runner(1)
        bind_threads(pid)


def median_gap(times: list[float], base: list[float], blocks: int) -> float:
    """Return the median over the blocks of the difference between the sides."""
    own, other = (np.median(np.reshape(t, (blocks, 5)), axis=1) for t in (times, base))
    return float(np.median(own - other))


def measure(operation: str, mode: str, engine: Any, twin: Any, options: Any) -> dict:
    """Return medians of both and the median of the blocks' differences, in us per call."""
    blocks = options.blocks
    loop, ask = (chain, twin.chain) if mode == "chain" else (each, twin.each)
    runners = {
        "C++": twin_runner(ask, operation),
        "Python": python_runner(loop, operation, engine),
    }
    if options.placement == "apart" and len(CPUS) > 1 and engine.sycl_device.is_cpu:
        place_apart(runners, twin)
    times = timing.alternate(runners, blocks, 5)
    timing.print_table(f"{operation}, {mode}", timing.summary(times, "C++", 5), "us per call")
    extra = median_gap(times["Python"], times["C++"], blocks)
    print(f"  Python takes {extra:+.2f} us more (goal: at most {MOST_OVER_CPP:g})")
    medians = {name: statistics.median(t) for name, t in times.items()}
    return {"operation": operation, "mode": mode, "extra_us": extra, **medians}


def ways(queue: Any) -> dict[str, Callable[[], Any]]:
    """Return ways to call a relu of 1x16x8x8; ``two bound`` is compared with vjp and pullback."""
    x = dpnp.ones((1, 16, 8, 8), dtype="f4", sycl_queue=queue)
    graph = Graph(queue.sycl_device.device_type.name)
    graph.relu(graph.input(x.shape, "f32", name="src"))
    run_graph, compiled = graph.compile(queue), sycl_dnn.compile(F.relu)
    bound = sycl_dnn.plan(F.relu, x)
    _, pullback = sycl_dnn.vjp(F.relu, x)

    def two_bound() -> None:
        bound()
        bound()

    def vjp_and_pullback() -> None:
        _, pull = sycl_dnn.vjp(F.relu, x)
        pull(x)

    return {
        "bound": bound,
        "eager": lambda: F.relu(x),
        "compiled": lambda: compiled(x),
        "graph": lambda: run_graph(src=x),
        "vjp": lambda: sycl_dnn.vjp(F.relu, x),
        "pullback": lambda: pullback(x),
        "two bound": two_bound,
        "vjp and pullback": vjp_and_pullback,
    }


def python_calls(call: Callable[[], Any]) -> int:
    """Return how many Python functions a call enters."""
    entered: list[Any] = []

    def note(frame: Any, event: str, _: Any) -> None:
        # Cython reports its own functions as well.
        if event == "call" and not frame.f_code.co_filename.endswith((".pyx", ".pxd")):
            entered.append(frame)

    call()
    sys.setprofile(note)
    call()
    sys.setprofile(None)
    return len(entered)


def call_runner(call: Callable[[], Any], queue: Any, calls: int = CALLS) -> timing.Runner:
    """Return a runner that returns us per call."""

    def run(count: int) -> list[float]:
        times = []
        for _ in range(count):
            start = time.perf_counter()
            for _ in range(calls):
                call()
            queue.wait()
            times.append((time.perf_counter() - start) / calls * 1e6)
        return times

    return run


def compare_calls(queue: Any, blocks: int) -> None:
    """Print a table of the ways to call a function."""
    calls = ways(queue)
    for call in calls.values():
        call()
    times = timing.alternate({n: call_runner(c, queue) for n, c in calls.items()}, blocks, 5)
    entered = ", ".join(f"{name} {python_calls(call)}" for name, call in calls.items())
    timing.print_table(
        "relu, 1,000 calls in a row", timing.summary(times, "bound", 5), "us per call"
    )
    for name, base in OVER_BOUND.items():
        extra = median_gap(times[name], times[base], blocks)
        print(f"  {name:16} {extra:+6.2f} us over {base} (goal: at most {MOST_OVER[name]:g})")
    print(f"  Python functions entered: {entered}")


def operations(count: int) -> Callable[[Any], Any]:
    """Return a function of that many operations."""

    def function(x: Any) -> Any:
        for _ in range(count // 4):
            x = F.tanh(x) * 0.5 + x - 0.1
        return x

    return function


def compare_functions(queue: Any, blocks: int) -> None:
    """Print what the Python code of functions of 4, 20 and 60 operations adds to ``vjp``."""
    x = dpnp.ones((8, 8), dtype="f4", sycl_queue=queue)

    def both_passes(function: Callable[[Any], Any]) -> Callable[[], Any]:
        def call() -> None:
            y, pullback = sycl_dnn.vjp(function, x)
            pullback(y)

        call()
        return call

    for count in (4, 20, 60):
        calls = {"of the layer": operation(operations(count)), "yours": operations(count)}
        runners = {n: call_runner(both_passes(f), queue, 100) for n, f in calls.items()}
        times = timing.alternate(runners, blocks, 5)
        rows = timing.summary(times, "of the layer", 5)
        timing.print_table(f"vjp and pullback, {count} operations", rows, "us per call")


def main() -> int:
    """Measure both operations in both modes; exit status 1 if one misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=21, help="alternating blocks of 5 x 1,000")
    parser.add_argument("--placement", choices=PLACEMENTS, default=PLACEMENTS[0], help="of threads")
    parser.add_argument("--calls", action="store_true", help="compare the ways to call instead")
    parser.add_argument("--functions", action="store_true", help="compare functions instead")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    if options.placement == "together":
        os.sched_setaffinity(0, CPUS[:1])  # threads and processes created from now on inherit it
    queue = sycl_dnn.default_queue()
    engine = dnnl.Engine(queue)
    print(f"{timing.describe_machine()}\nplacement of threads: {options.placement}")
    if options.functions:
        compare_functions(queue, options.blocks)
        return 0
    if options.calls:
        compare_calls(queue, options.blocks)
        return 0
    rows = []
    with Twin("overhead", "gpu" if queue.sycl_device.is_gpu else "cpu") as twin:
        for operation in ("relu", "matmul"):
            for mode in ("chain", "each"):
                rows.append(measure(operation, mode, engine, twin, options))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    return int(any(row["extra_us"] > MOST_OVER_CPP for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())

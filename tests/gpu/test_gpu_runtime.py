# SPDX-License-Identifier: Apache-2.0
"""Devices, memory, order and lifetime on a GPU, and together with the CPU."""

import gc
import json
import subprocess
import sys
from pathlib import Path

import dpctl
import dpnp
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl
from sycl_dnn.device import executes_on_cpu, is_simulated

F32 = dnnl.data_type.f32
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def square(engine, n=64):
    d = dnnl.MemoryDesc((n, n), F32)
    return dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d))


def memories(primitive, engine):
    slots = primitive.arguments
    return {n: dnnl.Memory(s["desc"], engine) for n, s in slots.items() if s["required"]}


def test_the_gpu_comes_first(gpu, stream):
    assert sycl_dnn.default_queue().sycl_device.is_gpu
    assert stream.engine.kind is dnnl.engine_kind.gpu
    assert sycl_dnn.default_queue("cpu").sycl_device.is_cpu


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_each_kind_of_usm(usm_type, gpu, stream, has_values):
    array = dpnp.full((8, 8), 2.0, dtype="f4", sycl_queue=gpu, usm_type=usm_type)
    gpu.wait()
    wrapped = dnnl.Memory.from_array(array, stream.engine)
    assert wrapped.to_array().usm_type == usm_type
    assert wrapped.pointer == array.get_array()._pointer
    result = dnnl.Memory(wrapped.desc, stream.engine, usm_type=usm_type)
    assert result.to_array().usm_type == usm_type
    square(stream.engine, 8).execute(
        stream, {"src": wrapped, "weights": wrapped, "dst": result}
    ).wait()
    if has_values:
        assert (result.to_array().asnumpy() == 32).all()


def test_reorder_between_devices(stream, cpu_stream, has_values):
    d = dnnl.MemoryDesc((4, 8), F32)
    on_cpu, on_gpu = (dnnl.Memory(d, s.engine) for s in (cpu_stream, stream))
    there = dnnl.reorder(cpu_stream.engine, src=d, dst=d, dst_engine=stream.engine)
    back = dnnl.reorder(stream.engine, src=d, dst=d, dst_engine=cpu_stream.engine)
    event = dnnl.Primitive(there).execute(stream, {"src": on_cpu, "dst": on_gpu})
    if has_values:
        on_cpu.to_array()[...] = dpnp.arange(
            32, dtype="f4", sycl_queue=cpu_stream.sycl_queue
        ).reshape(4, 8)
        on_cpu.to_array().sycl_queue.wait()
        dnnl.Primitive(there).execute(stream, {"src": on_cpu, "dst": on_gpu}).wait()
        on_cpu.to_array()[...] = 0
        on_cpu.to_array().sycl_queue.wait()
    dnnl.Primitive(back).execute(stream, {"src": on_gpu, "dst": on_cpu}, [event]).wait()
    if has_values:
        assert on_cpu.to_array().asnumpy().ravel().tolist() == list(range(32))
    with pytest.raises(InvalidArguments, match="src must be in memory of the primitive's engine"):
        dnnl.Primitive(there).execute(stream, {"src": on_gpu, "dst": on_gpu})


MATRIX = dnnl.MemoryDesc((64, 64), F32)


def test_events_cross_devices(stream, cpu_stream, has_values):
    """Three products of one another by turns, each with nothing but the event of the last."""
    results = [[dnnl.Memory(MATRIX, s.engine) for _ in range(2)] for s in (stream, cpu_stream)]
    for memory in (m for pair in results for m in pair):
        memory.to_array()[...] = 1 / 64
        memory.to_array().sycl_queue.wait()
    products = [square(s.engine) for s in (stream, cpu_stream)]
    moves = [
        dnnl.Primitive(dnnl.reorder(a.engine, src=MATRIX, dst=MATRIX, dst_engine=b.engine))
        for a, b in ((stream, cpu_stream), (cpu_stream, stream))
    ]
    (gpu_in, gpu_out), (cpu_in, cpu_out) = results
    args = {"src": gpu_in, "weights": gpu_in, "dst": gpu_out}
    event = products[0].execute(stream, args)
    event = moves[0].execute(stream, {"src": gpu_out, "dst": cpu_in}, [event])
    args = {"src": cpu_in, "weights": cpu_in, "dst": cpu_out}
    event = products[1].execute(cpu_stream, args, [event])
    event = moves[1].execute(stream, {"src": cpu_out, "dst": gpu_in}, [event])
    args = {"src": gpu_in, "weights": gpu_in, "dst": gpu_out}
    products[0].execute(stream, args, [event]).wait()
    if has_values:
        # A matrix of 1/64 is its own square.
        assert (gpu_out.to_array().asnumpy() == 1 / 64).all()


def test_memory_and_stream_of_the_other_device_are_refused(stream, cpu_stream, cpu):
    primitive = square(stream.engine)
    args = memories(primitive, stream.engine)
    foreign = dnnl.Memory(args["src"].desc, cpu_stream.engine)
    with pytest.raises(InvalidArguments, match="weights must be in memory of the primitive's"):
        primitive.execute(stream, {**args, "weights": foreign})
    with pytest.raises(InvalidArguments, match="stream must be on the primitive's engine"):
        primitive.execute(cpu_stream, args)
    with pytest.raises(InvalidArguments, match="queue must be on the engine's device"):
        dnnl.Stream(stream.engine, cpu)
    array = dpnp.zeros((64, 64), dtype="f4", sycl_queue=cpu)
    with pytest.raises(dpnp.exceptions.ExecutionPlacementError):
        dnnl.Memory.from_array(array, stream.engine)


def test_queued_calls_whose_arrays_were_deleted(gpu, has_values):
    stream = dnnl.Stream(dnnl.Engine(gpu), gpu, ordered=True)
    primitive, results = square(stream.engine), []
    for i in range(200):
        src = dpnp.full((64, 64), float(i), dtype="f4", sycl_queue=gpu)
        args = {"src": dnnl.Memory.from_array(src, stream.engine)}
        args["weights"] = args["src"]
        results.append(dpnp.empty_like(src))
        args["dst"] = dnnl.Memory.from_array(results[-1], stream.engine)
        primitive.execute(stream, args)
        del src, args
    gc.collect()
    stream.wait()
    assert stream.pending == 0
    if has_values:
        assert [float(m[5, 7]) for m in results] == [64.0 * i * i for i in range(200)]


@pytest.mark.parametrize(("n", "calls", "most"), [(8, 200, 63), (4096, 6, 1)])
def test_finished_executions_release_their_arguments(n, calls, most, gpu):
    """After 64 executions, or as soon as they hold 256 MiB: a call here uses 3 times 64 MiB."""
    queue = dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device)  # no work from other tests on it
    stream = dnnl.Stream(dnnl.Engine(queue), queue)
    d = dnnl.MemoryDesc((n, n), F32)
    add = dnnl.algorithm.binary_add
    primitive = dnnl.Primitive(dnnl.binary(stream.engine, algorithm=add, src0=d, src1=d, dst=d))
    args = memories(primitive, stream.engine)
    pending = []
    for _ in range(calls):
        primitive.execute(stream, args).wait()
        pending.append(stream.pending)
    # The last one may not have reported yet that it has finished.
    assert most <= max(pending) <= most + 1
    assert min(pending) <= 1
    stream.wait()
    assert stream.pending == 0


def test_threads_share_one_primitive(gpu, has_values):
    engine = dnnl.Engine(gpu)
    primitive = square(engine)
    result = {}

    def work(number):
        stream = dnnl.Stream(engine, dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device))
        args = memories(primitive, engine)
        for name in ("src", "weights"):
            args[name].to_array()[...] = number
            args[name].to_array().sycl_queue.wait()
        for _ in range(20):
            primitive.execute(stream, args)
        stream.wait()
        result[number] = args["dst"].to_array().asnumpy()

    # The CPU's runtime, which executes one of these GPUs, may hang if more threads wait on it.
    n = 2 if executes_on_cpu(gpu.sycl_device) else 4
    in_threads(n, work)
    if has_values:
        assert all((result[number] == 64.0 * number * number).all() for number in range(n))


BUSY = """
import sycl_dnn
from sycl_dnn import onednn as dnnl
engine = dnnl.Engine(sycl_dnn.default_queue())
stream = dnnl.Stream(engine)
d = dnnl.MemoryDesc((256, 256), dnnl.data_type.f32)
matmul = dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d))
args = dict((n, dnnl.Memory(d, engine)) for n in ("src", "weights", "dst"))
for _ in range(50):
    matmul.execute(stream, args)
"""


def python(*arguments):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_exit_while_busy():
    python("-c", BUSY)


def test_report_names_the_gpu():
    report = json.loads(python("-m", "sycl_dnn", "--json"))
    assert ":gpu:" in report["default"]


PROGRAMS = {
    "cnn_training_f32.py": ("--steps", 1),
    "cnn_training_bf16.py": ("--steps", 1),
    "rnn_training_f32.py": ("--steps", 1),
    "train_digits.py": ("--steps", 3),
    "getting_started.py": (),
    "usm_interop.py": (),
    "memory_format_propagation.py": (),
    "cross_device_reorder.py": (),
}
#: With values. On a simulated GPU tests/helpers/run_examples.py runs all examples in one process.
CHECKED = ["getting_started.py"] if is_simulated("gpu") else list(PROGRAMS)


@pytest.mark.parametrize("program", CHECKED)
def test_example_runs_through(program, tmp_path, has_values):
    extra = ("--output", tmp_path / "figure.png") if program == "train_digits.py" else ()
    # Too few steps to learn digits.
    unchecked = () if has_values and program != "train_digits.py" else ("--no-check",)
    text = python(EXAMPLES / program, *unchecked, *PROGRAMS[program], *extra)
    assert "gpu" in text

# SPDX-License-Identifier: Apache-2.0
"""From steps to programs: liveness, stretches, registers, and the values of a program."""

import dpnp
import numpy as np
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn._dpnp import host_array
from sycl_dnn.onednn.memory import KINDS
from sycl_dnn.program.executable import Executable
from sycl_dnn.program.place import place_of
from sycl_dnn.program.segments import Segment, finalized, live_steps, stretches
from sycl_dnn.trace import layout
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import ArrayStep, Out, Step
from sycl_dnn.trace.values import Storage, Tensor

DESC = layout.row_major((2, 64), "float32")


@pytest.fixture
def trace(queue):
    return Trace(place_of(queue)[0].engine)


@pytest.fixture
def value(trace):
    def make(**traits):
        storage = Storage(DESC, **traits)
        storage.dtype = "float32"
        return Tensor(trace, storage, DESC, "float32", DESC.dims)

    return make


def copy(trace, source, made):
    """Return a step that copies one value to another."""
    return trace.copy_step(source, made)


def call(source, made):
    """Return a step that a function over arrays does."""
    return ArrayStep(dpnp.copy, {"0": source}, {"0": made})


def test_unused_steps_are_removed(trace, value):
    x, a, b, unused = value(argument=0), value(), value(), value()
    steps = [copy(trace, x, a), copy(trace, a, unused), copy(trace, a, b)]
    assert live_steps(steps, [b.storage]) == [steps[0], steps[2]]
    assert live_steps(steps, []) == []


def test_writes_to_arguments_are_kept(trace, value):
    x, a = value(argument=0), value()
    steps = [copy(trace, x, a), copy(trace, a, x)]
    assert live_steps(steps, []) == steps


def test_calls_over_arrays_split_stretches(trace, value):
    x, a, b, c, d = value(argument=0), *(value() for _ in range(4))
    steps = [copy(trace, x, a), copy(trace, a, b), call(b, c), copy(trace, c, d)]
    assert stretches(steps) == [steps[:2], steps[2], steps[3:]]


def test_values_that_other_stretches_read_get_registers(trace, value, queue):
    x, a, b, c, d = value(argument=0), *(value() for _ in range(4))
    trace.arguments = [x.storage]
    steps = [copy(trace, x, a), copy(trace, a, b), call(b, c), copy(trace, c, d)]
    executable = Executable(trace, steps, [d], [x.storage])
    # The argument, what the call reads, what it makes, the result: ``a`` stays in the arena.
    assert len(executable._registers) == 4
    assert id(a.storage) not in executable._registers
    assert [type(s) is Segment for s in executable.stages] == [True, False, True]
    array = dpnp.arange(128, dtype="f4", sycl_queue=queue).reshape(2, 64)
    registers = executable.run(queue, place_of(queue)[1], [array.get_array()], KINDS["device"])
    queue.wait()
    (result,) = executable.leaves(registers, [])
    np.testing.assert_array_equal(dpnp.asnumpy(result), dpnp.asnumpy(array))


def test_a_program_has_each_view_once(trace, value):
    x, a, b = value(argument=0), value(), value()
    row = a.view((1, 64), (64, 1), 64)
    target = b.view((1, 64), (64, 1), 64)
    steps = [copy(trace, x, a), copy(trace, row, target), copy(trace, row, target)]
    segment = Segment(trace.engine, steps, {id(x.storage): 0, id(b.storage): 1}, 1)
    assert segment.reads == [0, 1]
    kinds = [(kind, place, offset) for kind, place, offset, _ in segment._values]
    assert kinds == [("array", 0, 0), ("arena", 0, 0), ("arena", 0, 256), ("array", 1, 256)]
    assert segment.program.arena_bytes == 512


def test_results_get_their_own_storage(trace, value):
    x, a = value(argument=0), value()
    trace.steps.append(copy(trace, x, a))
    part = a.view((1, 64), (64, 1), 64)
    same, again, own, untouched = finalized(trace, [a, a, part, x])
    assert same is a
    assert untouched is x
    assert len({t.storage for t in (same, again, own)}) == 3
    assert len(trace.steps) == 3


def test_arrays_from_calls_are_returned_without_a_copy(trace, value):
    x = value(argument=0)
    (result,) = trace.array_call(dpnp.copy, [x], [Out((2, 64), "int16")])
    shown = result.view((64, 2), (1, 64))
    alone, copied = finalized(trace, [result, shown])
    assert alone is result
    assert copied.storage is not result.storage
    assert copied.dtype == "int16"


def test_captured_arrays_are_found_by_identity(trace, queue):
    arrays = [dpnp.ones(3, dtype="f4", sycl_queue=queue) for _ in range(3)]
    tensors = [trace.capture(a) for a in (*arrays, *arrays)]
    assert all(a is b for a, b in zip(tensors[:3], tensors[3:], strict=True))
    assert [index for index, _, _ in trace.captured] == [0, 1, 2]


def test_copies_are_reused_until_the_array_is_written(trace, value):
    x = value(argument=0)
    expected = layout.strided((2, 64), "float32", (1, 2))
    first = trace.reorder(x, expected)
    assert trace.reorder(x, expected) is first
    trace.update(x, first, "test: x")
    assert trace.reorder(x, expected) is not first


def test_separate_recordings_share_no_copies(trace, value):
    x = value(argument=0)
    expected = layout.strided((2, 64), "float32", (1, 2))
    before = trace.reorder(x, expected)
    result, steps = trace.recorded_apart(lambda: trace.reorder(x, expected))
    assert result is not before
    assert len(steps) == 1
    assert isinstance(steps[0], Step)
    assert trace.reorder(x, expected) is before
    assert len(trace.steps) == 1
    assert steps[0].primitive.name == "reorder"


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_product_is_written_to_out(dtype, queue):
    """dpnp multiplies integers, oneDNN numbers."""
    a, b = (
        dpnp.arange(6, dtype=dtype, sycl_queue=queue).reshape(shape) for shape in ((2, 3), (3, 2))
    )
    out = dpnp.zeros((2, 2), dtype=dtype, sycl_queue=queue)
    for _ in range(2):
        out[...] = 0
        assert F.matmul(a, b, out=out) is out
        np.testing.assert_array_equal(dpnp.asnumpy(out), [[10, 13], [28, 40]])
    bound = sycl_dnn.plan(F.matmul, a, b, out=out)
    out[...] = 0
    assert bound() is out
    np.testing.assert_array_equal(dpnp.asnumpy(out), [[10, 13], [28, 40]])


# --- Waiting for a queue


def test_a_queue_is_required():
    with pytest.raises(TypeError, match="queue must be a dpctl.SyclQueue, got str"):
        sycl_dnn.synchronize("cpu")


def test_nothing_is_pending_afterwards(queue):
    x = dpnp.ones((64, 64), dtype="f4", sycl_queue=queue)
    for _ in range(5):
        x = F.relu(x)
    sycl_dnn.synchronize(queue)
    assert sycl_dnn.onednn.Stream(sycl_dnn.onednn.Engine(queue), queue).pending == 0


@pytest.mark.slow
def test_threads_read_completed_results(queue):
    """``queue.wait()`` alone lets a thread through while another one is in it."""
    x = dpnp.ones((8, 16), dtype="f4", sycl_queue=queue)
    sycl_dnn.synchronize(queue)
    early = []

    def work(number):
        for turn in range(100):
            y = F.softmax(F.relu(F.mul(x, float(number))), dim=-1)
            sycl_dnn.synchronize(queue)
            if not (dpnp.asnumpy(y) == 1 / 16).all():
                early.append((number, turn))

    in_threads(8, work)
    assert not early


def test_waiting_for_the_queue_waits_for_a_sequence_of_kernels(queue):
    if not queue.sycl_device.has_aspect_cpu:
        pytest.skip(f"the host cannot read the memory of {queue.sycl_device.name}")
    values = np.linspace(-3, 3, 50_000, dtype="f4")
    expected = values
    for _ in range(70):
        expected = np.sin(expected)

    def chain(x):
        for _ in range(70):
            x = F.sin(x)
        return x

    def run(_):
        call = sycl_dnn.plan(chain, dpnp.asarray(values, sycl_queue=queue))
        for _ in range(20):
            array = call().get_array()
            queue.wait()
            address, strides = array._pointer, (array.itemsize,)
            result = host_array(address, array.shape, array.dtype.str, strides)
            np.testing.assert_allclose(result, expected, rtol=1e-4)

    in_threads(4, run)

# SPDX-License-Identifier: Apache-2.0
"""Arguments of a submission stay alive once checked, even if removed from the dict."""

import gc
import subprocess
import sys
import threading
import weakref

import dpctl.memory
import pytest
from arrays import F32, D
from endurance.gate import Gate

from sycl_dnn import DnnlError, InvalidArguments, _core
from sycl_dnn import graph as sg
from sycl_dnn import onednn as dnnl

N = 1 << 10


class Ended(Exception):
    """Raised instead of a submission, which would read freed memory."""


class Meanwhile:
    """Events ``depends`` that run ``work`` when they are asked for, then end the call."""

    def __init__(self, work):
        self.work = work

    def __iter__(self):
        self.work()
        gc.collect()
        raise Ended


class Fresh:
    """A sequence that creates its items at each access."""

    def __init__(self, *makers):
        self.makers, self.made = makers, []

    def __len__(self):
        return len(self.makers)

    def __getitem__(self, i):
        item = self.makers[i]()
        self.made.append(weakref.ref(item))
        return item


def relu(engine):
    """A primitive over N elements."""
    d = D((N,), F32)
    algorithm, kind = dnnl.algorithm.eltwise_relu, dnnl.prop_kind.forward_inference
    pd = dnnl.eltwise_forward(engine, prop_kind=kind, algorithm=algorithm, src=d, dst=d)
    return dnnl.Primitive(pd)


def compiled_relu(engine):
    """The same as a partition, with its two logical tensors."""
    x, y = sg.LogicalTensor(0, "f32", (N,)), sg.LogicalTensor(1, "f32", (N,))
    partition = sg.Partition(sg.Op(0, "ReLU", [x], [y]), engine.kind.name)
    return partition.compile([x], [y], engine), x, y


@pytest.mark.slow
def test_memories_removed_from_the_arguments(engine, stream):
    primitive = relu(engine)
    args = {name: dnnl.Memory(D((N,), F32), engine) for name in ("src", "dst")}
    known, alive = [weakref.ref(m) for m in args.values()], []

    def look():
        args.clear()
        gc.collect()
        alive.extend(r() is not None for r in known)

    with pytest.raises(Ended):
        primitive.execute(stream, args, Meanwhile(look))
    assert alive == [True, True]
    gc.collect()
    assert [r() for r in known] == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [list, Fresh])
def test_tensors_of_a_partition(engine, stream, kind):
    result, x, y = compiled_relu(engine)
    tensors = [sg.Tensor(t, engine) for t in (x, y)]
    args = [[t] for t in tensors]
    known = [weakref.ref(t) for t in tensors]
    if kind is Fresh:
        args = [Fresh(lambda t=t: sg.Tensor(t, engine)) for t in (x, y)]
    del tensors
    alive = []

    def look():
        if kind is list:
            args[0].clear(), args[1].clear()
        else:
            known[:] = [r for one in args for r in one.made]
        gc.collect()
        alive.extend(r() is not None for r in known)

    with pytest.raises(Ended):
        result.execute(stream, *args, depends=Meanwhile(look))
    assert alive == [True, True]


class Held:
    """Memory in the form that programs accept."""

    def __init__(self, queue):
        self.memory = dpctl.memory.MemoryUSMDevice(4 * N, queue=queue)
        self._pointer = self.memory._pointer


def failing_program(engine):
    """One step that is submitted and one that oneDNN refuses, as src comes twice."""
    src, dst = dnnl.arg.src, dnnl.arg.dst
    values = [("array", i, 0, D((N,), F32)) for i in range(2)]
    primitive = relu(engine)
    steps = [(primitive, [(src, 0), (dst, 1)]), (primitive, [(src, 0), (src, 0), (dst, 1)])]
    return _core.Program(engine, values, steps, 2, 0)


def free(program, stream, arrays):
    """A call of the program as a function of ``depends``."""
    return lambda depends: program.run(stream, arrays, depends)


def bound(program, stream, arrays):
    """The same with its arrays bound; the order on the queue makes it depend on the gate."""
    result = _core.BoundProgram(program, stream, arrays, None, None)
    return lambda depends: _core.submit_all([result])


@pytest.mark.slow
@pytest.mark.parametrize("way", [free, bound])
def test_arrays_of_a_program_that_fails_halfway(queue, engine, way, request):
    """The first step waits for the gate; its arrays must still be there when it runs."""
    if not queue.sycl_device.is_cpu:
        pytest.skip("host tasks of a simulated GPU wait for nothing")
    if threading.active_count() > 1:
        # Beside another Python thread a call waits for its work, here for the gate.
        test = f"{request.path}::{request.node.name}"
        alone = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(request.config.rootpath)]
        done = subprocess.run([*alone, test], capture_output=True, text=True, check=False)
        assert "1 passed" in done.stdout, done.stdout
        return
    stream = dnnl.Stream(engine, queue, ordered=True)
    program, arrays = failing_program(engine), [Held(queue), Held(queue)]
    known, gate = [weakref.ref(a) for a in arrays], Gate(queue)
    call = way(program, stream, arrays)
    with pytest.raises(DnnlError):
        call([gate.event])
    del arrays, call, program
    gc.collect()
    held = [r() is not None for r in known]
    gate.open()
    stream.wait()
    gc.collect()
    assert held == [True, True]
    assert [r() for r in known] == [None, None]


def test_programs_name_values_and_arguments_that_exist(engine):
    value = ("array", 0, 0, D((N,), F32))
    src, dst = dnnl.arg.src, dnnl.arg.dst
    with pytest.raises(InvalidArguments, match="one of the 1 arguments, got number 7"):
        _core.Program(engine, [("array", 7, 0, D((N,), F32))], [], 1, 0)
    with pytest.raises(InvalidArguments, match="values below 1"):
        _core.Program(engine, [value], [(relu(engine), [(src, 0), (dst, 0), (99, 5)])], 1, 0)
    with pytest.raises(InvalidArguments, match="values below 1"):
        _core.Program(engine, [value], [(None, [])], 1, 0)

# SPDX-License-Identifier: Apache-2.0
"""Kernels that the device's compiler refuses: found before a call writes to what outlives it."""

import weakref
from collections import OrderedDict

import dpnp
import numpy as np
import pytest
from interpreting import NEEDS_INTERPRETER, output

import sycl_dnn
from sycl_dnn import _core, errors, nn, optim
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.kernels import building, launching
from sycl_dnn.kernels.spirv import Kernel

#: The header of a module, and an instruction that does not exist.
WRONG = bytes.fromhex("0302230700000100000000000100000000000000") + bytes([99, 99, 1, 0])


class Writing:
    """The kernels that are written; the number ``refused`` is one that no compiler takes."""

    def __init__(self, monkeypatch):
        self.patch, self.bytes = monkeypatch, building._bytes
        self.names, self.refused = [], None
        monkeypatch.setattr(building, "_bytes", self.written)
        # Nothing is built before programs begin to run.
        monkeypatch.setattr(_core.Kernel, "start_together", lambda kernels, nbytes: None)

    def written(self, source):
        self.names.append(getattr(source, "name", source))
        return WRONG if len(self.names) - 1 == self.refused else self.bytes(source)

    def forget(self, refused):
        """Begin anew, with all kernels unknown."""
        sycl_dnn.cache.clear()
        self.patch.setattr(building, "_made", OrderedDict())
        self.patch.setattr(building, "_of_files", weakref.WeakValueDictionary())
        self.patch.setattr(launching, "_launches", type(launching._launches)())
        self.names, self.refused = [], refused


@pytest.fixture
def writing(monkeypatch, clean_cache):
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", "")
    return Writing(monkeypatch)


def each_refused(writing, prepared):
    """Refuse each kernel of a call in turn; nothing that the call is given may change.

    ``prepared()`` returns the call, and the arrays.
    """
    call, _ = prepared()
    writing.forget(None)
    call()
    n_kernels = len(writing.names)
    assert n_kernels > 1
    for refused in range(n_kernels):
        call, arrays = prepared()
        before = [dpnp.asnumpy(a).copy() for a in arrays]
        writing.forget(refused)
        with pytest.raises(errors.Unimplemented, match="refuses this kernel"):
            call()
        sycl_dnn.synchronize()
        after = [dpnp.asnumpy(a) for a in arrays]
        for a, b in zip(before, after, strict=True):
            np.testing.assert_array_equal(a, b, str(writing.names[refused]))


def loss(net, x):
    return F.mean(F.square(net(x)))


def test_a_training_step_keeps_donated_parameters(queue, writing):
    x = dpnp.ones((30, 300), dtype="f4", sycl_queue=queue)

    def prepared():
        net, opt = nn.Linear(300, 300).to(queue), optim.SGD(0.1, momentum=0.9)

        @sycl_dnn.compile(donate=("net", "state"))
        def step(net, state, x):
            _, grads = sycl_dnn.value_and_grad(loss)(net, x)
            net, state = opt.update(grads, state, net)
            return F.sum(F.lgamma(F.cumsum(net(x), 1))), net, state

        state = opt.init(net)
        return lambda: step(net, state, x), sycl_dnn.tree.leaves((net, state))

    each_refused(writing, prepared)


def at_once(p, x):
    return F.cumsum(F.matmul(p, p), 1), F.sum(F.lgamma(F.cumsum(x, 1)))


def around_a_call(p, x):
    p = F.cumsum(F.matmul(p, p), 1)
    y = sycl_dnn.array_function(dpnp.sin, x, shape=x.shape, dtype="float32")
    return p, F.sum(F.lgamma(F.cumsum(y, 1)))


@pytest.mark.parametrize("function", [at_once, around_a_call])
def test_a_donated_array_is_kept(queue, writing, function):
    x = dpnp.ones((40, 50), dtype="f4", sycl_queue=queue)

    def prepared():
        p = dpnp.ones((64, 64), dtype="f4", sycl_queue=queue)
        call = sycl_dnn.compile(function, donate="p")
        return lambda: call(p, x), [p]

    each_refused(writing, prepared)


def test_functions_of_arrays_are_not_called_before(queue, writing):
    x, calls = dpnp.ones((40, 50), dtype="f4", sycl_queue=queue), []

    @sycl_dnn.compile
    def function(x):
        y = sycl_dnn.array_function(
            lambda x: calls.append(1) or x, F.cumsum(x, 1), shape=x.shape, dtype="float32"
        )
        return F.sum(F.lgamma(y))

    writing.forget(1)
    with pytest.raises(errors.Unimplemented, match="refuses this kernel"):
        function(x)
    assert len(writing.names) > 1
    assert not calls


def test_the_array_given_for_a_result_is_kept(queue, writing):
    x = dpnp.ones((40, 40), dtype="f4", sycl_queue=queue)

    def prepared():
        out = dpnp.ones((80, 40), dtype="f4", sycl_queue=queue)
        call = sycl_dnn.compile(lambda x: F.cat([F.cumsum(x, 1), F.lgamma(F.cumsum(x, 0))]))
        return lambda: call(x, out=out), [out]

    each_refused(writing, prepared)


def test_plans_are_refused_when_they_are_bound(queue, writing):
    x = dpnp.ones((40, 50), dtype="f4", sycl_queue=queue)
    writing.forget(1)
    with pytest.raises(errors.Unimplemented, match="refuses this kernel"):
        sycl_dnn.plan(lambda x: (F.cumsum(x, 1), F.sum(F.lgamma(F.cumsum(x, 0)))), x)
    assert len(writing.names) > 1


def test_calls_after_a_refused_one_run(queue, writing):
    x = dpnp.ones((40, 50), dtype="f4", sycl_queue=queue)
    writing.forget(1)
    y = F.cumsum(x, 1)
    with pytest.raises(errors.Unimplemented, match="refuses this kernel"):
        F.lgamma(y)
    assert float(F.sum(y)) == 40 * 1275


def test_a_group_size_that_cannot_be_launched_is_refused(queue, engine):
    k = Kernel("filled", [("pointer", "f32")], 4)
    k.store(k.parameters[0], k.constant(0, "i64"), k.constant(3.0, "f32", 16))
    x = dpnp.zeros(16, dtype="f4", sycl_queue=queue)
    stream = dnnl.Stream(engine, queue, ordered=True)

    def run(local):
        kernel = _core.Kernel(
            building.compiled(queue, k.module(), "filled"), "filled", [], 8, local
        )
        values = [("array", 0, 0, dnnl.MemoryDesc((16,), "f32", "a"))]
        steps = [(None, [(0, 0)]), (kernel, [(0, 0)])]
        _core.Program(engine, values, steps, 1, 0).run(stream, [x.get_array().usm_data]).wait()

    run(4)
    for _ in range(2):
        with pytest.raises(errors.Unimplemented, match="filled: .*refuses this kernel"):
            run(8)
    assert (dpnp.asnumpy(x) == 3).all()


@NEEDS_INTERPRETER
def test_what_can_be_interpreted_replaces_a_refused_kernel():
    code = """
import warnings
from sycl_dnn.kernels import building
content = building._bytes
def renamed(source):
    return content(source).replace(b"sum_", b"mus_").replace(b"log1p", b"p1gol")
building._bytes = renamed
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    queue = sycl_dnn.default_queue("cpu")
    x = array(300, 400, queue=queue)
    results = [(F.cumsum(x, 1).asnumpy(), F.sum(x, 0).asnumpy()) for _ in range(3)]
    ones = dpnp.ones(1 << 24, dtype="f4", sycl_queue=queue)
    large = [float(F.log1p(ones)[-1]) for _ in range(2)]
same = all((a == c).all() and (b == d).all() for a, b in results[1:] for c, d in [results[0]])
print(same, abs(results[0][0] - x.asnumpy().cumsum(1)).max() < 1e-3, *np.round(large, 6))
print(*{w.filename for w in caught}, *[str(w.message).split("_")[0] for w in caught])
"""
    numbers, warned = output(code).splitlines()
    assert numbers == "True True 0.693147 0.693147"
    assert warned == "<string> cumsum sum log1p"


def test_only_modules_are_interpreted():
    assert not _core.Kernel.can_interpret(b"not SPIR-V")
    assert not _core.Kernel.can_interpret(WRONG)

# SPDX-License-Identifier: Apache-2.0
"""Constants are computed again once the package has written to what they were computed from."""

import dpnp
import numpy as np
import pytest
from in_threads import in_a_thread

import sycl_dnn
from sycl_dnn import _core, nn
from sycl_dnn import functional as F
from sycl_dnn.call.plan import BoundCall
from sycl_dnn.program.executable import Executable

X = (2, 3, 8, 8)


def folding_net():
    """A network whose batch norm is folded into packed weights."""
    return nn.Sequential(nn.Conv2d(3, 16, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU()).eval()


def assigned(array):
    array[...] = 0.5


def doubled(array):
    array *= 2


def stored(array):
    array.data = F.ones(*array.shape) * 0.7


def into_out(array):
    F.mul(array, 1.5, out=array)


def by_a_compiled_function(array):
    def negated(array):
        array[...] = -array
        return array.sum()

    sycl_dnn.compile(negated)(array)


def written_in_part(array):
    array[0].fill_(3.0)


#: Ways to write to an attribute of a module.
WRITES = {
    "assignment": assigned, "in-place operator": doubled, "data": stored, "out": into_out,
    "compiled function": by_a_compiled_function, "part": written_in_part,
    "method": lambda array: array.copy_(F.ones(*array.shape)),
    "dpnp's method": lambda array: array.fill(0.25),
    "initializer": lambda array: nn.init.constant_(array, 0.3),
}  # fmt: skip
#: Functions of one array in which the network is constant.
CAPTURING = {
    "closure": lambda net: sycl_dnn.compile(lambda x: net(x)),
    "module": sycl_dnn.compile,
    "constants": lambda net: (
        lambda compiled: lambda x: compiled(net, x)
    )(sycl_dnn.compile(lambda net, x: net(x), constants="net")),
}  # fmt: skip


@pytest.mark.parametrize("capturing", CAPTURING)
def test_writes_to_weights_and_statistics_are_seen(capturing):
    net, x = folding_net(), F.ones(*X)
    compiled = CAPTURING[capturing](net)
    compiled(x)
    for name, write in WRITES.items():
        for array in (net[0].weight, net[1].running_mean, net[1].weight):
            for _ in range(2):  # the second call may repeat the first one without Python
                write(array)
                np.testing.assert_allclose(
                    compiled(x).asnumpy(), net(x).asnumpy(), rtol=2e-5, atol=2e-5, err_msg=name
                )


def test_statistics_that_training_updates_are_seen():
    net, x = folding_net(), F.arange(384.0).reshape(X)
    compiled, step = sycl_dnn.compile(net), sycl_dnn.compile(lambda net, x: net(x))
    for count in range(3):
        net.train()
        net(x * (count + 1))
        step(net, x * (count + 2))
        net.eval()
        np.testing.assert_allclose(compiled(x).asnumpy(), net(x).asnumpy(), rtol=1e-4, atol=1e-4)


def test_arrays_written_to_buffers_are_seen():
    net, x = folding_net(), F.arange(384.0).reshape(X)
    compiled = sycl_dnn.compile(net)
    for count in range(3):
        net[1].update_buffer("running_mean", F.ones(16) * count)
        np.testing.assert_allclose(compiled(x).asnumpy(), net(x).asnumpy(), rtol=1e-4, atol=1e-4)


#: Functions of a captured array that are computed while a function is traced.
DERIVED = {
    "function": F.exp,
    "operator": lambda w: w * 2 + 1,
    "method": lambda w: w.sum(),
    "dpnp": lambda w: dpnp.cumsum(w),
    "several": lambda w: F.sum(F.matmul(w.T, w), -1),
}


@pytest.mark.parametrize("derived", DERIVED)
@pytest.mark.parametrize("is_planned", [False, True])
def test_writes_to_what_values_of_the_trace_were_computed_from_are_seen(derived, is_planned):
    w, x = F.linspace(0.1, 1, 9).reshape(3, 3), F.ones(3, 3)

    def function(x):
        return x + F.sum(DERIVED[derived](w))

    compiled, bound = sycl_dnn.compile(function), sycl_dnn.plan(function, x)
    for _ in range(3):
        found = bound() if is_planned else compiled(x)
        np.testing.assert_allclose(found.asnumpy(), function(x).asnumpy(), rtol=1e-5)
        F.mul(w, 0.5, out=w)


def test_functions_without_such_values_are_not_compiled_again():
    w, x = F.ones(3, 3), F.ones(3, 3)
    compiled = sycl_dnn.compile(lambda x: x * w + w[1])
    for count in range(3):
        assert float(compiled(x)[0, 0]) == 2 * 0.5**count
        F.mul(w, 0.5, out=w)
    assert compiled.cache_info().misses == 1


def test_writes_of_bound_calls_are_seen():
    x, y = F.ones(256, 256), F.ones(32, 256)
    bound = sycl_dnn.plan(lambda x: x * 2, x)
    weight = bound.result
    compiled = sycl_dnn.compile(lambda y: F.linear(y, weight))
    for count in range(1, 4):
        x[...] = count
        bound()
        assert float(compiled(y)[0, 0]) == 256 * 2 * count


def test_functions_in_place_are_seen():
    weight, y = F.ones(256, 256)[::-1], F.ones(32, 256)
    compiled = sycl_dnn.compile(lambda y: F.linear(y, weight))
    assert float(compiled(y)[0, 0]) == 256
    F.hardtanh(weight, 0.0, 0.5, inplace=True)
    assert float(compiled(y)[0, 0]) == 128


def test_results_that_no_program_wrote_are_seen_in_out():
    weight, y = F.ones(256, 256), F.ones(32, 256)
    compiled = sycl_dnn.compile(lambda y: F.linear(y, weight))
    assert float(compiled(y)[0, 0]) == 256
    sycl_dnn.compile(lambda x: x)(F.ones(256, 256) * 3, out=weight)
    assert float(compiled(y)[0, 0]) == 768


def test_repeated_writes_into_out_and_donated_arrays_are_seen():
    weight, more, x = F.ones(256, 256), F.ones(256, 256), F.ones(32, 256)
    compiled = sycl_dnn.compile(lambda x: F.linear(x, weight))
    sums = sycl_dnn.compile(lambda a, b: a + b)
    donating = sycl_dnn.compile(lambda a, b: a + b, donate="a")
    for count in range(4):
        sums(weight, more, out=weight)
        assert float(compiled(x)[0, 0]) == 256 * (2 * count + 2)
        assert donating(weight, more) is weight
        assert float(compiled(x)[0, 0]) == 256 * (2 * count + 3)


def test_other_writes_drop_no_program():
    net, other, x = folding_net(), folding_net(), F.ones(*X)
    compiled = sycl_dnn.compile(net)
    compiled(x)
    other[0].weight.zero_()
    F.add(x, 1.0, out=x)
    compiled(x)
    assert compiled.cache_info().misses == 1


def test_spans_are_watched_as_long_as_their_owner_lives():
    spans = _core.WatchedSpans()
    spans.add(1000, 2000)
    _core.WatchedSpans.note_write(500, 1000)
    _core.WatchedSpans.note_write(2000, 2500)
    assert spans.are_unwritten()
    _core.WatchedSpans.note_write(1999, 2500)
    assert not spans.are_unwritten()
    assert _core.WatchedSpans.exist()
    del spans
    _core.WatchedSpans.note_write(0, 5000)


def test_weights_that_another_thread_loads_during_the_first_call_are_seen():
    """The program has those that it was made with, and guards must not take the others for them."""
    net = nn.Linear(3, 2)
    loaded = {name: array + 1 for name, array in net.state_dict().items()}
    waiting = [lambda: net.load_state_dict(loaded)]

    class Loading(nn.Module):
        def forward(self, x):
            y = net(x)
            while waiting:
                in_a_thread(waiting.pop())
            return y

    layer, x = Loading(), F.ones(4, 3)
    compiled = sycl_dnn.compile(lambda x: layer(x))
    old = net(x)
    assert dpnp.allclose(compiled(x), old)
    for _ in range(2):
        assert dpnp.allclose(compiled(x), net(x))
    assert not dpnp.allclose(net(x), old)
    assert compiled.cache_info().misses == 2


@pytest.mark.parametrize("write", [assigned, doubled, into_out])
def test_writes_to_bfloat16_weights_are_seen(write):
    net, x = folding_net().bfloat16(), F.ones(*X, dtype="bfloat16")
    compiled, weight = sycl_dnn.compile(lambda x: net(x)), net[0].weight
    compiled(x)
    for _ in range(2):
        write(weight)
        np.testing.assert_allclose(compiled(x).asnumpy(), net(x).asnumpy(), rtol=0.02, atol=0.02)
    assert net[0].weight is weight


@pytest.mark.parametrize("way", ["function", "user function", "plan", "plans"])
def test_constants_that_another_thread_computes_before_a_write_are_computed_again(way, monkeypatch):
    """It reads them when arrays are bound and nothing is submitted yet."""
    net, x = folding_net(), F.ones(*X)
    weight = net[0].weight
    values = F.rand(*weight.shape)
    compiled = sycl_dnn.compile(lambda x: net(x))
    compiled(x)
    bound = sycl_dnn.plan(F.neg, values, out=weight)
    double = sycl_dnn.compile(lambda v: F.relu(v) * 2)
    write = {
        "function": lambda: F.neg(values, out=weight),
        "user function": lambda: double(values, out=weight),
        "plan": bound,
        "plans": lambda: sycl_dnn.submit([bound]),
    }[way]
    waiting = [lambda: compiled(x)]
    submit, prepare = Executable.submit, BoundCall._prepare

    def submitted(self, *args):
        if waiting:
            in_a_thread(waiting.pop())
        return submit(self, *args)

    def prepared(self):
        prepare(self)
        if waiting:
            in_a_thread(waiting.pop())

    weight.fill_(1)
    monkeypatch.setattr(Executable, "submit", submitted)
    monkeypatch.setattr(BoundCall, "_prepare", prepared)
    write()
    assert not waiting
    np.testing.assert_allclose(compiled(x).asnumpy(), net(x).asnumpy(), rtol=2e-5, atol=2e-5)


def test_writes_of_utilities_to_plain_arrays_are_seen():
    x, weight, bias = F.ones(8, 16), F.rand(32, 16), F.rand(32)
    compiled = sycl_dnn.compile(lambda x: F.linear(x, weight, bias))
    compiled(x)
    for write in (
        lambda: nn.utils.vector_to_parameters(F.ones(16 * 32 + 32), [weight, bias]),
        lambda: nn.init.normal_(weight),
        lambda: nn.utils.clip_grad_value_([weight], 0.01),
    ):
        for _ in range(2):
            write()
            np.testing.assert_allclose(
                compiled(x).asnumpy(), F.linear(x, weight, bias).asnumpy(), rtol=2e-5, atol=2e-5
            )


@pytest.mark.filterwarnings("ignore:function changed")
@pytest.mark.parametrize("way", ["compile", "plan"])
def test_the_functions_own_changes_cause_no_retrace(way):
    """It runs once, so its counters count once."""
    calls, counted = [], {"calls": 0}

    def function(x):
        calls.append(x.shape)
        counted["calls"] += 1
        return F.relu(x)

    x = F.ones(4, 3)
    repeated = sycl_dnn.compile(function) if way == "compile" else sycl_dnn.plan(function, x)
    for _ in range(3):
        repeated(*[x] * (way == "compile"))
    assert counted["calls"] == len(calls) == 1

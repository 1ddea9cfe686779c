# SPDX-License-Identifier: Apache-2.0
"""Calls of loaded models fold their weights, and still see every change of them."""

import copy
import gc
import weakref

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import optim, tree
from sycl_dnn.nn import folded_calls


@pytest.fixture
def x():
    values = np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype("f4")
    return sycl_dnn.asarray(values)


@pytest.fixture
def net(network, x):
    net = sycl_dnn.onnx.load(network)
    net(x)  # the weights are constants of this program
    assert folded_calls.program_of(net) is not None
    return net


def computed(net, x):
    """Return the result node by node, from the weights as they are now."""
    return net._run({"x": x}, None).asnumpy()


def check(net, x, before):
    actual = net(x).asnumpy()
    np.testing.assert_allclose(actual, computed(net, x), rtol=1e-5, atol=1e-5)
    assert np.abs(actual - before).max() > 1e-3


def doubled(array):
    return array * 2 + 1


def assigned(net):
    net.fc.weight = doubled(net.fc.weight)


def assigned_without_a_read(net):
    net.fc.bias = F.ones(5)


def written(net):
    net.fc.weight[...] = doubled(net.fc.weight)


def torch_methods(net):
    net.fc.bias.fill_(3.0)


def parameters(net):
    for p in net.parameters():
        p[...] = 0.5


def buffers(net):
    dict(net.named_buffers())["bn.mean"][...] = 2


def leaves(net):
    for leaf in tree.leaves(net):
        leaf[...] = 0.25


def state(net):
    net.state_dict()["fc.weight"][...] = 7


def loaded(net):
    net.load_state_dict({n: np.full(v.shape, 0.5, "f4") for n, v in net.state_dict().items()})


def applied(net):
    net._apply(doubled)


def replaced(net):
    net.fc = copy.deepcopy(net.fc)
    net.fc.bias[...] = 9


def registered(net):
    net.fc.register_parameter("bias", F.ones(5))


@pytest.mark.parametrize(
    "change",
    [assigned, assigned_without_a_read, written, torch_methods, parameters, buffers, leaves, state,
     loaded, applied, replaced, registered],
    ids=lambda change: change.__name__,
)  # fmt: skip
def test_calls_see_changes(net, x, change):
    before = net(x).asnumpy()
    change(net)
    check(net, x, before)


def test_a_handle_taken_earlier_still_writes(network, x):
    net = sycl_dnn.onnx.load(network)
    bias = net.fc.bias
    before = net(x).asnumpy()
    bias[...] = 4
    check(net, x, before)


def test_an_array_assigned_by_the_user_remains_the_users(net, x):
    mine = F.ones(5)
    net.fc.bias = mine
    before = net(x).asnumpy()
    mine[...] = 6
    check(net, x, before)


def test_training_steps_are_followed(net, x):
    before = net(x).asnumpy()
    opt = optim.SGD(lr=0.5)
    state = opt.init(net)

    @sycl_dnn.compile(donate="net")
    def step(net, state, x):
        loss, grads = sycl_dnn.value_and_grad(lambda net: F.sum(F.square(net(x))))(net)
        return loss, *opt.update(grads, state, net)

    for _ in range(3):
        _, net, state = step(net, state, x)
        check(net, x, before)
        before = net(x).asnumpy()


def test_statistics_of_training_calls_are_followed(net, x):
    before = net(x).asnumpy()
    net.train()
    for _ in range(3):
        net(x)
    net.eval()
    check(net, x, before)


def test_loading_weights_again_and_again_passes_them_as_arguments(network, x):
    net = sycl_dnn.onnx.load(network)
    other = sycl_dnn.onnx.load(network).state_dict()
    for i in range(8):
        net.load_state_dict({n: v * (i + 1) for n, v in other.items()})
        np.testing.assert_allclose(net(x).asnumpy(), computed(net, x), rtol=1e-4, atol=1e-4)
    assert folded_calls.program_of(net) is None


def test_results_are_those_of_compile(net, x):
    compiled = sycl_dnn.compile(net)
    np.testing.assert_array_equal(net(x).asnumpy(), compiled(x).asnumpy())
    assert folded_calls.program_of(net) is not None


def test_hooks_see_arrays(net, x):
    seen = []
    with net.register_forward_hook(lambda module, args, output: seen.append(output.shape)):
        net(x)
    assert seen == [(2, 5)]


def test_transforms_of_a_folded_model(net, x):
    want = sycl_dnn.value_and_grad(lambda net: F.sum(net(x)))(copy.deepcopy(net))
    actual = sycl_dnn.value_and_grad(lambda net: F.sum(net(x)))(net)
    for a, b in zip(tree.leaves(actual), tree.leaves(want), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-5)


def test_a_model_is_freed(network, x):
    net = sycl_dnn.onnx.load(network)
    net(x)
    alive = weakref.ref(net)
    del net
    gc.collect()
    assert alive() is None


def test_warmup_compiles_the_programs_of_shapes(network, x):
    net = sycl_dnn.onnx.load(network)
    assert net.warmup((2, 3, 8, 8), {"x": (1, 3, 8, 8)}) is net
    info = folded_calls.program_of(net).cache_info()
    assert info.size == 2
    net(x)
    assert folded_calls.program_of(net).cache_info().size == 2
    with pytest.raises(sycl_dnn.InvalidArguments, match="among \\['x'\\], got 'z'"):
        net.warmup({"z": (1,)})

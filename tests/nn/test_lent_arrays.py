# SPDX-License-Identifier: Apache-2.0
"""Lists and objects may hold what attributes of modules are, and stay equal to them."""

import copy
import operator
import pickle
from collections import deque

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn.trace.module_arrays import building


class Holder:
    def __init__(self, arrays):
        self.arrays = arrays


class Reader:
    """A callable whose state refers to the arrays."""

    def __init__(self, arrays):
        self.arrays = arrays

    def __call__(self):
        return self.arrays


def in_closure(arrays):
    first, second, third = arrays
    return lambda: (first, second, third)


#: By name: what holds three arrays, and how they are read from it.
HOLDERS = {
    "list": (list, list),
    "tuple": (tuple, list),
    "dict": (lambda arrays: dict(enumerate(arrays)), lambda held: list(held.values())),
    "nested": (lambda arrays: {"a": [arrays]}, lambda held: held["a"][0]),
    "deque": (deque, list),
    "object": (Holder, lambda held: held.arrays),
    "callable": (Reader, lambda held: held()),
    "closure": (in_closure, lambda held: held()),
}


class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.weight = nn.Parameter(F.ones(3))
        self.register_buffer("scale", F.ones(3))
        self.layer = nn.Linear(3, 3)
        arrays = [self.weight, self.scale, self.layer.weight]
        self.held = HOLDERS[kind][0](arrays)

    def arrays(self):
        return HOLDERS[self.kind][1](self.held)

    def forward(self, x):
        weight, scale, matrix = self.arrays()
        return F.sum(x * weight * scale) + F.sum(matrix * x)


def appended():
    net = Net("list")
    net.held = []
    net.held.append(net.weight)
    net.held += [net.scale, net.layer.weight]
    return net


def updated(net):
    opt = optim.SGD(0.5)
    _, grads = sycl_dnn.value_and_grad(lambda net: net(F.ones(3)))(net)
    return opt.update(grads, opt.init(net), net)[0]


def stepped(net):
    _, grads = sycl_dnn.value_and_grad(lambda net: net(F.ones(3)))(net)
    optim.SGD(0.5).step(net, grads)
    return net


def replaced_by_data(net):
    net.weight.data = F.zeros(3, dtype="float64")
    return net


#: What may have been done to a module before its state is loaded.
HISTORIES = {
    "new": lambda net: net,
    "copied": copy.deepcopy,
    "pickled": lambda net: net if net.kind == "closure" else pickle.loads(pickle.dumps(net)),
    "updated": updated,
    "stepped": stepped,
    "cast": lambda net: net.double().float(),
    "hooked": lambda net: net.register_forward_hook(lambda *args: None) and net,
}


def state(weight):
    return {
        "weight": np.full(3, weight, "f4"), "scale": np.full(3, 2, "f4"),
        "layer.weight": np.ones((3, 3), "f4"), "layer.bias": np.zeros(3, "f4"),
    }  # fmt: skip


def check_in_step(net, x):
    net.load_state_dict(state(5))
    value, grads = sycl_dnn.value_and_grad(lambda net: net(x))(net)
    assert float(value) == 39
    assert grads.weight.tolist() == [2, 2, 2]
    assert grads.layer.weight.tolist() == [[1, 1, 1]] * 3
    assert [float(array.ravel()[0]) for array in net.arrays()] == [5, 2, 1]
    compiled = sycl_dnn.compile(lambda x: net(x))
    assert float(compiled(x)) == 39
    net.load_state_dict(state(6))
    assert float(compiled(x)) == float(net(x)) == 45


@pytest.mark.parametrize("kind", HOLDERS)
def test_held_attributes_follow_the_state_and_have_gradients(kind):
    for history in HISTORIES.values():
        check_in_step(history(Net(kind)), F.ones(3))
    assert list(Net(kind).state_dict()) == ["weight", "scale", "layer.weight", "layer.bias"]


def test_an_array_that_becomes_a_parameter_in_init_is_its_attribute():
    net = Net("list")
    with building():
        weight = F.ones(3)
        net.weight = nn.Parameter(weight)
        net.held[0] = weight
    check_in_step(net, F.ones(3))


def test_arrays_appended_after_assignment_are_the_parameters():
    check_in_step(appended(), F.ones(3))


@pytest.mark.parametrize("kind", ["list", "object", "closure"])
def test_held_attributes_follow_to_bfloat16_in_forward(kind):
    net = Net(kind).bfloat16()
    net.load_state_dict(state(5))
    x = F.ones(3, dtype="bfloat16")
    assert float(F.astype(net(x), "float32")) == 39
    grads = sycl_dnn.grad(lambda net: net(x))(net)
    assert F.astype(grads.weight, "float32").tolist() == [2, 2, 2]


def test_an_attribute_follows_to_bfloat16_and_back():
    net = nn.Linear(2, 3)
    weight = net.weight
    net.bfloat16()
    net.load_state_dict({"weight": np.full((3, 2), 0.3), "bias": np.zeros(3)})
    assert (str(weight.dtype), weight.shape, weight.ndim) == ("bfloat16", (3, 2), 2)
    rounded = net.weight.tolist()
    for result in (
        weight,
        weight + 0,
        F.mul(weight, 1),
        weight[:],
        sycl_dnn.compile(F.abs)(weight),
    ):
        assert str(result.dtype) == "bfloat16"
        assert result.tolist() == rounded
    assert repr(weight) == repr(net.weight)
    weight[0] = 7.0
    assert net.weight[0].tolist() == [7, 7]
    for read in (lambda: dpnp.sin(weight), lambda: dpnp.add(weight, 1), lambda: weight.flags):
        with pytest.raises(TypeError, match="dpnp lacks bfloat16, to which this attribute of a"):
            read()
    net.float()
    assert net.weight is weight
    assert (str(weight.dtype), dpnp.sin(weight).dtype, weight[0].tolist()) == (
        "float32", np.float32, [7, 7]
    )  # fmt: skip


def test_an_attribute_converted_to_bfloat16_has_the_methods_it_had():
    net = nn.Linear(2, 3)
    weight = net.weight
    net.bfloat16()
    for write, value in (
        (lambda: weight.copy_(F.ones(3, 2)), 1), (lambda: weight.mul_(4), 4),
        (lambda: operator.iadd(weight, 1), 5), (lambda: weight.zero_(), 0),
    ):  # fmt: skip
        assert write() is weight
        assert net.weight.tolist() == weight.tolist() == [[value] * 2] * 3
    assert (len(weight), weight.numel(), weight.view(-1).shape) == (3, 6, (6,))
    assert weight.numpy().tolist() == weight.tolist()
    assert weight.clone().dtype == "bfloat16"
    assert weight.float().dtype == np.float32


def test_a_module_that_shares_an_array_keeps_it_when_another_loads():
    net = Net("list")
    net.freeze(lambda name: name == "weight")
    weight, other = net.weight, updated(net)
    other.load_state_dict(state(5))
    assert (weight.tolist(), net.held[0].tolist()) == ([1, 1, 1], [1, 1, 1])
    assert (other.weight.tolist(), other.held[0].tolist()) == ([5, 5, 5], [5, 5, 5])


def test_an_attribute_follows_what_data_is_set_to():
    net = Net("list")
    weight = net.weight
    weight.data = F.zeros(2, dtype="float64")
    assert weight.shape == net.weight.shape == net.held[0].shape == (2,)
    assert str(weight.dtype) == "float64"


def test_arrays_are_unchanged_after_their_attribute_is_rebound():
    net = Net("list")
    net.weight = nn.Parameter(F.zeros(3))
    net.load_state_dict(state(5))
    assert (net.held[0].tolist(), net.weight.tolist()) == ([1, 1, 1], [5, 5, 5])
    _, grads = sycl_dnn.value_and_grad(lambda net: net(F.ones(3)))(net)
    assert grads.weight.tolist() == [0, 0, 0]


def test_a_failed_load_changes_nothing():
    net = Net("list")
    with pytest.raises(RuntimeError, match="size mismatch for layer.bias"):
        net.load_state_dict(state(5) | {"layer.bias": np.zeros(2, "f4")})
    assert [float(array.ravel()[0]) for array in net.held[:2]] == [1, 1]


def test_parameters_of_modules_outside_the_tree_are_refused():
    net = Net("list")
    net.held.append(nn.Linear(2, 2).weight)
    kept = nn.Linear(2, 2)
    net.held[-1] = kept.weight
    with pytest.raises(TypeError, match=r"held\[3\] must hold parameters of the module and its"):
        net(F.ones(3))

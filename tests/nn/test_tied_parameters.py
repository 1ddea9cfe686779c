# SPDX-License-Identifier: Apache-2.0
"""One array under two names: state dicts, freezing, optimizers, checkpoints, pickles, copies."""

import copy
import pickle

import dpnp
import numpy as np
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim, tree


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, numbers):
        return self.head(self.embed(numbers))


def is_tied(net):
    return net.head.weight is net.embed.weight


NUMBERS = np.arange(5)


def loss(net):
    numbers = F.arange(5)
    return F.cross_entropy(net(numbers), numbers)


@pytest.mark.parametrize("keys", [("embed", "head"), ("head", "embed")])
def test_the_last_of_different_arrays_is_loaded(keys):
    torch = pytest.importorskip("torch")
    provided = {f"{key}.weight": np.full((5, 4), i, "f4") for i, key in enumerate(keys)}
    theirs = torch.nn.ModuleDict(
        {"embed": torch.nn.Embedding(5, 4), "head": torch.nn.Linear(4, 5, bias=False)}
    )
    theirs["head"].weight = theirs["embed"].weight
    theirs.load_state_dict({k: torch.tensor(v) for k, v in provided.items()})
    net = Tied()
    net.load_state_dict(provided)
    assert is_tied(net)
    np.testing.assert_array_equal(dpnp.asnumpy(net.embed.weight), theirs["head"].weight.detach())
    net.load_state_dict({"embed.weight": np.full((5, 4), 7, "f4")}, strict=False)
    assert is_tied(net)
    assert float(net.head.weight[0, 0]) == 7


@pytest.mark.parametrize("name", ["embed.weight", "head.weight"])
def test_any_name_freezes_and_unfreezes(name):
    net = Tied().freeze(lambda n: n == name)
    assert not list(net.named_parameters(trainable=True))
    assert sycl_dnn.grad(loss)(nn.Sequential(net, nn.Linear(5, 5)))[0].embed.weight is None
    net.unfreeze(lambda n: n == name)
    assert [n for n, _ in net.named_parameters(trainable=True)] == ["embed.weight"]


class Wrapped(nn.Module):
    """Registers its layer's parameters as its own first."""

    def __init__(self, is_frozen_before):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        if is_frozen_before:
            self.layer.weight.requires_grad = False
        for name, parameter in self.layer.named_parameters():
            self.register_parameter(name, parameter)
        self.layer.weight.requires_grad = False
        self.scale = nn.Parameter(F.ones(3))

    def forward(self, x):
        return self.layer(x) * self.scale


@pytest.mark.parametrize("is_frozen_before", [False, True])
@pytest.mark.parametrize("taken", [lambda net: net, copy.deepcopy])
def test_a_frozen_layer_freezes_the_tied_name_of_its_wrapper(is_frozen_before, taken):
    net = taken(Wrapped(is_frozen_before))
    assert [n for n, _ in net.named_parameters()] == ["weight", "bias", "scale"]
    assert [n for n, _ in net.named_parameters(trainable=True)] == ["bias", "scale"]
    grads = sycl_dnn.grad(lambda net: F.sum(net(F.ones(2, 3))))(net)
    assert grads.weight is None
    assert grads.layer.weight is None
    opt = optim.AdamW(0.1)
    moved, _ = opt.update(grads, opt.init(net), net)
    np.testing.assert_array_equal(dpnp.asnumpy(moved.layer.weight), dpnp.asnumpy(net.layer.weight))
    assert np.abs(dpnp.asnumpy(moved.bias) - dpnp.asnumpy(net.bias)).max() > 0.05
    net.unfreeze()
    assert len(list(net.named_parameters(trainable=True))) == 3


def test_a_name_that_was_never_read_is_frozen_and_trained_with_the_other():
    net = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    net[0].weight = net[1].weight
    net[1].weight.requires_grad = False
    assert not list(net.named_parameters(trainable=True))
    assert sycl_dnn.grad(lambda net: F.sum(net(F.ones(1, 3))))(net)[0].weight is None
    net[0].weight.requires_grad = True
    assert [n for n, _ in net.named_parameters(trainable=True)] == ["0.weight"]
    assert sycl_dnn.grad(lambda net: F.sum(net(F.ones(1, 3))))(net)[0].weight is not None


@pytest.mark.parametrize("opt", [optim.SGD(0.1, momentum=0.9), optim.AdamW(0.1), optim.Muon(0.1)])
def test_an_optimizer_updates_it_once(opt, tmp_path):
    net = Tied()
    state, grads = opt.init(net), sycl_dnn.grad(loss)(net)
    assert len(tree.leaves(grads)) == 1
    moved, state = opt.update(grads, state, net)
    assert is_tied(moved)
    file = tmp_path / "it.safetensors"
    sycl_dnn.save_checkpoint(file, net=moved, state=state)
    other = Tied()
    found = sycl_dnn.load_checkpoint(file, net=other, state=opt.init(other))["net"]
    assert is_tied(found)
    np.testing.assert_array_equal(dpnp.asnumpy(found.head.weight), dpnp.asnumpy(moved.embed.weight))


def test_modules_that_share_an_array_cannot_be_optimized_separately():
    trunk = nn.Linear(3, 3)
    nets = {"a": nn.Sequential(trunk, nn.Linear(3, 1)), "b": [nn.Sequential(trunk)]}
    opt = optim.SGD(0.1)
    with pytest.raises(ValueError, match=r"one array as a\.0\.weight and as b\.0\.0\.weight"):
        opt.init(nets)
    with pytest.raises(ValueError, match="one array as a.weight and as b.weight"):
        opt.init({"a": trunk, "b": trunk})
    whole = nn.ModuleDict({"a": nets["a"], "b": nets["b"][0]})
    grads = sycl_dnn.grad(lambda m: F.sum(m["a"](F.ones(1, 3))) + F.sum(m["b"](F.ones(1, 3))))
    moved, _ = opt.update(grads(whole), opt.init(whole), whole)
    assert moved["a"][0].weight is moved["b"][0].weight
    trunk.freeze()
    opt.init(nets)
    same = F.ones(2)
    opt.init({"v": same, "w": same})  # arrays of no module are values


def test_steps_of_several_threads_are_not_lost():
    net, opt = nn.Linear(4, 4), optim.SGD(1.0)
    for p in net.parameters():
        p.fill_(0.0)
    ones = tree.map(F.ones_like, net)

    def steps(number):
        for _ in range(20):
            opt.step(net, ones)

    in_threads(4, steps)
    np.testing.assert_array_equal(dpnp.asnumpy(net.weight), -80)


@pytest.mark.parametrize("copied", [lambda n: pickle.loads(pickle.dumps(n)), copy.deepcopy])
def test_pickles_and_copies_remain_tied(copied):
    net = nn.Sequential(Tied(), nn.BatchNorm1d(5), nn.Dropout(0.5), nn.Linear(5, 2).bfloat16())
    net.eval()
    net[3].freeze()
    result = copied(net)
    assert repr(result) == repr(net)
    assert is_tied(result[0])
    assert result[0].head.weight is not net[0].head.weight
    assert not result.training
    assert [n for n, _ in result.named_parameters(trainable=True)] == [
        n for n, _ in net.named_parameters(trainable=True)
    ]
    numbers = dpnp.asarray(NUMBERS)
    np.testing.assert_array_equal(*(dpnp.asnumpy(n[:2](numbers)) for n in (result, net)))
    assert result[3].weight.dtype == "bfloat16"
    shallow = copy.copy(net)
    assert shallow[0] is net[0]


def test_a_parameter_under_a_new_name_is_tied():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Linear(3, 3, bias=False)
            self.decode = self.encode.weight

        def forward(self, x):
            return F.linear(self.encode(x), self.decode)

    net = Net()
    assert list(net.state_dict()) == ["decode", "encode.weight"]
    net.load_state_dict({name: np.eye(3, dtype="f4") * 2 for name in net.state_dict()})
    assert net.decode is net.encode.weight
    slope = sycl_dnn.grad(lambda net: F.sum(net(F.ones(1, 3))))(net)
    assert dpnp.asnumpy(slope.decode).tolist() == [[4.0] * 3] * 3
    net.freeze()
    other = nn.Module()
    other.weight = net.decode
    assert not list(other.named_parameters(trainable=True))
    other.both = nn.ParameterList([net.decode])
    assert list(other.state_dict()) == ["weight", "both.0"]


def test_modules_in_plain_lists_are_trained_under_the_name_that_registers_them():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2))]
            for number, layer in enumerate(self.layers):
                setattr(self, f"layer{number}", layer)
            self.other, self.unknown = nn.Linear(2, 2), [nn.Linear(2, 2)]

        def forward(self, x):
            for layer in (*self.layers, self.other, *self.unknown):
                x = layer(x)
            return x

    net, x = Net(), F.ones(1, 2)
    grads = sycl_dnn.grad(lambda net: F.sum(net(x)))(net)
    names = ["layer0.weight", "layer0.bias", "layer1.0.weight", "layer1.0.bias"]
    assert [n for n, _ in grads.named_parameters()] == [*names, "other.weight", "other.bias"]
    seen = []
    rate = optim.SGD(0.1, groups=[(lambda name: bool(seen.append(name)), {})])
    before = dpnp.asnumpy(net.layers[1][0].bias)
    moved, _ = rate.update(grads, rate.init(net), net)
    assert set(names) <= set(seen)
    assert (dpnp.asnumpy(moved.layers[1][0].bias) != before).any()
    assert moved.layer1 is moved.layers[1]

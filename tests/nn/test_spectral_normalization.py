# SPDX-License-Identifier: Apache-2.0
"""Spectral normalization and parametrizations against torch: names, values, buffers, gradients."""

import copy
import pickle

import dpnp
import numpy as np
import pytest
from compared_with_torch import torch

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

LAYERS = {
    "linear": (lambda t: t.Linear(4, 3), (5, 4)),
    "conv": (lambda t: t.Conv2d(4, 3, 3), (2, 4, 6, 6)),
    "transposed": (lambda t: t.ConvTranspose1d(4, 3, 3), (2, 4, 6)),
}
WAYS = {
    "utils": lambda t: t.utils.spectral_norm,
    "parametrizations": lambda t: t.utils.parametrizations.spectral_norm,
}


def pair(layer, way, **options):
    make, shape = LAYERS[layer]
    theirs = WAYS[way](torch.nn)(make(torch.nn), **options)
    own = WAYS[way](nn)(make(nn), **options)
    assert {n: tuple(v.shape) for n, v in theirs.state_dict().items()} == {
        n: v.shape for n, v in own.state_dict().items()
    }
    assert list(own.state_dict()) == list(theirs.state_dict())
    own.load_state_dict(theirs.state_dict())
    x = np.random.default_rng(3).standard_normal(shape).astype("f4")
    return own, theirs, dpnp.asarray(x), torch.from_numpy(x)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layer", LAYERS)
def test_values_buffers_and_gradients_match_torch(layer, way):
    own, theirs, x, their_x = pair(layer, way, n_power_iterations=2)
    for _ in range(2):
        out = theirs(their_x)
        theirs.zero_grad()
        out.square().sum().backward()
        value, grads = sycl_dnn.value_and_grad(lambda net: F.sum(F.square(net(x))))(own)
        np.testing.assert_allclose(float(value), float(out.square().sum()), rtol=1e-4)
        for name, buffer in theirs.named_buffers():
            found = dpnp.asnumpy(dict(own.named_buffers())[name])
            np.testing.assert_allclose(found, buffer.numpy(), rtol=1e-3, atol=1e-4)
        for name, parameter in theirs.named_parameters():
            found = dpnp.asnumpy(dict(grads.named_parameters())[name])
            np.testing.assert_allclose(found, parameter.grad.numpy(), rtol=2e-3, atol=2e-3)
    found, want = own.eval()(x), theirs.eval()(their_x).detach().numpy()
    np.testing.assert_allclose(dpnp.asnumpy(found), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("copied", [lambda n: pickle.loads(pickle.dumps(n)), copy.deepcopy])
def test_copies_and_training(way, copied):
    sycl_dnn.manual_seed(0)  # how many iterations it takes depends on the weights
    net = nn.Sequential(WAYS[way](nn)(nn.Linear(4, 3)), nn.ReLU())
    x = F.randn(6, 4)
    for _ in range(30):
        net(x)
    largest = np.linalg.norm(dpnp.asnumpy(net.eval()[0].weight), 2)
    assert abs(largest - 1) < 1e-3
    other = copied(net)
    np.testing.assert_array_equal(dpnp.asnumpy(other(x)), dpnp.asnumpy(net(x)))
    assert repr(other) == repr(net)


def test_removal_keeps_the_current_weight():
    layer = nn.utils.spectral_norm(nn.Linear(4, 3)).eval()
    want = dpnp.asnumpy(layer.weight)
    nn.utils.remove_spectral_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_allclose(dpnp.asnumpy(layer.weight), want)
    layer = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)).eval()
    want = dpnp.asnumpy(layer.weight)
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    np.testing.assert_allclose(dpnp.asnumpy(layer.weight), want)
    with pytest.raises(ValueError, match="at least two axes"):
        nn.utils.spectral_norm(nn.Linear(4, 3), "bias")
    with pytest.raises(ValueError, match="n_power_iterations must be at least 1, got 0"):
        nn.utils.spectral_norm(nn.Linear(4, 3), n_power_iterations=0)


class LowRank(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.down, self.up = nn.Parameter(F.randn(1, m)), nn.Parameter(F.zeros(n, 1))

    def forward(self, weight):
        return weight + self.up @ self.down


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, weight):
        return weight.triu()


def test_custom_parametrizations_train_and_are_copied():
    net, x = nn.Sequential(nn.Linear(3, 3)), F.randn(4, 3)
    before = dpnp.asnumpy(net(x))
    register = nn.utils.parametrize.register_parametrization
    register(net[0], "weight", LowRank(3, 3))
    np.testing.assert_allclose(dpnp.asnumpy(net(x)), before, rtol=1e-5, atol=1e-6)
    assert list(net.state_dict()) == [
        "0.bias", "0.parametrizations.weight.original", "0.parametrizations.weight.0.down",
        "0.parametrizations.weight.0.up",
    ]  # fmt: skip
    grads = sycl_dnn.grad(lambda net: F.sum(F.square(net(x))))(net)
    assert all(n.endswith("down") or float(F.norm(g)) for n, g in grads.named_parameters())
    register(net[0], "weight", Symmetric())
    for module in (net, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        weight = dpnp.asnumpy(module[0].weight)
        np.testing.assert_array_equal(weight, weight.T)
        np.testing.assert_allclose(
            dpnp.asnumpy(module(x)), dpnp.asnumpy(x) @ weight.T + dpnp.asnumpy(module[0].bias),
            rtol=1e-5, atol=1e-5,
        )  # fmt: skip


def test_parametrizations_over_normalized_weights_are_refused():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
    with pytest.raises(ValueError, match="must not be normalized already, got 'weight'"):
        nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())


class Exponential(nn.Module):
    def forward(self, x):
        return F.exp(x)


class Logarithm(nn.Module):
    def forward(self, x):
        return F.log(x)

    def right_inverse(self, x):
        return F.exp(x)


class Both(Exponential):
    def right_inverse(self, x):
        return F.log(x)


PARAMETRIZE = nn.utils.parametrize.register_parametrization
PARAMETRIZATIONS = {
    "own": lambda layer: PARAMETRIZE(layer, "weight", Both()),
    "chain": lambda layer: PARAMETRIZE(PARAMETRIZE(layer, "weight", Both()), "weight", Logarithm()),
    "weight_norm": nn.utils.parametrizations.weight_norm,
    "weight_norm of all": lambda layer: nn.utils.parametrizations.weight_norm(layer, dim=None),
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETRIZATIONS)
def test_an_assigned_weight_goes_through_right_inverse(name):
    layer, x = nn.Linear(3, 2), F.randn(4, 3)
    layer.weight = F.rand(2, 3) + 0.5
    layer = PARAMETRIZATIONS[name](layer)
    compiled = sycl_dnn.compile(lambda x: layer(x))
    compiled(x)
    weight = F.rand(2, 3) + 1.0
    layer.weight = weight
    np.testing.assert_allclose(layer.weight.asnumpy(), weight.asnumpy(), rtol=1e-5)
    expected = F.linear(x, weight, layer.bias).asnumpy()
    for function in (layer, compiled):
        np.testing.assert_allclose(function(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="original"):
        layer.weight = F.ones(5, 5)


def test_an_assigned_weight_is_normalized_by_its_largest_singular_value():
    layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2))
    layer.weight = F.full((2, 3), 2.0)
    assert layer.parametrizations.weight.original.tolist() == [[2.0] * 3] * 2


def test_weights_without_an_inverse_cannot_be_assigned():
    with pytest.raises(NotImplementedError, match="Exponential must have right_inverse"):
        PARAMETRIZE(nn.Linear(3, 2), "weight", Exponential()).weight = F.ones(2, 3)
    with pytest.raises(AttributeError, match="assign to weight_g and weight_v"):
        nn.utils.weight_norm(nn.Linear(3, 2)).weight = F.ones(2, 3)

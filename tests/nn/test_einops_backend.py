# SPDX-License-Identifier: Apache-2.0
"""einops on arrays and in ``forward``: values match NumPy's, gradients match plain functions."""

import copy
import pickle

import dpnp
import einops
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

CASES = {
    "rearrange": lambda e, x: e.rearrange(x, "b (h w) c -> b c h w", h=2),
    "merged": lambda e, x: e.rearrange(x, "b s c -> (b s) c"),
    "anonymous": lambda e, x: e.rearrange(x, "b ... -> b (...)"),
    "mean": lambda e, x: e.reduce(x, "b (s t) c -> b s c", "mean", t=2),
    "max": lambda e, x: e.reduce(x, "b s c -> b c", "max"),
    "min": lambda e, x: e.reduce(x, "b s c -> b 1 1", "min"),
    "sum": lambda e, x: e.reduce(x, "b s c -> c", "sum"),
    "prod": lambda e, x: e.reduce(x, "b s c -> b s", "prod"),
    "repeat": lambda e, x: e.repeat(x, "b s c -> b s n c m", n=3, m=2),
    "repeat merged": lambda e, x: e.repeat(x, "b s c -> (b n) (s m) c", n=3, m=2),
    "stack": lambda e, x: e.rearrange([x, x * 2], "n b s c -> b n s c"),
    "einsum": lambda e, x: e.einsum(x, x, "b s c, b t c -> b s t"),
    "pack": lambda e, x: e.pack([x, x[:, 0]], "b * c")[0],
    "unpack": lambda e, x: e.unpack(x, [(1,), (3,)], "b * c")[1],
}


class Apply(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.scale, self.function = nn.Parameter(F.ones(4)), function

    def forward(self, x):
        return self.function(einops, x * self.scale)


@pytest.fixture
def x():
    return F.randn(2, 4, 4)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values_match_numpy(case, x):
    want = case(einops, dpnp.asnumpy(x))
    net = Apply(case)
    for found in (case(einops, x), net(x), sycl_dnn.compile(lambda net, x: net(x))(net, x)):
        np.testing.assert_allclose(dpnp.asnumpy(found), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.sweep(2)
def test_gradients_match_finite_differences(case, x):
    net = Apply(case)

    def loss(net, x):
        return F.sum(F.square(net(x)))

    grads = sycl_dnn.grad(loss)(net, x)
    step, wide = 1e-4, dpnp.asnumpy(x).astype("f8")
    for axis in range(4):
        values = []
        for sign in (1, -1):
            scale = np.ones(4)
            scale[axis] += sign * step
            values.append(np.square(case(einops, wide * scale)).sum())
        want = (values[0] - values[1]) / (2 * step)
        assert abs(float(grads.scale[axis]) - want) <= 2e-3 * max(1, abs(want))


def test_layers_train_and_are_copied(x):
    layers = pytest.importorskip("sycl_dnn.nn.einops_layers")
    net = nn.Sequential(
        layers.Rearrange("b (h w) c -> b h w c", h=2),
        layers.EinMix("b h w c -> b h d", "w c d", "d", w=2, c=4, d=3),
        layers.Reduce("b h d -> b d", "mean"),
    )
    want = np.einsum("bhwc,wcd->bhd", dpnp.asnumpy(x).reshape(2, 2, 2, 4),
                     dpnp.asnumpy(net[1].weight)) + dpnp.asnumpy(net[1].bias)  # fmt: skip
    for module in (net, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        np.testing.assert_allclose(dpnp.asnumpy(module(x)), want.mean(1), rtol=1e-4, atol=1e-5)
    grads = sycl_dnn.grad(lambda net: F.sum(net(x)))(net)
    np.testing.assert_allclose(dpnp.asnumpy(grads[1].bias).ravel(), [2, 2, 2], rtol=1e-5)
    assert repr(net[0]) == "Rearrange('b (h w) c -> b h w c', h=2)"

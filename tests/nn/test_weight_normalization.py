# SPDX-License-Identifier: Apache-2.0
"""``nn.utils``: weight normalization and clipping in place; against torch."""

import copy

import dpnp
import numpy as np
import pytest
from arrays import on_device
from compared_with_torch import torch

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

#: Class, arguments, shape of the input, name of the weight, axis.
ROWS = [
    ("Linear", (4, 5), (3, 4), "weight", 0), ("Linear", (4, 5, False), (3, 4), "weight", 1),
    ("Linear", (4, 5), (3, 4), "weight", None), ("Conv2d", (2, 4, 3), (1, 2, 5, 5), "weight", 0),
    ("ConvTranspose1d", (2, 4, 3), (1, 2, 5), "weight", 1),
    ("GRU", (4, 3), (5, 2, 4), "weight_hh_l0", 0),
]  # fmt: skip
WAYS = {
    "old": lambda m: m.utils.weight_norm, "new": lambda m: m.utils.parametrizations.weight_norm,
}  # fmt: skip


def close(a, b, tolerance=3e-5):
    b = b.detach().numpy() if hasattr(b, "detach") else b
    np.testing.assert_allclose(dpnp.asnumpy(a), b, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[3]}-{row[4]}")
def test_weight_norm_matches_torch(row, way):
    name, args, shape, weight, dim = row
    own, other = (WAYS[way](m)(getattr(m, name)(*args), weight, dim) for m in (nn, torch.nn))
    assert repr(own) == repr(other)
    assert list(own.state_dict()) == list(other.state_dict())
    assert [n for n, _ in own.named_parameters()] == [n for n, _ in other.named_parameters()]
    own.load_state_dict(other.state_dict())
    with torch.no_grad():
        first = next(p for n, p in other.named_parameters() if n.endswith(("_g", "original0")))
        first.mul_(1.5)
    own.load_state_dict(other.state_dict())
    values = np.random.default_rng(0).standard_normal(shape).astype("f4")
    expected = other(torch.tensor(values))
    expected = expected[0] if isinstance(expected, tuple) else expected
    close(getattr(own, weight), getattr(other, weight))
    expected.sin().sum().backward()

    def result(net, x):
        actual = net(x)
        return actual[0] if isinstance(actual, tuple) else actual

    close(result(own, on_device(values)), expected)
    step = sycl_dnn.compile(sycl_dnn.grad(lambda net, x: F.sum(F.sin(result(net, x)))))
    grads = step(own, on_device(values))
    theirs = dict(other.named_parameters())
    for path, gradient in grads.named_parameters():
        close(gradient, theirs[path].grad, 1e-4)
    again = copy.deepcopy(own)
    close(result(again, on_device(values)), expected)
    before = dpnp.asnumpy(getattr(own, weight))
    undo = {"old": nn.utils.remove_weight_norm,
            "new": nn.utils.parametrize.remove_parametrizations}[way]  # fmt: skip
    assert type(undo(own, weight)) is getattr(nn, name)
    close(own._parameters[weight], before)
    assert sorted(own.state_dict()) == sorted(getattr(nn, name)(*args).state_dict())


def test_normalized_net_trains_and_frozen_parameters_stay():
    sycl_dnn.manual_seed(0)  # some networks begin near the minimum
    net = nn.Sequential(nn.utils.weight_norm(nn.Linear(4, 8)), nn.Tanh(), nn.Linear(8, 1))
    frozen = nn.Linear(2, 2).freeze()
    assert not list(nn.utils.weight_norm(frozen).named_parameters(trainable=True))
    nn.utils.remove_weight_norm(frozen)
    assert not list(frozen.named_parameters(trainable=True))
    nn.utils.parametrizations.weight_norm(frozen)
    assert not list(frozen.named_parameters(trainable=True))
    x, opt, losses = F.randn(16, 4), optim.Adam(0.05), []
    for _ in range(15):
        value, grads = sycl_dnn.value_and_grad(lambda net: F.mean(F.square(net(x))))(net)
        opt.step(net, grads)
        losses.append(float(value))
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.utils.weight_norm(nn.Linear(2, 2), "kernel"), "of Linear that is not normal"),
        (lambda: nn.utils.weight_norm(nn.utils.weight_norm(nn.Linear(2, 2))), "got 'weight'"),
        (lambda: nn.utils.weight_norm(nn.Linear(2, 2), dim=2), r"axis of weight \(2, 2\), got 2"),
        (lambda: nn.utils.remove_weight_norm(nn.Linear(2, 2)), "weight of Linear must be normal"),
        (lambda: nn.utils.vector_to_parameters(F.ones(8), nn.Linear(2, 3).parameters()),
         r"vec must have the shape \(9,\), got \(8,\)"),
    ],
)  # fmt: skip
def test_invalid_use_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_gradients_of_a_module_are_clipped_inside_a_step():
    net, x = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), F.randn(6, 3)

    @sycl_dnn.compile
    def step(net, x):
        grads = sycl_dnn.grad(lambda net: F.sum(F.pow(net(x), 4.0)))(net)
        norm = nn.utils.clip_grad_norm_(grads, 0.5)
        return norm, grads

    norm, grads = step(net, x)
    assert float(norm) > 0.5
    assert float(nn.utils.get_total_norm(grads)) == pytest.approx(0.5, rel=1e-4)
    narrow = [F.astype(F.ones(4), "bfloat16")]
    nn.utils.clip_grad_norm_(narrow, 1.0)
    assert float(F.astype(narrow[0], "float32")[0]) == 0.5

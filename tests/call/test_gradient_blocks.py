# SPDX-License-Identifier: Apache-2.0
"""``no_grad`` blocks: values are unchanged, and their results are constants to gradients."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import enable_grad, inference_mode, nn, no_grad, set_grad_enabled
from sycl_dnn import functional as F


def total(x):
    return F.sum(F.square(x))


@no_grad()
def decorated(x):
    return total(x)


@no_grad
def decorated_bare(x):
    return total(x)


@inference_mode
def in_inference(x):
    return total(x)


def in_block(x):
    with no_grad():
        return total(x)


def in_disabled(x):
    with set_grad_enabled(False):
        return total(x)


def in_inference_block(x):
    with inference_mode():
        return total(x)


def in_both(x):
    with no_grad(), set_grad_enabled(True), no_grad():
        return total(x)


CONSTANT = [
    decorated, decorated_bare, in_inference, in_block, in_disabled, in_inference_block, in_both,
]  # fmt: skip


def enabled_again(x):
    with no_grad(), enable_grad():
        return total(x)


@set_grad_enabled(True)
def enabled(x):
    return total(x)


def not_in_inference(x):
    with inference_mode(False):
        return total(x)


@no_grad()
@enable_grad
def enabled_inside(x):
    return total(x)


def after_an_error(x):
    try:
        with no_grad():
            raise ValueError
    except ValueError:
        return total(x)


GRADIENTS = [enabled_again, enabled, not_in_inference, enabled_inside, after_an_error, total]


def loss(function):
    return lambda x: F.sum(x * function(x))


WAYS = {
    "grad": lambda f, x: sycl_dnn.grad(f)(x),
    "compiled": lambda f, x: sycl_dnn.compile(sycl_dnn.grad(f))(x),
    "around compiled": lambda f, x: sycl_dnn.grad(sycl_dnn.compile(f))(x),
    "vjp": lambda f, x: sycl_dnn.vjp(f, x)[1](F.ones(()))[0],
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("function", CONSTANT + GRADIENTS)
@pytest.mark.sweep(2)
def test_gradients_in_no_grad_blocks_match_torch(function, way):
    x = F.arange(1, 4, dtype="float32")
    values = dpnp.asnumpy(x)
    want = np.full(3, np.square(values).sum())
    if function in GRADIENTS:
        want = want + 2 * values * values.sum()
    for _ in range(2):
        np.testing.assert_allclose(dpnp.asnumpy(way(loss(function), x)), want, rtol=1e-5)


@pytest.mark.parametrize("function", CONSTANT + GRADIENTS)
def test_values_are_unchanged(function):
    x = F.arange(1, 4, dtype="float32")
    for call in (function, sycl_dnn.compile(function)):
        assert float(call(x)) == 14


class Head(nn.Module):
    """A backbone without gradients, through a decorated method, and a head."""

    def __init__(self):
        super().__init__()
        self.backbone, self.norm, self.head = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)

    @no_grad()
    def features(self, x):
        return self.norm(F.relu(self.backbone(x)))

    def forward(self, x):
        return self.head(self.features(x))


def test_a_part_of_a_network_without_gradients_updates_its_statistics():
    net, x = Head(), F.randn(8, 3)
    grads = sycl_dnn.grad(lambda net: F.sum(net(x)))(net)
    norms = {n: float(F.norm(g)) for n, g in grads.named_parameters()}
    assert {n.partition(".")[0] for n, norm in norms.items() if norm} == {"head"}
    assert int(net.norm.num_batches_tracked) == 1
    assert float(F.norm(net.norm.running_mean)) > 0


def test_parameters_change_in_blocks_outside_of_functions():
    net = nn.Linear(2, 2)
    with no_grad():
        net.weight.copy_(dpnp.eye(2))
        net.weight.mul_(2)
        net.bias.zero_()
    assert net(F.ones(1, 2)).tolist() == [[2, 2]]

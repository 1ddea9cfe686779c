# SPDX-License-Identifier: Apache-2.0
"""Training in bfloat16: by autocast, and with bfloat16 parameters over float32 master weights."""

import contextlib

import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim


def trained(way):
    sycl_dnn.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Linear(32, 3))
    opt = optim.AdamW(1e-2, master_weights=way == "parameters")
    x, labels = F.randn(32, 8), F.arange(32) % 3
    if way == "parameters":
        net.bfloat16()
        x = F.astype(x, "bfloat16")

    def loss(net, x, labels):
        return F.cross_entropy(F.astype(net(x), "float32"), labels)

    @sycl_dnn.compile
    def step(net, state, x, labels):
        value, grads = sycl_dnn.value_and_grad(loss)(net, x, labels)
        return value, *opt.update(grads, state, net)

    state = opt.init(net)
    with sycl_dnn.autocast("bfloat16") if way == "autocast" else contextlib.nullcontext():
        for _ in range(60):
            value, net, state = step(net, state, x, labels)
    return float(value)


@pytest.mark.parametrize("way", ["autocast", "parameters"])
def test_the_loss_is_that_of_float32_within_a_percent(way):
    wanted = trained("float32")
    assert wanted < 0.1
    assert trained(way) == pytest.approx(wanted, rel=0.01)

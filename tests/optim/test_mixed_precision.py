# SPDX-License-Identifier: Apache-2.0
"""Mixed-precision training: autocast, and bfloat16 parameters with float32 master weights."""

import contextlib
import functools
from pathlib import Path

import dpnp
import numpy as np
import pytest
from letters_network import GPT

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim, tree
from sycl_dnn.onednn import Engine
from sycl_dnn.trace.capabilities import multiplies

TEXT = (Path(__file__).parents[2] / "LICENSE").read_text(encoding="utf-8")
STEPS, LENGTH, WIDTH = 300, 24, 32


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


@pytest.mark.slow
@pytest.mark.parametrize("way", ["autocast", "parameters"])
def test_the_loss_is_within_a_percent_of_float32(way):
    expected = trained("float32")
    assert expected < 0.1
    assert trained(way) == pytest.approx(expected, rel=0.01)


def windows(alphabet):
    """The letters of each step, and those that follow."""
    numbers = np.searchsorted(alphabet, list(TEXT))
    starts = np.random.default_rng(0).integers(0, len(numbers) - LENGTH - 1, (STEPS, 16))
    rows = numbers[starts[..., None] + np.arange(LENGTH + 1)]
    queue = sycl_dnn.default_queue()
    return [dpnp.asarray(part, sycl_queue=queue) for part in rows]


def make_step(opt, scaler):
    """A compiled step: the loss is scaled for the gradients alone."""

    def step(net, state, scale, rows, mask):
        def loss(net):
            value = F.cross_entropy(net(rows[:, :-1], mask), rows[:, 1:].reshape(-1))
            return scaler.scale(value, scale) if scaler else value

        value, grads = sycl_dnn.value_and_grad(loss)(net)
        if scaler is None:
            return value, *opt.update(grads, state, net), scale
        return value / scale["scale"], *scaler.update(opt, grads, state, net, scale)

    return sycl_dnn.compile(step)


@functools.cache
def loss_of_gpt(dtype):
    """The loss after all steps, a mean over the last 20."""
    sycl_dnn.manual_seed(0)
    alphabet = sorted(set(TEXT))
    net = GPT(len(alphabet), LENGTH, WIDTH, 4 * WIDTH)
    opt = optim.AdamW(optim.schedules.one_cycle(1e-2, STEPS), max_norm=1.0)
    scaler = optim.GradScaler() if dtype == "float16" else None
    state, scale, losses = opt.init(net), scaler.init() if scaler else None, []
    mask, step = F.triu(F.full((LENGTH, LENGTH), -np.inf), 1), make_step(opt, scaler)
    with sycl_dnn.autocast(dtype):
        for rows in windows(alphabet):
            value, net, state, scale = step(net, state, scale, rows, mask)
            losses.append(value)
    return float(np.mean([float(v) for v in losses[-20:]]))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_gpt_ends_within_a_percent_of_float32(dtype):
    queue = sycl_dnn.default_queue()
    if not multiplies(Engine(queue), dtype):
        pytest.skip(f"{queue.sycl_device.name.strip()} multiplies {dtype} in float32")
    expected = loss_of_gpt("float32")
    assert expected < 2.3
    assert loss_of_gpt(dtype) == pytest.approx(expected, rel=0.01)


def loaded(net):
    values = {**net.state_dict(), "bias": F.full((2,), 0.25, dtype="bfloat16")}
    net.load_state_dict(values)


def assigned(net):
    net.bias[...] = 0.25


def replaced(net):
    net.bias = F.clamp(net.bias, 0.25, 0.25)


@pytest.mark.parametrize("write", [loaded, assigned, replaced])
def test_master_weights_follow_what_is_written_to_parameters(write):
    """Elements that were not written keep the bits that rounding hides."""
    net, opt = nn.Linear(3, 2, dtype="bfloat16"), optim.SGD(0.5, master_weights=True)
    opt.step(net, tree.map(lambda p: F.full(p.shape, 1e-3), net))
    before = dpnp.asnumpy(opt.state_of(net)["master"]["weight"])
    write(net)
    opt.step(net, tree.map(lambda p: F.zeros(p.shape), net))
    masters = opt.state_of(net)["master"]
    assert net.bias.tolist() == masters["bias"].tolist() == [0.25, 0.25]
    assert (dpnp.asnumpy(masters["weight"]) == before).all()
    assert (before != dpnp.asnumpy(F.astype(net.weight, "float32"))).any()

# SPDX-License-Identifier: Apache-2.0
"""Gradient accumulation over parts; buffers are updated only in the forward pass."""

import copy

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

PARTS = 4
OPTIMIZERS = {
    "SGD": lambda: optim.SGD(0.1, weight_decay=0.1), "AdamW": lambda: optim.AdamW(1e-2),
    "momentum": lambda: optim.SGD(0.1, momentum=0.9, max_norm=0.5),
    "LAMB": lambda: optim.LAMB(1e-2, weight_decay=0.1),
}  # fmt: skip


def network():
    sycl_dnn.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Linear(16, 3))


def loss(net, x, labels):
    return F.cross_entropy(net(x), labels)


def buffers(net):
    return {name: dpnp.asnumpy(b).copy() for name, b in net.named_buffers()}


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("first", ["none", "zeros of the module"])
@pytest.mark.parametrize("way", ["eager", "compiled"])
def test_the_sum_of_parts_with_batch_norm_updates_parameters_only(name, first, way):
    net, opt, (x, labels) = network(), OPTIMIZERS[name](), (F.randn(32, 8), F.arange(32) % 3)

    def part(net, sums, x, labels):
        grads = sycl_dnn.grad(loss)(net, x, labels)
        return optim.accumulate(sums, grads, weight=1 / PARTS)

    compiled = sycl_dnn.compile if way == "compiled" else lambda f: f
    part, update = compiled(part), compiled(opt.update)
    state = opt.init(net)
    grads = [sycl_dnn.grad(loss)(copy.deepcopy(net), x[i::PARTS], labels[i::PARTS])
             for i in range(PARTS)]  # fmt: skip
    sums = None if first == "none" else sycl_dnn.tree.map(F.zeros_like, net)
    for i in range(PARTS):
        sums = part(net, sums, x[i::PARTS], labels[i::PARTS])
    for layer in (0, 3):
        expected = sum(dpnp.asnumpy(g[layer].weight) for g in grads) / PARTS
        np.testing.assert_allclose(dpnp.asnumpy(sums[layer].weight), expected, rtol=1e-4, atol=1e-6)
    before = buffers(net)
    assert before["1.num_batches_tracked"] == PARTS
    moved, _ = update(sums, state, net)
    after = buffers(moved)
    assert all((before[name] == after[name]).all() for name in before)
    assert not (moved[0].weight == net[0].weight).all()
    opt.step(net, sums)
    assert all((before[name] == value).all() for name, value in buffers(net).items())


@pytest.mark.parametrize("way", ["eager", "compiled"])
def test_arrays_for_buffers_and_frozen_parameters_are_ignored(way):
    net, opt = network(), optim.SGD(1.0)
    net.freeze(lambda name: name.startswith("0."))
    grads = sycl_dnn.tree.map(lambda p: p * 0 + 1.0, net)
    update = sycl_dnn.compile(opt.update) if way == "compiled" else opt.update
    moved, state = update(grads, opt.init(net), net)
    assert (moved[0].weight == net[0].weight).all()
    assert all((a == b).all() for a, b in zip(moved.buffers(), net.buffers(), strict=True))
    np.testing.assert_allclose((net[3].bias - moved[3].bias).tolist(), 1.0, rtol=1e-6)
    scaler = optim.GradScaler(2.0)
    grads[1].running_mean = grads[1].running_mean * float("inf")
    result, is_finite = scaler.unscale(grads, scaler.init())
    assert bool(is_finite)
    assert result[3].bias.tolist() == [0.5] * 3
    assert float(state["step"]) == 1


def test_gradients_of_another_structure_are_refused_by_name():
    class Pair(nn.Module):
        def __init__(self, first, second):
            super().__init__()
            setattr(self, first, nn.Linear(2, 2))
            setattr(self, second, nn.Linear(2, 2))

    net, opt = Pair("a", "b"), optim.SGD()
    state = opt.init(net)
    for wrong, message in (
        (Pair("b", "a"), "SGD: grads must have a.weight, got b.weight"),
        (nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), "grads must be a Pair of 4, got Seq"),
        ({"a": F.ones(2)}, "grads must be a Pair of 4, got dict"),
    ):
        with pytest.raises(ValueError, match=message):
            opt.update(wrong, state, net)
    params = {"a": {"w": F.ones(2)}, "b": F.ones(2)}
    state = opt.init(params)
    with pytest.raises(ValueError, match=r'grads\["a"\] must have the keys .w., got .v.'):
        opt.update({"a": {"v": F.ones(2)}, "b": F.ones(2)}, state, params)
    with pytest.raises(TypeError, match="the gradient of b must be floating-point, got int64"):
        opt.update({"a": {"w": F.ones(2)}, "b": F.arange(2)}, state, params)
    moved, _ = opt.update({"a": None, "b": F.ones(2)}, state, params)
    assert moved["a"]["w"].tolist() == [1, 1]
    assert moved["b"].tolist() != [1, 1]


def test_sums_of_trees():
    a, b = {"x": F.ones(2), "y": None}, {"x": F.full((2,), 2.0), "y": F.ones(1)}
    first, half = optim.accumulate(None, a), F.full((), 0.5)
    for result in (optim.accumulate(a, b, weight=0.5), optim.accumulate(first, b, weight=half)):
        assert result["x"].tolist() == [2.0, 2.0]
        assert result["y"].tolist() == [0.5]
    assert optim.accumulate(b, a)["y"].tolist() == [1.0]
    small, total = {"w": F.astype(F.full((2,), 2.0**-9), "bfloat16")}, {"w": F.ones(2)}
    for _ in range(8):
        total = optim.accumulate(total, small)
    assert str(total["w"].dtype) == "float32"
    assert total["w"].tolist() == [1 + 2.0**-6] * 2
    with pytest.raises(ValueError, match=r"gradient of x must have shape \(3,\), got \(2,\)"):
        optim.accumulate({"x": F.ones(3), "y": None}, a)
    with pytest.raises(ValueError, match="accumulate: .* must have the keys"):
        optim.accumulate({"z": F.ones(2)}, {"x": F.ones(2)})
    with pytest.raises(TypeError, match="got a generator"):
        optim.accumulate(None, nn.Linear(2, 2).parameters())


def test_a_new_learning_rate_causes_no_retrace():
    params, opt = {"w": F.ones(2)}, optim.SGD(0.5, groups=[(lambda n: n == "v", {"lr": 0.25})])
    step = sycl_dnn.compile(lambda state, params, lr: opt.update(params, state, params, lr=lr)[0])
    state = opt.init(params)
    for rate in (0.125, 0.75):
        for result in (step(state, params, F.full((), rate)),
                     opt.update(params, state, params, lr=rate)[0]):  # fmt: skip
            assert result["w"].tolist() == [1 - rate] * 2
    assert step.cache_info().size == 1
    both = {"v": F.ones(1), "w": F.ones(1)}
    result, _ = opt.update(both, opt.init(both), both, lr=1.0)
    assert result["v"].tolist() == [0.75]
    assert result["w"].tolist() == [0.0]

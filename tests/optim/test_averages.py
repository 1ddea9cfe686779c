# SPDX-License-Identifier: Apache-2.0
"""Averages of weights, by value."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

STEPS, DECAY = 100, 0.999


def averaged(dtype, steps=STEPS):
    """The average of an array that falls from 1 to 0 at the first step."""
    ema = optim.EMA(DECAY)
    average = ema.init({"w": F.astype(F.ones(3), dtype)})
    for _ in range(steps):
        average = ema.update(average, {"w": F.astype(F.zeros(3), dtype)})
    return average["w"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_average_follows_slow_decay(dtype):
    found = averaged(dtype)
    assert str(found.dtype) == "float32"
    np.testing.assert_allclose(dpnp.asnumpy(found), DECAY**STEPS, rtol=1e-5)


def test_bfloat16_and_float16_values_are_widened_before_scaling():
    ema, value = optim.EMA(0.9), F.astype(F.full(2, 1.0078125), "bfloat16")
    average = ema.update(ema.init([F.astype(F.zeros(2), "bfloat16")]), [value])
    np.testing.assert_allclose(dpnp.asnumpy(average[0]), 0.10078125, rtol=1e-6)


def test_the_average_of_a_module_is_a_module():
    net, ema = nn.BatchNorm1d(2), optim.EMA(0.5)
    average = ema.init(net)
    assert average.weight is not net.weight
    net.weight.fill_(3.0)
    step = sycl_dnn.compile(ema.update)
    for result in (ema.update(average, net), step(average, net)):
        assert result.weight.tolist() == [2.0, 2.0]
    assert average.weight.tolist() == [1.0, 1.0]
    net.bfloat16()
    assert str(ema.init(net).weight.dtype) == "float32"


def test_integers_come_from_the_new_values():
    ema = optim.EMA()
    assert ema.update(ema.init([F.arange(3)]), [F.arange(3, 6)])[0].tolist() == [3, 4, 5]


def trained_on(net, other):
    """A module with other parameters and statistics, as after steps."""
    result = sycl_dnn.tree.map(
        lambda a, b: a * 0 + b if "int" not in str(a.dtype) else b, net, other
    )
    for value, name in ((8.0, "running_mean"), (9.0, "running_var"), (10.0, "num_batches_tracked")):
        setattr(result, name, getattr(result, name) * 0 + value)
    return result


@pytest.mark.parametrize("way", ["eager", "compiled"])
@pytest.mark.parametrize("kind", ["EMA", "SWA"])
@pytest.mark.parametrize("use_buffers", [False, True])
def test_buffers_are_taken_from_the_newest_module(kind, way, use_buffers):
    net = nn.BatchNorm1d(2)
    new = trained_on(net, sycl_dnn.tree.map(lambda a: a * 0 + 3, net))
    rule = optim.EMA(0.5, use_buffers=use_buffers) if kind == "EMA" else optim.SWA(
        use_buffers=use_buffers)  # fmt: skip
    update = sycl_dnn.compile(rule.update) if way == "compiled" else rule.update
    average = rule.init(net)
    if kind == "SWA":  # the first one is copied
        average = update(average, net)
    result = update(average, new)
    result = result["average"] if kind == "SWA" else result
    new(F.ones(4, 2))  # writes to the buffers of the module alone
    assert result.weight.tolist() == [2.0, 2.0]
    assert result.running_mean.tolist() == ([4.0, 4.0] if use_buffers else [8.0, 8.0])
    assert result.running_var.tolist() == ([5.0, 5.0] if use_buffers else [9.0, 9.0])
    assert int(result.num_batches_tracked) == 10
    assert str(result.state_dict()["num_batches_tracked"].dtype) == "int64"


def test_integer_buffers_and_frozen_parameters():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.fixed = nn.Parameter(F.zeros(2)), nn.Parameter(F.zeros(2))
            self.register_buffer("places", F.arange(3))
            self.register_buffer("mask", F.ones(2) > 0)
            self.freeze(lambda name: name == "fixed")

    net, new, ema = Net(), Net(), optim.EMA(0.5, use_buffers=True)
    new.weight.fill_(2.0)
    new.fixed.fill_(4.0)
    new.places, new.mask = new.places + 7, new.mask == 0
    for update in (ema.update, sycl_dnn.compile(ema.update)):
        result = update(ema.init(net), new)
        assert result.weight.tolist() == [1.0, 1.0]
        assert result.fixed.tolist() == [2.0, 2.0]
        assert result.places.tolist() == [7, 8, 9]
        assert result.mask.tolist() == [False, False]

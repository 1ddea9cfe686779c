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


def test_narrow_values_are_widened_before_they_are_scaled():
    ema, value = optim.EMA(0.9), F.astype(F.full(2, 1.0078125), "bfloat16")
    average = ema.update(ema.init([F.astype(F.zeros(2), "bfloat16")]), [value])
    np.testing.assert_allclose(dpnp.asnumpy(average[0]), 0.10078125, rtol=1e-6)


def test_the_average_of_a_module_is_a_module():
    net, ema = nn.BatchNorm1d(2), optim.EMA(0.5)
    average = ema.init(net)
    assert average.weight is not net.weight
    net.weight.fill_(3.0)
    step = sycl_dnn.compile(ema.update)
    for made in (ema.update(average, net), step(average, net)):
        assert made.weight.tolist() == [2.0, 2.0]
    assert average.weight.tolist() == [1.0, 1.0]
    net.bfloat16()
    assert str(ema.init(net).weight.dtype) == "float32"


def test_integers_are_taken_from_the_new_values():
    ema = optim.EMA()
    assert ema.update(ema.init([F.arange(3)]), [F.arange(3, 6)])[0].tolist() == [3, 4, 5]

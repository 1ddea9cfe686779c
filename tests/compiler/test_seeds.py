# SPDX-License-Identifier: Apache-2.0
"""Random numbers of compiled functions continue from a state, before and after compilation."""

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim


def make_step(net, opt):
    def step(net, state, x):
        value, grads = sycl_dnn.value_and_grad(lambda net: F.mean(F.square(net(x))))(net)
        return value, *opt.update(grads, state, net)

    return sycl_dnn.compile(step)


def test_the_first_call_draws_like_later_ones(queue):
    """Compiling a program with constants to compute draws no random numbers."""
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1)).to(queue)
    opt, x = optim.AdamW(optim.schedules.cosine(1e-2, 100)), F.randn(64, 4, device=queue)
    state, losses = opt.init(net), []
    step = make_step(net, opt)
    for _ in range(3):
        sycl_dnn.manual_seed(7)
        losses += [[float(step(net, state, x)[0]) for _ in range(2)]]
    assert losses[0] == losses[1] == losses[2]
    assert losses[0][0] != losses[0][1]


def test_random_numbers_next_to_constants(queue):
    held = dpnp.asarray(np.arange(4, dtype="f4"), sycl_queue=queue)
    draw = sycl_dnn.compile(lambda x: F.add(F.mul(x, F.exp(held)), F.randn(16, 4)))
    x, found = F.zeros(16, 4, device=queue), []
    for _ in range(2):
        sycl_dnn.manual_seed(3)
        found.append(dpnp.asnumpy(draw(x)))
    np.testing.assert_array_equal(*found)

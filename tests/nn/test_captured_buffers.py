# SPDX-License-Identifier: Apache-2.0
"""Compiled functions that capture modules update their buffers, as ``torch.compile(net)`` does."""

import copy

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn


def networks(queue):
    net = nn.Sequential(
        nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)
    ).to(queue)
    return net, copy.deepcopy(net)


def batch(queue, number):
    values = np.random.default_rng(number).normal(size=(6, 4)).astype("f4")
    return dpnp.asarray(values, sycl_queue=queue)


def assert_same_buffers(net, expected):
    wanted = dict(expected.named_buffers())
    for name, buffer in net.named_buffers():
        np.testing.assert_allclose(
            buffer.asnumpy(), wanted[name].asnumpy(), rtol=1e-5, atol=1e-6, err_msg=name
        )


@pytest.mark.parametrize("way", ["module", "closure", "gradient", "bound"])
def test_captured_statistics_follow_each_call(way, queue):
    net, eager = networks(queue)
    traces = []

    def loss(x):
        traces.append(x)
        return F.sum(net(x) ** 2)

    compiled = sycl_dnn.compile(
        {"module": net, "gradient": sycl_dnn.value_and_grad(loss)}.get(way, loss)
    )
    x = batch(queue, 0)
    call = compiled.bind(x) if way == "bound" else lambda: compiled(x)
    for number in range(4):
        x[...] = batch(queue, number)
        expected = eager(x)
        actual = call()
        actual = actual[0] if way == "gradient" else actual
        wanted = expected if way == "module" else F.sum(expected**2)
        np.testing.assert_allclose(actual.asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-5)
        assert_same_buffers(net, eager)
    assert len(traces) <= 2  # a second time for all buffers together


def test_results_that_read_an_updated_array_before_and_after(queue):
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", dpnp.zeros(3, dtype="f4", sycl_queue=queue))

        def forward(self, x):
            before = self.total * 1
            self.update_buffer("total", self.total + x)
            return before, self.total * 2

    counter = Counter()
    compiled = sycl_dnn.compile(counter)
    for number in range(1, 4):
        before, after = compiled(dpnp.ones(3, dtype="f4", sycl_queue=queue))
        assert before.tolist() == [number - 1] * 3
        assert after.tolist() == [2 * number] * 3
        assert counter.total.tolist() == [number] * 3


def test_other_programs_with_constants_from_a_buffer_see_its_update(queue):
    net, eager = networks(queue)
    train = sycl_dnn.compile(net)
    predict = sycl_dnn.compile(lambda x: F.linear(x, net[1].running_mean[None]))
    x = batch(queue, 1)
    for _ in range(3):
        train(x), eager(x)
        expected = F.linear(x, eager[1].running_mean[None])
        np.testing.assert_allclose(predict(x).asnumpy(), expected.asnumpy(), atol=1e-6)

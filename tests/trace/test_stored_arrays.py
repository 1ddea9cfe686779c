# SPDX-License-Identifier: Apache-2.0
"""Pickles and deep copies of dpnp arrays and of what holds them."""

import copy
import pickle

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

WAYS = {"deepcopy": copy.deepcopy, "pickle": lambda value: pickle.loads(pickle.dumps(value))}


@pytest.fixture(params=WAYS)
def again(request):
    return WAYS[request.param]


@pytest.mark.parametrize("kind", ["f4", "i8", "?"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_arrays_are_equal_and_apart(shape, kind, again, queue):
    x = dpnp.ones(shape, dtype=kind, sycl_queue=queue)
    result = again(x)
    assert (result.shape, result.dtype) == (shape, x.dtype)
    x[...] = 0
    np.testing.assert_array_equal(dpnp.asnumpy(result), np.ones(shape, kind))


def test_a_copy_is_on_the_same_queue_and_a_pickle_on_the_default_one(queue):
    x = dpnp.ones(3, sycl_queue=queue)
    assert copy.deepcopy(x).sycl_queue == queue
    assert WAYS["pickle"](x).sycl_queue == sycl_dnn.default_queue()


def test_a_view_is_its_elements(again, queue):
    x = dpnp.asarray(np.arange(12.0, dtype="f4").reshape(3, 4), sycl_queue=queue)
    np.testing.assert_array_equal(dpnp.asnumpy(again(x.T[::-2])), dpnp.asnumpy(x.T[::-2]))


def test_one_array_stays_one(again, queue):
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    result = again({"a": x, "b": [x]})
    assert result["a"] is result["b"][0] is not x


def test_an_optimizer_goes_on_where_it_was(again, queue):
    net = nn.Linear(3, 2)
    opt = optim.AdamW(lr=0.1)
    x = F.ones(4, 3)
    grads = sycl_dnn.grad(lambda net: F.sum(F.square(net(x))))(net)
    net, state = opt.update(grads, opt.init(net), net)
    other, other_state = again((net, state))
    for _ in range(2):
        net, state = opt.update(grads, state, net)
    for _ in range(2):
        other, other_state = opt.update(grads, other_state, other)
    np.testing.assert_array_equal(dpnp.asnumpy(net.weight), dpnp.asnumpy(other.weight))


def test_averages_and_quantized_tensors(again, queue):
    x = dpnp.asarray(np.linspace(-1, 1, 8, dtype="f4").reshape(2, 4), sycl_queue=queue)
    result = again(F.quantize_dynamic(x))
    expected = F.dequantize(F.quantize_dynamic(x))
    np.testing.assert_array_equal(dpnp.asnumpy(F.dequantize(result)), dpnp.asnumpy(expected))
    net = nn.Linear(4, 2)
    ema = optim.EMA(0.9)
    state = ema.init(net)
    kept = again(state)
    for a, b in zip(sycl_dnn.tree.leaves(state), sycl_dnn.tree.leaves(kept), strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(a), dpnp.asnumpy(b))

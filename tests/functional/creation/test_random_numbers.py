# SPDX-License-Identifier: Apache-2.0
"""Random numbers of functions that capture all their arrays, and the bounds of numbers."""

import dpnp
import numpy as np
import pytest
from functional.on_device import to_numpy

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.functional.creation import random_numbers

#: Functions of an array that draw random numbers.
DRAWS = {
    "dropout": F.dropout,
    "dropout1d": F.dropout1d,
    "alpha_dropout": lambda x: F.alpha_dropout(x, training=True),
    "rrelu": lambda x: F.rrelu(-x, training=True),
    "gumbel_softmax": F.gumbel_softmax,
    "rand_like": F.rand_like,
    "randn_like": F.randn_like,
    "bernoulli": F.bernoulli,
    "multinomial": lambda x: F.multinomial(x, 8, replacement=True),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
    "module": nn.Dropout(0.5),
    "modules": nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.sweep(2)
def test_calls_that_capture_all_arrays_draw_anew(name, queue):
    held = dpnp.full((4, 8), 0.5, dtype="f4", sycl_queue=queue)
    nothing = dpnp.zeros(1, dtype="f4", sycl_queue=queue)
    if name == "modules":
        DRAWS[name].to(queue)

    def draw(_):
        return DRAWS[name](held)

    compiled, planned = sycl_dnn.compile(draw), sycl_dnn.plan(draw, nothing)
    for call in (lambda: compiled(nothing), planned, lambda: sycl_dnn.vjp(draw, nothing)[0]):
        first = to_numpy(call()).copy()
        assert any(not np.array_equal(first, to_numpy(call())) for _ in range(3))


@pytest.mark.parametrize("transform", [sycl_dnn.compile, lambda f: lambda x: sycl_dnn.vjp(f, x)[0]])
def test_transforms_of_captured_arrays_alone_are_refused(transform, queue):
    """They would run while the outer function is traced, once."""
    x = dpnp.ones(8, dtype="f4", sycl_queue=queue)
    inner = transform(lambda x: F.dropout(x, 0.5))
    with pytest.raises(TypeError, match="only once"):
        sycl_dnn.compile(lambda _: inner(x))(x)
    with pytest.raises(TypeError, match="only once"):
        sycl_dnn.plan(lambda _: inner(x), x)
    assert sycl_dnn.vjp(lambda _: inner(x), x)[0].shape == (8,)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_numbers_are_less_than_one(dtype, queue, monkeypatch):
    """Even if the generator returns its upper bound, as oneMKL's does once in 2**25 numbers."""

    class Generator:
        def uniform(self, low, high, size, dtype):
            return dpnp.full(size, high, dtype=dtype, sycl_queue=queue)

    monkeypatch.setattr(random_numbers, "generator", lambda seed, queue: Generator())
    assert (to_numpy(F.rand(8, dtype=dtype, device=queue)) < 1).all()

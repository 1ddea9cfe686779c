# SPDX-License-Identifier: Apache-2.0
"""Compiled methods; compiled functions that are pickled and copied; seeds."""

import copy
import pickle
import subprocess
import sys

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


@sycl_dnn.compile
def decorated(x):
    return F.relu(x) * 2


def plain(x):
    return F.relu(x) * 3


class Model:
    def __init__(self, w):
        self.w = w
        self.training = True

    @sycl_dnn.compile
    def forward(self, x):
        return F.sum(x * self.w) * (2 if self.training else 1)

    def loss(self, x):
        return F.sum(x * self.w)


@pytest.fixture
def ones(queue):
    return lambda *shape: dpnp.ones(shape, dtype="f4", sycl_queue=queue)


def test_compile_on_a_method_binds_self(ones):
    a, b, x = Model(ones(3)), Model(ones(3) * 5), ones(3)
    for _ in range(3):
        assert (float(a.forward(x)), float(b.forward(x))) == (6, 30)
    assert a.forward.cache_info().misses == 1
    a.training = False
    assert (float(a.forward(x)), float(b.forward(x))) == (3, 30)
    assert b.forward.cache_info().misses == 1
    assert "relu" not in str(a.forward.explain(x))


@pytest.mark.parametrize("again", [lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy])
def test_compiled_functions_are_pickled_and_copied_with_their_source_function(ones, again):
    x = ones(3) * -1
    result = again(sycl_dnn.compile(plain, cache_size=7))
    assert (result.__name__, result.cache_info().capacity) == ("plain", 7)
    np.testing.assert_array_equal(dpnp.asnumpy(result(-x)), 3)
    np.testing.assert_array_equal(dpnp.asnumpy(again(decorated)(-x)), 2)


def test_a_decorated_function_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_an_instance_with_a_compiled_method_is_copied(ones):
    model = Model(ones(3))
    model.forward(ones(3))
    other = copy.copy(model)
    other.w = ones(3) * 7
    assert (float(model.forward(ones(3))), float(other.forward(ones(3)))) == (6, 42)


_DROPPED = """
import dpnp, sycl_dnn
from sycl_dnn import functional as F
sycl_dnn.manual_seed(7)
x = dpnp.ones(64, dtype="f4", sycl_queue=sycl_dnn.default_queue("cpu"))
f = sycl_dnn.compile(lambda x: F.dropout(x, 0.5))
y, _ = sycl_dnn.vjp(lambda x: F.dropout(x, 0.5), x)
print([dpnp.asnumpy(a).tolist() for a in (F.dropout(x, 0.5), f(x), y)])
"""


@pytest.mark.slow
def test_manual_seed_makes_dropout_reproducible_across_processes():
    runs = [
        subprocess.run(
            [sys.executable, "-c", _DROPPED], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert "0.0" in runs[0]

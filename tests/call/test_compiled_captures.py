# SPDX-License-Identifier: Apache-2.0
"""Programs follow what their functions hold: bound calls, arguments, equal objects, methods."""

import functools
import gc
import operator
import types
import weakref

import dpnp
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import optim


@pytest.fixture
def ones(queue):
    return lambda *shape: dpnp.ones(shape, dtype="f4", sycl_queue=queue)


class Layer:
    def __init__(self, w, training=True):
        self.w, self.training = w, training


def test_a_bound_call_follows_what_it_reads(ones):
    layer = Layer(ones(3))
    factor = 2.0
    bound = sycl_dnn.compile(lambda x: x * layer.w * factor).bind(ones(3))
    assert bound().tolist() == [2, 2, 2]
    assert bound() is bound.result
    factor = 3.0
    assert bound().tolist() == [3, 3, 3]
    layer.w = layer.w * 2
    assert bound().tolist() == [6, 6, 6]


def test_equal_callables_share_a_program_and_different_ones_do_not(ones):
    step = sycl_dnn.compile(lambda x, act: act(x))
    x = ones(3)

    def scaled(factor):
        return lambda x: x * factor

    for _ in range(3):
        assert float(step(x, scaled(2.0))[0]) == 2
        assert float(step(x, functools.partial(F.pow, exponent=0))[0]) == 1
    assert step.cache_info().misses == 2
    assert float(step(x, scaled(3.0))[0]) == 3
    assert float(step(x, functools.partial(F.add, other=4))[0]) == 5
    assert float(step(x, operator.neg)[0]) == -1
    assert float(step(x, abs)[0]) == 1
    assert step.cache_info().misses == 6


def test_objects_replaced_by_equal_ones_cause_no_retrace(ones):
    def made(scale):
        return {
            "dict": {"scale": scale}, "namespace": types.SimpleNamespace(scale=scale),
            "layer": Layer(weight, training=scale > 0), "optimizer": optim.AdamW(0.1),
            "list": [[scale]], "function": lambda x: x * scale, "slice": slice(1),
        }  # fmt: skip

    weight = ones(3)
    held = made(1.0)
    step = sycl_dnn.compile(lambda x: held["function"](x) * held["layer"].w * held["list"][0][0])
    for _ in range(3):
        assert float(step(ones(3))[0]) == 1
        held = made(1.0)
    assert step.cache_info().misses == 1
    held = made(2.0)
    assert float(step(ones(3))[0]) == 4
    weight = ones(3) * 2
    held = made(2.0)
    assert float(step(ones(3))[0]) == 8


def test_a_compiled_method_does_not_keep_its_instance(ones):
    class Model:
        def __init__(self):
            self.factor, self.held = 2.0, [ones(1)]

        @sycl_dnn.compile
        def step(self, x):
            return x * self.factor * self.held[0]

    model = Model()
    assert model.step(ones(1)).tolist() == [2]
    model.factor = 3.0
    assert model.step(ones(1)).tolist() == [3]
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("is_bound", [False, True])
def test_writes_to_results_do_not_change_constants(ones, is_bound):
    w, x = ones(3), ones(3)
    # dpnp computes w * 2 while the function is traced.
    function = sycl_dnn.compile(lambda x: (x + w, w * 2, F.cat([w, w]), w))
    call = function.bind(x) if is_bound else lambda: function(x)
    for _ in range(3):
        results = call()
        assert [float(r.sum()) for r in results] == [6.0, 6.0, 6.0, 3.0]
        for array in results:
            array[...] = 9
    assert w.tolist() == [1.0] * 3

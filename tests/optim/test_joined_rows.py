# SPDX-License-Identifier: Apache-2.0
"""Small parameters are updated as one array; users get separate arrays."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import optim
from sycl_dnn.optim import joined_rows

SHAPES = {"a": (5, 7), "b": (64,), "c": (3,), "d": (33, 16), "e": (20,), "f": (300, 300), "g": ()}


def to_host(array):
    return dpnp.asnumpy(F.astype(array, "float32"))


def tree_of(queue, seed, dtype="float32"):
    rng = np.random.default_rng(seed)
    made = {n: rng.standard_normal(s).astype("f4") for n, s in SHAPES.items()}
    return {n: F.astype(dpnp.asarray(a, sycl_queue=queue), dtype) for n, a in made.items()}


def run(opt, queue, dtype="float32"):
    params = tree_of(queue, 0, dtype)
    state = opt.init(params)
    for number in range(3):
        params, state = opt.update(tree_of(queue, number + 1, dtype), state, params)
    return params, state


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adamax", "RMSprop", "Adagrad", "Lion"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_joined_updates_equal_separate_ones(name, dtype, queue, monkeypatch):
    options = {"master_weights": dtype == "bfloat16", "weight_decay": 0.1, "max_norm": 2.0,
               "groups": [(lambda n: n == "b", {"lr": 0.5})]}  # fmt: skip
    made = run(getattr(optim, name)(0.01, **options), queue, dtype)
    monkeypatch.setattr(joined_rows, "MOST", 0)
    wanted = run(getattr(optim, name)(0.01, **options), queue, dtype)
    pairs = zip(sycl_dnn.tree.leaves(made), sycl_dnn.tree.leaves(wanted), strict=True)
    for found, array in pairs:
        assert found.shape == array.shape
        assert str(found.dtype) == str(array.dtype)
        np.testing.assert_array_equal(to_host(found), to_host(array))


def test_parts_are_separate_arrays(queue):
    params, state = run(optim.AdamW(0.01), queue)
    names = [n for n, s in SHAPES.items() if joined_rows._APART <= np.prod(s) <= joined_rows.MOST]
    assert len({params[n].get_array().usm_data._pointer for n in names}) == 1
    before = {n: to_host(a).copy() for n, a in params.items()}
    params["b"][...] = 0.0
    for name in set(names) - {"b"}:
        np.testing.assert_array_equal(to_host(params[name]), before[name])
    again = optim.AdamW(0.01).update(params, state, params)[0]
    assert all(again[n].get_array()._pointer % 64 == 0 for n in names)


def test_overlapping_parameters_are_copied(queue):
    opt = optim.SGD(0.1)
    params = tree_of(queue, 0)

    @sycl_dnn.compile
    def step(params, grads):
        new, _ = opt.update(grads, {"step": F.sum(params["b"])}, params)
        return new["d"][:2], new, new["d"], new["b"][3:], new["b"]

    rows, new, whole, tail, b = step(params, tree_of(queue, 1))
    wanted = {n: to_host(a).copy() for n, a in new.items()}
    np.testing.assert_array_equal(to_host(rows), wanted["d"][:2])
    np.testing.assert_array_equal(to_host(tail), wanted["b"][3:])
    for array in (rows, whole, tail, b):
        array[...] = 7.0
    for name, array in new.items():
        np.testing.assert_array_equal(to_host(array), wanted[name])


def test_a_step_of_many_small_parameters_takes_few_operations(queue):
    opt = optim.AdamW(0.01)
    params = {str(i): F.ones(16, 16, device=queue) for i in range(50)}
    step = sycl_dnn.compile(lambda grads, state, params: opt.update(grads, state, params))
    report = step.explain(params, opt.init(params), params)
    assert len(report.parts) < 40


def test_out_arrays_of_the_caller(queue):
    opt = optim.SGD(0.1, momentum=0.9)
    params, grads = tree_of(queue, 0), tree_of(queue, 1)
    state = opt.init(params)
    step = sycl_dnn.compile(lambda grads, state, params: opt.update(grads, state, params))
    wanted = step(grads, state, params)
    out = sycl_dnn.tree.map(dpnp.empty_like, wanted)
    assert step(grads, state, params, out=out) is out
    for found, array in zip(sycl_dnn.tree.leaves(out), sycl_dnn.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(to_host(found), to_host(array))

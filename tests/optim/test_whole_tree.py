# SPDX-License-Identifier: Apache-2.0
"""Updates of a whole tree take few launches, with the values of separate ones."""

import dpnp
import numpy as np
import pytest
from arrays import to_float32

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn.optim import update_rules

SHAPES = {
    "a": (5, 7), "b": (64,), "c": (3,), "d": (33, 16), "e": (20,), "f": (300, 300), "g": (),
    "none": (0, 4),
}  # fmt: skip


def tree_of(queue, seed, dtype="float32", n_copies=1):
    rng = np.random.default_rng(seed)
    names = {f"{n}{i}": s for i in range(n_copies) for n, s in SHAPES.items()}
    result = {n: rng.standard_normal(s).astype("f4") for n, s in names.items()}
    return {n: F.astype(dpnp.asarray(a, sycl_queue=queue), dtype) for n, a in result.items()}


def assert_equal(actual, expected, rtol=0.0):
    for found, array in zip(
        sycl_dnn.tree.leaves(actual), sycl_dnn.tree.leaves(expected), strict=True
    ):
        assert found.shape == array.shape
        assert str(found.dtype) == str(array.dtype)
        np.testing.assert_allclose(to_float32(found), to_float32(array), rtol=rtol, atol=rtol / 4)


def run(opt, queue, dtype, is_joined, donate=()):
    step = sycl_dnn.compile(
        lambda grads, state, params: opt.update(grads, state, params),
        passes={"join_launches": is_joined}, donate=donate,
    )  # fmt: skip
    params = tree_of(queue, 0, dtype)
    state = opt.init(params)
    for number in range(3):
        params, state = step(tree_of(queue, number + 1, dtype), state, params)
    return params, state


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adamax", "RMSprop", "Adagrad", "Lion"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_joined_updates_equal_separate_ones(name, dtype, queue):
    options = {"master_weights": dtype == "bfloat16", "weight_decay": 0.1, "max_norm": 2.0,
               "groups": [(lambda n: n == "b0", {"lr": 0.5})]}  # fmt: skip
    expected = run(getattr(optim, name)(0.01, **options), queue, dtype, False)
    # The host sums the squares of small gradients, whose norm limits all, in another order.
    limit = 1e-6 if dtype == "float32" else 1e-2
    for donate in ((), ("params", "state")):
        actual = run(getattr(optim, name)(0.01, **options), queue, dtype, True, donate)
        assert_equal(actual, expected, limit)


def test_donated_parameters_are_updated_in_place(queue):
    opt = optim.AdamW(0.01)
    step = sycl_dnn.compile(
        lambda grads, state, params: opt.update(grads, state, params), donate=("state", "params")
    )
    params, grads = tree_of(queue, 0, n_copies=3), tree_of(queue, 1, n_copies=3)
    expected, _ = opt.update(grads, opt.init(params), params)
    state = opt.init(params)

    def places(*trees):
        arrays = sycl_dnn.tree.leaves(trees)
        return {a.get_array()._pointer for a in arrays if a.size >= 90_000}

    before = places(params, state)
    actual, after = step(grads, state, params)
    assert places(actual, after) == before
    assert_equal(actual, expected)


def test_arrays_move_between_calls(queue):
    """Addresses in the table are those of each call, also while former calls are running."""
    opt = optim.SGD(0.5)
    step = sycl_dnn.compile(lambda grads, state, params: opt.update(grads, state, params)[0])
    params = [tree_of(queue, n) for n in range(6)]
    grads, state = tree_of(queue, 9), opt.init(params[0])
    actual = [step(grads, state, provided) for provided in params]
    for provided, found in zip(params, actual, strict=True):
        for n, array in found.items():
            expected = to_float32(provided[n]) - np.float32(0.5) * to_float32(grads[n])
            np.testing.assert_allclose(to_float32(array), expected, rtol=1e-6, atol=1e-6)


#: Optimizer, or what uses one -> the most launches for any number of parameters.
LAUNCHES = {"SGD": 2, "AdamW": 2, "clipped": 3, "EMA": 1, "all": 5}


def updated(case, queue):
    """Return a function of trees and its arguments."""
    opt = optim.SGD(0.1) if case == "SGD" else optim.AdamW(0.01)
    opt = opt if case in ("SGD", "AdamW", "EMA") else optim.AdamW(0.01, max_norm=1.0)
    ema, scaler = optim.EMA(0.9), optim.GradScaler()
    params, grads = tree_of(queue, 0, n_copies=20), tree_of(queue, 1, n_copies=20)
    for tree in (params, grads):
        tree_of_arrays = {n: a for n, a in tree.items() if a.size}
        tree.clear()
        tree.update(tree_of_arrays)
    if case == "EMA":
        return ema.update, (ema.init(params), params)
    if case != "all":
        return opt.update, (grads, opt.init(params), params)

    def step(grads, state, params, scale, average):
        params, state, scale = scaler.update(opt, grads, state, params, scale)
        return params, state, scale, ema.update(average, params)

    return step, (grads, opt.init(params), params, scaler.init(queue), ema.init(params))


@pytest.mark.parametrize("case", LAUNCHES)
@pytest.mark.sweep(3)
def test_a_tree_of_140_parameters_takes_few_launches(case, queue):
    function, args = updated(case, queue)
    step = sycl_dnn.compile(lambda *args: function(*args))
    assert step.explain(*args).n_steps <= LAUNCHES[case]
    apart = sycl_dnn.compile(lambda *args: function(*args), passes={"join_launches": False})
    assert_equal(step(*args), apart(*args))


def test_eager_updates_are_one_program(queue):
    ema, scaler = optim.EMA(0.9), optim.GradScaler(init_scale=4.0)
    params, grads = tree_of(queue, 0), tree_of(queue, 1, "float16")
    average, scale = ema.init(params), scaler.init(queue)
    for call in (
        lambda: ema.update(average, params),
        lambda: scaler.unscale(grads, scale),
        lambda: optim.clip_grad_norm(grads, 1.0),
    ):
        call()
        with sycl_dnn.profile() as p:
            call()
        assert len([r for r in p.records if r.kind == "primitive"]) <= 12
    found, is_finite = scaler.unscale(grads, scale)
    assert bool(is_finite)
    for n, array in found.items():
        np.testing.assert_array_equal(to_float32(array), to_float32(grads[n]) / np.float32(4))


def test_results_are_separate_arrays(queue):
    params, state = run(optim.AdamW(0.01), queue, "float32", True)
    before = {n: to_float32(a).copy() for n, a in params.items()}
    params["b0"][...] = 0.0
    for name in set(params) - {"b0"}:
        np.testing.assert_array_equal(to_float32(params[name]), before[name])


def test_out_arrays_of_the_caller(queue):
    opt = optim.SGD(0.1, momentum=0.9)
    params, grads = tree_of(queue, 0), tree_of(queue, 1)
    state = opt.init(params)
    step = sycl_dnn.compile(lambda grads, state, params: opt.update(grads, state, params))
    expected = step(grads, state, params)
    out = sycl_dnn.tree.map(dpnp.empty_like, expected)
    assert step(grads, state, params, out=out) is out
    assert_equal(out, expected)


@pytest.mark.parametrize("make", [
    lambda: optim.SGD(0.1, momentum=0.9), lambda: optim.RMSprop(0.1, momentum=0.9),
    lambda: optim.Adam(0.1), lambda: optim.SGD(0.1, master_weights=True),
])  # fmt: skip
def test_parameters_that_were_frozen_in_init_are_refused_by_name(make):
    net, opt = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2)).to("bfloat16"), make()
    net.freeze(lambda name: name.startswith("0."))
    state = opt.init(net)
    net.unfreeze()
    grads = sycl_dnn.grad(lambda net: F.sum(net(F.ones(1, 3, dtype="bfloat16"))))(net)
    with pytest.raises(KeyError, match=r"the state has no .* of 0\.weight"):
        opt.update(grads, state, net)


def test_a_changed_bound_of_the_norm_takes_effect():
    opt, params = optim.SGD(1.0, max_norm=1.0), {"w": F.zeros(4)}
    state = opt.init(params)
    for bound in (1.0, 0.5, None, 2.0, 1.5):
        opt.max_norm = bound
        moved, _ = opt.update({"w": F.ones(4)}, state, params)
        expected = -1.0 if bound is None else -bound / 2
        np.testing.assert_allclose(moved["w"].asnumpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("make", [optim.AdamW, lambda rate: optim.SGD(rate, momentum=0.9)])
def test_updates_make_no_initial_states(make, queue, monkeypatch):
    params, grads = tree_of(queue, 0), tree_of(queue, 1)
    opt = make(0.1)
    state = opt.init(params)
    monkeypatch.setattr(update_rules, "zeros", lambda p: pytest.fail("another initial state"))
    opt.update(grads, state, params)

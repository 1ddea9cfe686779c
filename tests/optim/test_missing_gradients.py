# SPDX-License-Identifier: Apache-2.0
"""Parameters without gradient in some steps: bias corrections count the updates of each."""

import dpnp
import numpy as np
import pytest
from arrays import to_float32

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import optim

N_STEPS = 6
#: Steps in which a parameter has no gradient.
MISSING = {"often": (0, 1, 4), "once": (3,), "never": ()}
OPTIONS = {
    "Adam": {}, "AdamW": {"amsgrad": True}, "NAdam": {}, "RAdam": {}, "Adamax": {}, "LAMB": {},
    "ASGD": {"lambd": 0.5, "t0": 2.0}, "Adagrad": {"lr_decay": 0.5}, "Adafactor": {}, "Rprop": {},
    "SGD": {"momentum": 0.9, "dampening": 0.3},
}  # fmt: skip


def drawn(queue, seed):
    rng = np.random.default_rng(seed)
    arrays = {n: rng.standard_normal((4, 3)).astype("f4") for n in MISSING}
    return {n: dpnp.asarray(a, sycl_queue=queue) for n, a in arrays.items()}


def gradients(queue, step):
    return {n: g for n, g in drawn(queue, step + 1).items() if step not in MISSING[n]}


def trained(queue, opt, update):
    params = drawn(queue, 0)
    state = opt.init(params)
    for step in range(N_STEPS):
        grads = dict.fromkeys(params) | gradients(queue, step)
        params, state = update(grads, state, params)
    return params, state


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("way", ["eager", "donated"])
@pytest.mark.sweep(4)
def test_a_parameter_moves_as_if_alone(name, way, queue):
    opt = getattr(optim, name)(0.1, **OPTIONS[name])
    update = opt.update
    if way == "donated":
        update = sycl_dnn.compile(lambda g, s, p: opt.update(g, s, p), donate=("s", "p"))
    params, state = trained(queue, opt, update)
    assert float(state["step"]) == N_STEPS
    assert {n: float(v) for n, v in state["steps"].items()} == {"often": 3, "once": 5}
    for n in MISSING:
        alone = {n: drawn(queue, 0)[n]}
        own = opt.init(alone)
        for step in range(N_STEPS):
            if step not in MISSING[n]:
                alone, own = opt.update({n: gradients(queue, step)[n]}, own, alone)
        np.testing.assert_allclose(to_float32(params[n]), to_float32(alone[n]), rtol=1e-5)


def test_schedules_count_all_steps(queue):
    rates = []
    opt = optim.AdamW(lambda step: rates.append(step) or 0.1)
    step = sycl_dnn.compile(lambda g, s, p: opt.update(g, s, p))
    params, state = trained(queue, opt, step)
    assert set(state["steps"]) == {"often", "once"}
    by_rate, _ = trained(queue, optim.AdamW(0.1), optim.AdamW(0.1).update)
    for n, p in params.items():
        np.testing.assert_allclose(to_float32(p), to_float32(by_rate[n]), rtol=1e-6)


def test_a_state_without_own_counts_is_that_of_all_parameters(queue, tmp_path):
    opt, path = optim.Adam(0.1), tmp_path / "state.npz"
    params, grads = drawn(queue, 0), drawn(queue, 1)
    params, state = opt.update(grads, opt.init(params), params)
    assert set(state) == {"m", "v", "step"}
    sycl_dnn.save(path, state)
    loaded = sycl_dnn.load(path, opt.init(params))
    _, loaded = opt.update(grads | {"once": None}, loaded, params)
    assert {n: float(v) for n, v in loaded["steps"].items()} == {"once": 1}
    sycl_dnn.save(path, loaded)
    with pytest.raises(ValueError, match=r"steps\.once"):
        sycl_dnn.load(path, opt.init(params))
    into = opt.init(params) | {"steps": {"once": F.zeros(device=queue)}}
    _, again = opt.update(grads, sycl_dnn.load(path, into), params)
    assert (float(again["steps"]["once"]), float(again["step"])) == (2, 3)


@pytest.mark.parametrize("name", ["AdamW", "NAdam", "RAdam"])
def test_own_counts_take_no_more_launches(name, queue):
    opt = getattr(optim, name)(0.01)
    params = {str(n): F.ones(30, 4, device=queue) for n in range(60)}
    grads = {n: None if int(n) % 2 else p for n, p in params.items()}
    params, state = opt.update(grads, opt.init(params), params)
    assert len(state["steps"]) == 30
    step = sycl_dnn.compile(lambda *args: opt.update(*args))
    assert step.explain(params, state, params).n_steps <= 2
    assert step.explain(grads, state, params).n_steps <= 2


@pytest.mark.parametrize("is_finite", [True, False])
def test_skipped_steps_are_counted_for_no_parameter(is_finite, queue):
    opt, scaler = optim.Adam(0.1), optim.GradScaler(init_scale=1.0)
    params, scale = drawn(queue, 0), scaler.init(queue)
    state = opt.init(params)
    for step in range(N_STEPS):
        grads = dict.fromkeys(params) | gradients(queue, step)
        if not is_finite:
            grads["never"] = F.mul(grads["never"], float("nan"))
        params, state, scale = scaler.update(opt, grads, state, params, scale)
    counts = {n: float(v) for n, v in state["steps"].items()} | {"step": float(state["step"])}
    expected = {"often": 3, "once": 5, "step": 6}
    assert counts == (expected if is_finite else dict.fromkeys(expected, 0))


def test_sharded_states_have_one_count(queue):
    opt = optim.Adam(0.1)
    params, state = trained(queue, opt, opt.update)
    sharded = sycl_dnn.distributed.ShardedOptimizer(opt)
    with pytest.raises(ValueError, match=r"one count.*got others of \['often', 'once'\]"):
        sharded.own_state(state, params)

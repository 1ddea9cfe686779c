# SPDX-License-Identifier: Apache-2.0
"""Optimizers against stored answers of ``torch.optim``, or formulas where it has none."""

import copy
import functools
import inspect
import json
import math
from pathlib import Path

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn.functional.defined import defined
from sycl_dnn.optim import optimizer, schedules, step_size_rules

#: Numbers of steps after which torch's parameters are stored.
STEPS = {"few": 20, "many": 200}
SHAPES = {"w": (5, 3), "b": (3,)}
STORED = Path(__file__).with_name("torch_answers.json")
LR = 0.01
RATES = {"number": LR, "schedule": schedules.linear(LR, LR / 4, 10)}
#: Optimizers that torch has, and their options.
ROWS = [
    ("SGD", {}), ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True}), ("SGD", {"weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", {}), ("Adam", {"weight_decay": 0.1}), ("Adam", {"amsgrad": True, "betas": (0.8, 0.9)}),
    ("AdamW", {}), ("AdamW", {"weight_decay": 0.3, "eps": 1e-3}), ("AdamW", {"amsgrad": True}),
    ("Adamax", {}), ("Adamax", {"weight_decay": 0.1, "betas": (0.8, 0.99), "eps": 1e-3}),
    ("RMSprop", {}), ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("RMSprop", {"alpha": 0.9, "weight_decay": 0.1, "eps": 1e-3}),
    ("RMSprop", {"centered": True, "weight_decay": 0.1}),
    ("Adagrad", {}), ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adagrad", {"weight_decay": 0.1, "eps": 1e-3}),
    ("NAdam", {}), ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("NAdam", {"weight_decay": 0.1, "momentum_decay": 0.01, "betas": (0.8, 0.99), "eps": 1e-3}),
    ("Adafactor", {}), ("Adafactor", {"weight_decay": 0.1, "d": 1.5}),
    ("Adafactor", {"beta2_decay": -0.5, "eps": (1e-10, 1e-2)}),
    ("RAdam", {}), ("RAdam", {"weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"betas": (0.8, 0.9), "eps": 1e-3}), ("RAdam", {"betas": (0.9, 0.5)}),
    ("RAdam", {"betas": (0.0, 0.99)}),
    ("Adadelta", {}), ("Adadelta", {"rho": 0.5, "eps": 1e-3}), ("Adadelta", {"weight_decay": 0.1}),
    ("ASGD", {}), ("ASGD", {"lambd": 0.5, "alpha": 0.5, "weight_decay": 0.1}),
    ("ASGD", {"t0": 4.0, "lambd": 0.1}),
    ("Rprop", {}), ("Rprop", {"etas": (0.3, 2.0), "step_sizes": (5e-3, 0.05)}),
]  # fmt: skip
IDS = ["-".join([name, *map(str, options.items())]) for name, options in ROWS]
NAMES = sorted({name for name, _ in ROWS})


def initial():
    rng = np.random.default_rng(1)
    return {n: rng.standard_normal(s).astype("f4") for n, s in SHAPES.items()}


def gradients(rng):
    return {n: rng.standard_normal(s).astype("f4") for n, s in SHAPES.items()}


def on_device(values):
    queue = sycl_dnn.default_queue()
    return {n: dpnp.asarray(v, sycl_queue=queue) for n, v in values.items()}


def as_dtype(values, dtype):
    return {n: F.astype(v, dtype) for n, v in values.items()}


def trained(opt, steps=STEPS["few"], way="eager", names=tuple(SHAPES)):
    """Parameters, and averages where the state has them, after steps along random gradients."""
    params = {n: v for n, v in on_device(initial()).items() if n in names}
    update = sycl_dnn.compile(opt.update) if way == "compiled" else opt.update
    state, rng = opt.init(params), np.random.default_rng(2)
    for _ in range(steps):
        grads = on_device(gradients(rng))
        params, state = update({n: grads[n] for n in params}, state, params)
    assert float(state["step"]) == steps
    averages = {f"{n} average": v for n, v in state.get("ax", {}).items()}
    return {n: dpnp.asnumpy(v) for n, v in (params | averages).items()}


def by_torch(name, options, steps, rate=LR, names=tuple(SHAPES)):
    import torch

    params = {n: torch.tensor(v.astype("f8")) for n, v in initial().items() if n in names}
    opt = getattr(torch.optim, name)(list(params.values()), lr=LR, **options)
    if name == "Adafactor":
        # Here torch defaults to the epsilon of float64.
        opt.param_groups[0]["eps"] = options.get("eps", (float(np.finfo("f4").eps), 1e-3))
    rng = np.random.default_rng(2)
    for step in range(steps):
        grads = gradients(rng)
        for n, p in params.items():
            p.grad = torch.tensor(grads[n].astype("f8"))
        opt.param_groups[0]["lr"] = rate(step) if callable(rate) else rate
        opt.step()
    averages = {f"{n} average": opt.state[p]["ax"] for n, p in params.items() if name == "ASGD"}
    return {n: p.tolist() for n, p in (params | averages).items()}


def answers():
    """What torch answers, to be stored: default rates, and parameters after steps."""
    import torch

    kinds = {name: getattr(torch.optim, name) for name in [*NAMES, "Muon"]}
    rates = {n: inspect.signature(kind).parameters["lr"].default for n, kind in kinds.items()}
    result = {"default rates": rates}
    for name, options in ROWS:
        key = "-".join([name, *map(str, options.items())])
        for rate, value in RATES.items():
            result[f"{key} {rate} few"] = by_torch(name, options, STEPS["few"], value)
        result[f"{key} number many"] = by_torch(name, options, STEPS["many"])
    for name in MAXIMIZE:
        result[f"{name} maximize"] = by_torch(name, {"maximize": True}, STEPS["few"])
    for options in MUON:
        result[f"Muon {options}"] = by_torch("Muon", options, STEPS["few"], names=["w"])
    return result


@functools.cache
def stored():
    return json.loads(STORED.read_text())


def write():
    """Write the file of answers again."""
    STORED.write_text(json.dumps(answers()) + "\n")


def close(a, b, tolerance=2e-5):
    for n in b:
        np.testing.assert_allclose(a[n], b[n], rtol=tolerance, atol=tolerance, err_msg=n)


@pytest.mark.parametrize(("name", "options"), ROWS, ids=IDS)
@pytest.mark.sweep(6)
def test_steps_match_torch(name, options, request):
    found = trained(getattr(optim, name)(LR, **options))
    close(found, stored()[f"{request.node.callspec.id} number few"], 3e-5)


def test_default_rates_are_those_of_torch():
    rates = stored()["default rates"]
    assert {name: getattr(optim, name)().options["lr"] for name in rates} == rates


@pytest.mark.sweep(6)
@pytest.mark.parametrize(("name", "options"), ROWS, ids=IDS)
def test_compiled_steps_at_scheduled_rates_match_torch(name, options, request):
    found = trained(getattr(optim, name)(RATES["schedule"], **options), way="compiled")
    close(found, stored()[f"{request.node.callspec.id} schedule few"], 3e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), ROWS, ids=IDS)
def test_200_steps_match_torch(name, options, request):
    found = trained(getattr(optim, name)(LR, **options), STEPS["many"])
    close(found, stored()[f"{request.node.callspec.id} number many"], 3e-5)


def test_stored_answers_are_those_of_torch():
    pytest.importorskip("torch")
    found = answers()
    assert found.keys() == stored().keys()
    for key, values in stored().items():
        close(found[key], values, 1e-7)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sweep(6)
def test_a_step_of_bfloat16_parameters_is_one_of_float32_rounded(name):
    opt, rng = getattr(optim, name)(LR), np.random.default_rng(2)
    params = as_dtype(on_device(initial()), "bfloat16")
    state = opt.init(params)
    for _ in range(3):
        grads = as_dtype(on_device(gradients(rng)), "bfloat16")
        wide, _ = opt.update(as_dtype(grads, "float32"), state, as_dtype(params, "float32"))
        params, state = opt.update(grads, state, params)
        assert all(str(p.dtype) == "bfloat16" for p in params.values())
        actual, expected = (as_dtype(as_dtype(t, "bfloat16"), "float32") for t in (params, wide))
        close(*({n: dpnp.asnumpy(v) for n, v in t.items()} for t in (actual, expected)), 2**-7)


def adam(p, g, s, t, lr, b1=0.9, b2=0.999, eps=1e-8, decoupled=0.0):
    p = p * (1 - lr * decoupled)
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    return p - lr / (1 - b1**t) * s["m"] / (np.sqrt(s["v"] / (1 - b2**t)) + eps)


def lion(p, g, s, t, lr, wd=0.1):
    m = s.get("m", np.zeros_like(g))
    move, s["m"] = np.sign(0.9 * m + 0.1 * g), 0.99 * m + 0.01 * g
    return p * (1 - lr * wd) - lr * move


def lamb(p, g, s, t, lr, wd=0.1):
    move = -adam(np.zeros_like(p), g, s, t, 1.0, eps=1e-6) + wd * p
    return p - lr * np.linalg.norm(p) / np.linalg.norm(move) * move


def muon(p, g, s, t, lr):
    s["m"] = 0.95 * s.get("m", 0) + 0.05 * g
    x = 0.05 * g + 0.95 * s["m"]
    x = x.T if x.shape[0] > x.shape[1] else x
    x = x / max(np.linalg.norm(x), 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
    x = x.T if p.shape[0] > p.shape[1] else x
    return p * (1 - 0.1 * lr) - lr * math.sqrt(max(1, p.shape[0] / p.shape[1])) * x


@pytest.mark.parametrize(
    ("opt", "formula", "names"),
    [(optim.Lion(LR, weight_decay=0.1), lion, "wb"), (optim.LAMB(LR, weight_decay=0.1), lamb, "wb"),
     (optim.Muon(LR), muon, "w")],
    ids=["Lion", "LAMB", "Muon"],
)  # fmt: skip
def test_rules_without_torch_answers_follow_their_formulas(opt, formula, names):
    expected = {n: v.astype("f8") for n, v in initial().items() if n in names}
    states, rng = {n: {} for n in expected}, np.random.default_rng(2)
    for t in range(1, STEPS["few"] + 1):
        grads = gradients(rng)
        expected = {
            n: formula(p, grads[n].astype("f8"), states[n], t, LR) for n, p in expected.items()
        }
    close(trained(opt, names=names), expected, 3e-5)


MAXIMIZE = [name for name in sorted(optim.__all__)
            if "maximize" in getattr(getattr(optim, name), "defaults", ())]  # fmt: skip
MUON = [
    {}, {"nesterov": False}, {"adjust_lr_fn": "match_rms_adamw"},
    {"ns_steps": 3, "momentum": 0.8, "weight_decay": 0.0},
]  # fmt: skip


@pytest.mark.parametrize("name", MAXIMIZE)
@pytest.mark.sweep(4)
def test_maximizing_matches_torch(name):
    close(trained(getattr(optim, name)(LR, maximize=True)), stored()[f"{name} maximize"], 3e-5)


@pytest.mark.parametrize("beta", [0.999, 0.9999, 0.99, 0.9])
def test_counts_of_squares_of_radam_are_accurate(beta):
    for t in (1, 2, 3, 4, 5, 6, 7, 10, 100, 1000, 9999, 100000):
        power = math.exp(t * math.log(beta))
        expected = 2 / (1 - beta) - 1 - 2 * t * power / -math.expm1(t * math.log(beta))
        (count,) = defined(lambda t: (step_size_rules._squares(beta, t),), [F.full((), float(t))])
        assert float(count) == pytest.approx(expected, rel=2e-5)


def test_maximize_is_offered_where_torch_has_it():
    torch = pytest.importorskip("torch")
    theirs = [n for n in dir(torch.optim) if isinstance(getattr(torch.optim, n), type)]
    expected = [n for n in theirs if hasattr(optim, n) and "maximize" in inspect.signature(
        getattr(torch.optim, n)).parameters]  # fmt: skip
    # Of LBFGS since 2.14; its own test is in test_lbfgs.py.
    assert sorted({*expected, "LBFGS"}) == sorted([*MAXIMIZE, "LBFGS"])


@pytest.mark.parametrize("options", MUON, ids=str)
def test_muon_matches_torch_within_bfloat16(options):
    close(trained(optim.Muon(LR, **options), names=["w"]), stored()[f"Muon {options}"], 2e-3)


def test_muon_refuses_vectors():
    with pytest.raises(ValueError, match=r"matrices, got shape \(3,\)"):
        optim.Muon(LR).init(on_device(initial()))


def test_the_first_warmup_update_has_a_nonzero_rate():
    rate = schedules.warmup(4, schedules.constant(0.2))
    assert [rate(step) for step in (0, 2, 4, 9)] == pytest.approx([0.05, 0.125, 0.2, 0.2])
    assert schedules.warmup(4, schedules.constant(0.2), start=0.0)(0) == 0
    with pytest.raises(ValueError, match="warmup: the number of steps must be at least 1, got 0"):
        schedules.warmup(0, schedules.constant(0.2))


def test_groups_masks_norms_and_schedules():
    rate = schedules.warmup(3, schedules.cosine(0.1, 20), 0.01)
    opt = optim.AdamW(
        rate, weight_decay=0.5, max_norm=1.0, groups=[(lambda n: n == "b", {"betas": (0.5, 0.9)})],
        decay_mask=lambda name, p: p.ndim > 1,
    )  # fmt: skip
    expected = {n: v.astype("f8") for n, v in initial().items()}
    states, rng = {n: {} for n in expected}, np.random.default_rng(2)
    for t in range(1, 11):
        grads = {n: g.astype("f8") for n, g in gradients(rng).items()}
        norm = math.sqrt(sum((g * g).sum() for g in grads.values()))
        for n, g in grads.items():
            own = {"decoupled": 0.5} if n == "w" else {"b1": 0.5, "b2": 0.9}
            g = g * min(1, 1 / (norm + 1e-6))
            expected[n] = adam(expected[n], g, states[n], t, rate(t - 1), **own)
    close(trained(opt, 10), expected)


def test_another_rate_takes_effect_without_a_retrace():
    opt, params, grads = optim.SGD(1.0), on_device(initial()), on_device(initial())
    state = opt.init(params)
    for rate in (1.0, 0.5, 0.25):
        opt.options["lr"] = rate
        result, _ = opt.update(grads, state, params)
        close({"w": dpnp.asnumpy(result["w"])}, {"w": initial()["w"] * (1 - rate)})
    assert optimizer._programs[opt].cache_info().misses == 1
    opt.options["weight_decay"] = 1.0
    result, _ = opt.update(grads, state, params)
    close({"w": dpnp.asnumpy(result["w"])}, {"w": initial()["w"] * 0.5})


def test_a_group_keeps_its_own_rate_even_if_it_is_the_optimizers():
    rate, schedule = 0.5, schedules.constant(0.5)
    params = {"w": F.ones(1), "b": F.ones(1)}
    for own in (rate, schedule):
        opt = optim.SGD(own, groups=[(lambda n: n == "b", {"lr": own})])
        result, state = opt.update(params, opt.init(params), params, lr=0.25)
        assert (float(result["w"][0]), float(result["b"][0])) == (0.75, 0.5)
        opt.lr = 0.25
        result, _ = opt.update(params, state, params)
        assert (float(result["w"][0]), float(result["b"][0])) == (0.75, 0.5)


def test_frozen_parameters_do_not_change_and_have_no_state():
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net.freeze(lambda name: name.startswith("0."))
    opt, before = optim.Adam(0.1), net[0].weight
    assert sorted(opt.init(net)["m"]) == ["1.bias", "1.weight"]
    grads = sycl_dnn.grad(lambda net, x: F.sum(net(x)))(net, F.ones(2, 3))
    opt.step(net, grads)
    assert net[0].weight is before
    assert float(opt.state_of(net)["step"]) == 1
    assert float(optim.Adam().state_of(net)["step"]) == 0


def test_bfloat16_parameters_with_master_weights_follow_float32():
    values = {"w": np.ones((8, 8), "f4")}
    wide, narrow = on_device(values), {"w": F.astype(on_device(values)["w"], "bfloat16")}
    plain, opt, kept = optim.SGD(1e-4), optim.SGD(1e-4), optim.SGD(1e-4, master_weights=True)
    rounded, state = dict(narrow), kept.init(narrow)
    states = plain.init(wide), opt.init(rounded)
    for _ in range(40):
        g = on_device(values)
        small = {"w": F.astype(g["w"], "bfloat16")}
        wide, _ = plain.update(g, states[0], wide)
        rounded, _ = opt.update(small, states[1], rounded)
        narrow, state = kept.update(small, state, narrow)
    np.testing.assert_allclose(
        dpnp.asnumpy(state["master"]["w"]), dpnp.asnumpy(wide["w"]), rtol=1e-6
    )
    assert float(F.astype(narrow["w"], "float32")[0, 0]) == pytest.approx(0.996, abs=2e-3)
    assert float(F.astype(rounded["w"], "float32")[0, 0]) == 1.0


@pytest.mark.float64
def test_decay_of_float64_parameters_is_not_rounded_to_float32():
    opt = optim.AdamW(0.1, weight_decay=1e-6)
    params = {"w": F.full((1,), 1.0, dtype="float64")}
    params, _ = opt.update({"w": F.mul(params["w"], 0.0)}, opt.init(params), params)
    assert float(params["w"][0]) == 1.0 - 0.1 * 1e-6


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: optim.Adam(-1.0), ValueError, "Adam: lr must be at least 0, got -1.0"),
        (lambda: optim.Adam(betas=(1.0, 0.9)), ValueError, r"betas must be in \[0, 1\)"),
        (lambda: optim.Adam(betas=(0.9,)), ValueError, "two of them, got"),
        (lambda: optim.RMSprop(alpha=-1.0), ValueError, "RMSprop: alpha must be at least 0"),
        (lambda: optim.NAdam(momentum_decay=-1.0), ValueError, "momentum_decay must be at least 0"),
        (lambda: optim.Adagrad(lr_decay=-1.0), ValueError, "lr_decay must be at least 0, got -1.0"),
        (lambda: optim.Adagrad(initial_accumulator_value=-1.0), ValueError,
         "initial_accumulator_value must be at least 0"),
        (lambda: optim.SGD(nesterov=True), ValueError, "must go with momentum"),
        (lambda: optim.SGD(nesterov=True, momentum=0.9, dampening=0.1), ValueError, "without damp"),
        (lambda: optim.Adafactor(d=0.5), ValueError, "d must be at least 1, got 0.5"),
        (lambda: optim.Adafactor(beta2_decay=1.0), ValueError, "beta2_decay must be at most 0"),
        (lambda: optim.Adafactor(eps=(None, -1.0)), ValueError, "eps must be at least 0"),
        (lambda: optim.Muon(adjust_lr_fn="x"), ValueError, "adjust_lr_fn must be None, 'original'"),
        (lambda: optim.Adadelta(rho=1.5), ValueError, r"rho must be in \[0, 1\], got 1.5"),
        (lambda: optim.ASGD(lambd=-1.0), ValueError, "ASGD: lambd must be at least 0, got -1.0"),
        (lambda: optim.Rprop(etas=(1.2, 0.5)), ValueError, "Rprop: etas must be below and above 1"),
        (lambda: optim.SGD(groups=[(bool, {"lr": -1.0})]), ValueError, "lr must be at least 0"),
        (lambda: optim.Adam(momentum=0.9), TypeError, "Adam: unknown option 'momentum'"),
        (lambda: optim.SGD(groups=[(bool, {"beta": 1})]), TypeError, r"of SGD, got \['beta'"),
        (lambda: optim.SGD().init({"i": F.arange(3)}), TypeError, "SGD: i must be floating-point"),
        (lambda: optim.SGD().init({}), ValueError, "params must have a trainable array"),
        (lambda: _update({"w": F.ones(2)}, {"w": F.ones(3)}), ValueError, "of w must have shape"),
        (lambda: _update({"w": F.ones(2)}, {"v": F.ones(2)}), ValueError, "must have the keys"),
        (lambda: _update({"w": F.ones(2)}, {"w": F.ones(2)}, {"step": F.zeros(())}), KeyError,
         "no 'm' of w"),
    ],
)  # fmt: skip
def test_invalid_use_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def _update(params, grads, state=None):
    opt = optim.Adam()
    opt.update(grads, opt.init(params) if state is None else state, params)


def test_schedules_of_arrays_and_numbers_agree():
    rates = [
        schedules.linear(0.1, 0.9, 7), schedules.cosine(0.5, 9, 0.1), schedules.step_decay(0.5, 3),
        schedules.exponential(0.5, 0.9), schedules.polynomial(0.5, 0.1, 8, 2.0),
        schedules.one_cycle(0.4, 12), schedules.constant(0.1),
        schedules.joined([schedules.constant(1.0), schedules.exponential(1.0, 0.5)], [4]),
    ]  # fmt: skip

    @sycl_dnn.compile
    def traced(step):
        return [F.mul(F.ones(()), rate(step)) for rate in rates]

    for step in range(12):
        found = traced(F.full((), float(step)))
        numbers = [rate(step) for rate in rates]
        np.testing.assert_allclose([float(v) for v in found], numbers, rtol=2e-5, atol=1e-6)


def test_arrays_in_plain_attributes_are_not_trained():
    """Gradients of such modules lack them."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.places, self.parts = F.ones(3), [nn.Linear(3, 3)]
            self.out = nn.Linear(3, 2)
            self.register_buffer("held", F.ones(3))

        def forward(self, x):
            return self.out(self.parts[0](x + self.places * self.held))

    net, opt, x = Net(), optim.SGD(1.0), F.ones(1, 3)
    grads = sycl_dnn.grad(lambda net: F.sum(net(x)))(net)
    moved, _ = opt.update(grads, opt.init(net), net)
    assert moved.places.tolist() == moved.held.tolist() == [1, 1, 1]
    np.testing.assert_allclose((net.out.bias - moved.out.bias).tolist(), [1, 1], rtol=1e-5)
    assert (moved.parts[0].weight == net.parts[0].weight).all()
    opt.step(net, grads)
    np.testing.assert_allclose(net.out.bias.tolist(), moved.out.bias.tolist())


@pytest.mark.parametrize("kind", ["SGD", "sharded", "LBFGS"])
def test_options_are_attributes(kind):
    opt = optim.LBFGS(0.5) if kind == "LBFGS" else optim.SGD(0.5, momentum=0.9)
    opt = sycl_dnn.distributed.ShardedOptimizer(opt) if kind == "sharded" else copy.deepcopy(opt)
    opt.lr = 2.0
    assert opt.lr == opt.options["lr"] == 2.0
    if kind != "LBFGS":
        params = {"w": F.ones(3)}
        moved, state = opt.update({"w": F.ones(3)}, opt.init(params), params)
        assert moved["w"].tolist() == [-1.0] * 3
        opt.momentum = 0.0
        assert opt.update({"w": F.ones(3)}, state, moved)[0]["w"].tolist() == [-3.0] * 3
    with pytest.raises(ValueError, match="lr must be at least 0, got -1"):
        opt.lr = -1.0
    with pytest.raises(AttributeError, match="the rate is opt.lr or a schedule"):
        opt.param_groups = []
    with pytest.raises(AttributeError, match="no attribute 'rate'"):
        opt.rate  # noqa: B018

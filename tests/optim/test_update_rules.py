# SPDX-License-Identifier: Apache-2.0
"""Optimisers: 200 steps against NumPy's float64, and against ``torch.optim``."""

import functools
import inspect
import math

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn.optim import optimizer, schedules

STEPS = 200
SHAPES = {"w": (5, 3), "b": (3,)}


def adam(p, g, s, t, lr, b1=0.9, b2=0.999, eps=1e-8, wd=0.0, decoupled=0.0, amsgrad=False):
    p, g = p * (1 - lr * decoupled), g + wd * p
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    v = s["v"]
    if amsgrad:
        v = s["top"] = np.maximum(s.get("top", 0), v)
    return p - lr / (1 - b1**t) * s["m"] / (np.sqrt(v / (1 - b2**t)) + eps)


def sgd(p, g, s, t, lr, mu=0.0, damp=0.0, wd=0.0, nesterov=False):
    g = g + wd * p
    if not mu:
        return p - lr * g
    s["m"] = mu * s["m"] + (1 - damp) * g if "m" in s else g
    return p - lr * (g + mu * s["m"] if nesterov else s["m"])


def adamax(p, g, s, t, lr, b1=0.9, b2=0.999, eps=1e-8, wd=0.0):
    g = g + wd * p
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["u"] = np.maximum(b2 * s.get("u", 0), np.abs(g) + eps)
    return p - lr / (1 - b1**t) * s["m"] / s["u"]


def rmsprop(p, g, s, t, lr, mu=0.0, centered=False, alpha=0.99, eps=1e-8, wd=0.0):
    g = g + wd * p
    s["v"] = alpha * s.get("v", 0) + (1 - alpha) * g * g
    v = s["v"]
    if centered:
        s["g"] = alpha * s.get("g", 0) + (1 - alpha) * g
        v = v - s["g"] ** 2
    move = g / (np.sqrt(v) + eps)
    s["m"] = mu * s.get("m", 0) + move
    return p - lr * s["m"]


def adagrad(p, g, s, t, lr, decay=0.0, first=0.0, eps=1e-10, wd=0.0):
    g = g + wd * p
    s["sum"] = s.get("sum", first) + g * g
    return p - lr / (1 + (t - 1) * decay) * g / (np.sqrt(s["sum"]) + eps)


def lion(p, g, s, t, lr, wd=0.0):
    m = s.get("m", np.zeros_like(g))
    move, s["m"] = np.sign(0.9 * m + 0.1 * g), 0.99 * m + 0.01 * g
    return p * (1 - lr * wd) - lr * move


def lamb(p, g, s, t, lr, wd=0.0):
    move = -adam(np.zeros_like(p), g, s, t, 1.0, eps=1e-6) + wd * p
    return p - lr * np.linalg.norm(p) / np.linalg.norm(move) * move


def nadam(p, g, s, t, lr, b1=0.9, b2=0.999, eps=1e-8, wd=0.0, decoupled=0.0, decay=4e-3):
    p, g = p * (1 - lr * decoupled), g + wd * p
    now, later = (b1 * (1 - 0.5 * 0.96 ** (i * decay)) for i in (t, t + 1))
    s["product"] = s.get("product", 1.0) * now
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    below = np.sqrt(s["v"] / (1 - b2**t)) + eps
    move = (1 - now) / (1 - s["product"]) * g + later / (1 - s["product"] * later) * s["m"]
    return p - lr * move / below


def adafactor(p, g, s, t, lr, wd=0.0, d=1.0, decay=-0.8, eps=2.0**-23, low=1e-3):
    share = t**decay
    rate = max(low, np.sqrt((p * p).mean())) * min(lr, t**-0.5)
    p = p * (1 - lr * wd)
    axes = [None] if p.ndim < 2 else [-1, -2]
    for axis in axes:
        new = g * g if axis is None else (g * g).mean(axis, keepdims=True)
        s[axis] = s.get(axis, 0) * (1 - share) + share * new
    spread = s[None] if p.ndim < 2 else s[-1] @ s[-2] / max(s[-1].mean(), eps)
    move = g / np.sqrt(np.maximum(spread, eps * eps))
    return p - rate / max(1, np.sqrt((move * move).mean()) / d) * move


def muon(p, g, s, t, lr):
    if p.ndim != 2:
        return sgd(p, g, s, t, lr)
    s["m"] = 0.95 * s.get("m", 0) + 0.05 * g
    x = 0.05 * g + 0.95 * s["m"]
    x = x.T if x.shape[0] > x.shape[1] else x
    x = x / max(np.linalg.norm(x), 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
    x = x.T if p.shape[0] > p.shape[1] else x
    return p * (1 - 0.1 * lr) - lr * math.sqrt(max(1, p.shape[0] / p.shape[1])) * x


#: The optimizer, its options, the formula with its options, what torch calls the options.
ROWS = [
    ("SGD", {}, sgd, {}), ("SGD", {"momentum": 0.9}, sgd, {"mu": 0.9}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}, sgd,
     {"mu": 0.9, "damp": 0.3, "wd": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True}, sgd, {"mu": 0.9, "nesterov": True}),
    ("Adam", {}, adam, {}), ("Adam", {"weight_decay": 0.1}, adam, {"wd": 0.1}),
    ("Adam", {"amsgrad": True, "betas": (0.8, 0.9)}, adam, {"amsgrad": True, "b1": 0.8, "b2": 0.9}),
    ("AdamW", {}, adam, {"decoupled": 0.01}),
    ("AdamW", {"weight_decay": 0.3, "eps": 1e-3}, adam, {"decoupled": 0.3, "eps": 1e-3}),
    ("Adamax", {}, adamax, {}), ("RMSprop", {}, rmsprop, {}),
    ("RMSprop", {"momentum": 0.9, "centered": True}, rmsprop, {"mu": 0.9, "centered": True}),
    ("Adagrad", {}, adagrad, {}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5}, adagrad,
     {"decay": 0.1, "first": 0.5}),
    ("NAdam", {}, nadam, {}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}, nadam,
     {"decoupled": 0.1}),
    ("Adafactor", {}, adafactor, {}),
    ("Adafactor", {"weight_decay": 0.1, "d": 1.5}, adafactor, {"wd": 0.1, "d": 1.5}),
    ("SGD", {"weight_decay": 0.1}, sgd, {"wd": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, sgd,
     {"mu": 0.9, "nesterov": True, "wd": 0.1}),
    ("AdamW", {"amsgrad": True}, adam, {"decoupled": 0.01, "amsgrad": True}),
    ("Adamax", {"weight_decay": 0.1, "betas": (0.8, 0.99), "eps": 1e-3}, adamax,
     {"wd": 0.1, "b1": 0.8, "b2": 0.99, "eps": 1e-3}),
    ("NAdam", {"weight_decay": 0.1, "momentum_decay": 0.01, "betas": (0.8, 0.99), "eps": 1e-3},
     nadam, {"wd": 0.1, "decay": 0.01, "b1": 0.8, "b2": 0.99, "eps": 1e-3}),
    ("RMSprop", {"alpha": 0.9, "weight_decay": 0.1, "eps": 1e-3}, rmsprop,
     {"alpha": 0.9, "wd": 0.1, "eps": 1e-3}),
    ("RMSprop", {"centered": True, "weight_decay": 0.1}, rmsprop, {"centered": True, "wd": 0.1}),
    ("Adagrad", {"weight_decay": 0.1, "eps": 1e-3}, adagrad, {"wd": 0.1, "eps": 1e-3}),
    ("Adafactor", {"beta2_decay": -0.5, "eps": (1e-10, 1e-2)}, adafactor,
     {"decay": -0.5, "eps": 1e-10, "low": 1e-2}),
    ("Lion", {"weight_decay": 0.1}, lion, {"wd": 0.1}),
    ("LAMB", {"weight_decay": 0.1}, lamb, {"wd": 0.1}),
]  # fmt: skip
IDS = ["-".join([r[0], *map(str, r[1].items())]) for r in ROWS]
LR = 0.01


def initial():
    rng = np.random.default_rng(1)
    return {n: rng.standard_normal(s).astype("f4") for n, s in SHAPES.items()}


def gradients(rng):
    return {n: rng.standard_normal(s).astype("f4") for n, s in SHAPES.items()}


def on_device(values):
    queue = sycl_dnn.default_queue()
    return {n: dpnp.asarray(v, sycl_queue=queue) for n, v in values.items()}


def trained(opt, steps=STEPS, params=None):
    params = on_device(initial() if params is None else params)
    state, rng = opt.init(params), np.random.default_rng(2)
    for _ in range(steps):
        params, state = opt.update(on_device(gradients(rng)), state, params)
    assert float(state["step"]) == steps
    return {n: dpnp.asnumpy(v) for n, v in params.items()}


@functools.cache
def trained_by(name, options):
    return trained(getattr(optim, name)(LR, **dict(options)))


def by_formula(formula, options, steps=STEPS):
    params = {n: v.astype("f8") for n, v in initial().items()}
    states, rng = {n: {} for n in params}, np.random.default_rng(2)
    for t in range(1, steps + 1):
        for n, g in gradients(rng).items():
            params[n] = formula(params[n], g.astype("f8"), states[n], t, LR, **options)
    return params


def close(a, b, tolerance=2e-5):
    for n in b:
        np.testing.assert_allclose(a[n], b[n], rtol=tolerance, atol=tolerance, err_msg=n)


@pytest.mark.parametrize(("name", "options", "formula", "words"), ROWS, ids=IDS)
def test_steps_follow_the_formula_in_float64(name, options, formula, words):
    opt = getattr(optim, name)(LR, **options)
    close(trained(opt, 20), by_formula(formula, words, 20), 3e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options", "formula", "words"), ROWS, ids=IDS)
def test_200_steps_follow_the_formula_in_float64(name, options, formula, words):
    close(trained_by(name, tuple(options.items())), by_formula(formula, words), 3e-5)


def by_torch(torch, name, options):
    params = {n: torch.tensor(v.astype("f8")) for n, v in initial().items()}
    opt = getattr(torch.optim, name)(list(params.values()), lr=LR, **options)
    if name == "Adafactor":
        # By default torch takes that of float64 here.
        opt.param_groups[0]["eps"] = options.get("eps", (float(np.finfo("f4").eps), 1e-3))
    rng = np.random.default_rng(2)
    for _ in range(STEPS):
        for n, g in gradients(rng).items():
            params[n].grad = torch.tensor(g.astype("f8"))
        opt.step()
    return {n: p.numpy() for n, p in params.items()}


@pytest.mark.parametrize(("name", "options"), [r[:2] for r in ROWS], ids=IDS)
def test_200_steps_match_torch(name, options):
    torch = pytest.importorskip("torch")
    if not hasattr(torch.optim, name):
        pytest.skip(f"torch {torch.__version__} has no torch.optim.{name}")
    close(trained_by(name, tuple(options.items())), by_torch(torch, name, options), 3e-5)


MAXIMIZE = [name for name in sorted(optim.__all__)
            if "maximize" in getattr(getattr(optim, name), "defaults", ())]  # fmt: skip


@pytest.mark.parametrize("name", MAXIMIZE)
def test_maximize_steps_along_the_gradient(name):
    usual, opt = getattr(optim, name)(LR), getattr(optim, name)(LR, maximize=True)
    params = on_device(initial())
    states = usual.init(params), opt.init(params)
    grads = on_device(gradients(np.random.default_rng(2)))
    wanted, _ = usual.update({n: -g for n, g in grads.items()}, states[0], params)
    found, _ = opt.update(grads, states[1], params)
    close(*({n: dpnp.asnumpy(v) for n, v in tree.items()} for tree in (found, wanted)), 1e-7)


@pytest.mark.parametrize("name", MAXIMIZE)
def test_maximize_matches_torch(name):
    torch = pytest.importorskip("torch")
    options = {"maximize": True}
    close(trained_by(name, tuple(options.items())), by_torch(torch, name, options), 3e-5)


def test_maximize_is_offered_where_torch_has_it():
    torch = pytest.importorskip("torch")
    theirs = [n for n in dir(torch.optim) if isinstance(getattr(torch.optim, n), type)]
    wanted = [n for n in theirs if hasattr(optim, n) and "maximize" in inspect.signature(
        getattr(torch.optim, n)).parameters]  # fmt: skip
    # Of LBFGS since 2.14; its own test is in test_lbfgs.py.
    assert sorted({*wanted, "LBFGS"}) == sorted([*MAXIMIZE, "LBFGS"])


@pytest.mark.parametrize(
    "options",
    [{}, {"nesterov": False}, {"adjust_lr_fn": "match_rms_adamw"},
     {"ns_steps": 3, "momentum": 0.8, "weight_decay": 0.0}],
    ids=str,
)  # fmt: skip
def test_muon_matches_torch_within_bfloat16(options):
    torch = pytest.importorskip("torch")
    params, opt = on_device({"w": initial()["w"]}), optim.Muon(LR, **options)
    theirs = torch.tensor(initial()["w"].astype("f8"))
    other = torch.optim.Muon([theirs], lr=LR, **options)
    state, rng = opt.init(params), np.random.default_rng(2)
    for _ in range(20):
        g = rng.standard_normal(SHAPES["w"]).astype("f4")
        theirs.grad = torch.tensor(g.astype("f8"))
        other.step()
        params, state = opt.update(on_device({"w": g}), state, params)
    close({"w": dpnp.asnumpy(params["w"])}, {"w": theirs.numpy()}, 2e-3)


def test_muon_makes_matrices_orthogonal():
    opt = optim.Muon(LR)
    params, rng = on_device({"w": initial()["w"]}), np.random.default_rng(2)
    wanted, memory, state = initial()["w"].astype("f8"), {}, opt.init(params)
    for t in range(1, 21):
        g = rng.standard_normal((5, 3)).astype("f4")
        wanted = muon(wanted, g.astype("f8"), memory, t, LR)
        params, state = opt.update(on_device({"w": g}), state, params)
    close({"w": dpnp.asnumpy(params["w"])}, {"w": wanted})
    with pytest.raises(ValueError, match=r"matrices, got shape \(3,\)"):
        opt.init(on_device(initial()))


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
    wanted = {n: v.astype("f8") for n, v in initial().items()}
    states, rng = {n: {} for n in wanted}, np.random.default_rng(2)
    for t in range(1, 11):
        grads = {n: g.astype("f8") for n, g in gradients(rng).items()}
        norm = math.sqrt(sum((g * g).sum() for g in grads.values()))
        for n, g in grads.items():
            own = {"decoupled": 0.5} if n == "w" else {"b1": 0.5, "b2": 0.9}
            g = g * min(1, 1 / (norm + 1e-6))
            wanted[n] = adam(wanted[n], g, states[n], t, rate(t - 1), **own)
    close(trained(opt, 10), wanted)


@pytest.mark.slow
def test_a_compiled_step_equals_the_eager_one_and_learns():
    sycl_dnn.manual_seed(4)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))
    x, y = F.randn(16, 4), F.randn(16, 1)
    opt = optim.AdamW(schedules.linear(0.05, 0.01, 20), max_norm=1.0)

    def loss(net, x, y):
        return F.mse_loss(net(x), y)

    @sycl_dnn.compile
    def step(net, state, x, y):
        value, grads = sycl_dnn.value_and_grad(loss)(net, x, y)
        net, state = opt.update(grads, state, net)
        return value, net, state

    import copy

    other, state, losses = copy.deepcopy(net), opt.init(net), []
    for _ in range(20):
        value, net, state = step(net, state, x, y)
        again, grads = sycl_dnn.value_and_grad(loss)(other, x, y)
        opt.step(other, grads)
        losses.append((float(value), float(again)))
    assert losses[-1][0] < 0.5 * losses[0][0]
    np.testing.assert_allclose(*zip(*losses, strict=True), rtol=1e-3)
    assert step.cache_info().size == 1
    for (name, a), b in zip(net.state_dict().items(), other.state_dict().values(), strict=True):
        np.testing.assert_allclose(
            dpnp.asnumpy(a), dpnp.asnumpy(b), rtol=2e-3, atol=2e-3, err_msg=name
        )


def test_another_rate_takes_effect_without_a_retrace():
    opt, params, grads = optim.SGD(1.0), on_device(initial()), on_device(initial())
    state = opt.init(params)
    for rate in (1.0, 0.5, 0.25):
        opt.options["lr"] = rate
        made, _ = opt.update(grads, state, params)
        close({"w": dpnp.asnumpy(made["w"])}, {"w": initial()["w"] * (1 - rate)})
    assert optimizer._programs[opt].cache_info().misses == 1
    opt.options["weight_decay"] = 1.0
    made, _ = opt.update(grads, state, params)
    close({"w": dpnp.asnumpy(made["w"])}, {"w": initial()["w"] * 0.5})


def test_frozen_parameters_do_not_change_and_have_no_state():
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net.freeze(lambda name: name.startswith("0."))
    opt, before = optim.Adam(0.1), net[0].weight
    assert sorted(opt.init(net)["m"]) == ["1.bias", "1.weight"]
    grads = sycl_dnn.grad(lambda net, x: F.sum(net(x)))(net, F.ones(2, 3))
    opt.step(net, grads)
    assert net[0].weight is before
    assert float(opt.state_of(net)["step"]) == 1


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


def test_schedules_of_arrays_and_numbers_match_torch():
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
    torch = pytest.importorskip("torch")
    scheduler = torch.optim.lr_scheduler
    for rate, make in (
        (schedules.cosine(0.5, 9, 0.1), lambda o: scheduler.CosineAnnealingLR(o, 9, 0.1)),
        (schedules.step_decay(0.5, 3), lambda o: scheduler.StepLR(o, 3)),
        (schedules.one_cycle(0.5, 9), lambda o: scheduler.OneCycleLR(o, 0.5, 9)),
    ):
        opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
        theirs = make(opt)
        for step in range(9):
            assert rate(step) == pytest.approx(theirs.get_last_lr()[0], rel=1e-6), step
            opt.step()
            theirs.step()


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

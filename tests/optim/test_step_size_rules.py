# SPDX-License-Identifier: Apache-2.0
"""RAdam, Adadelta, ASGD, Rprop: every option against formulas in float64 and against torch."""

import math

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn.optim import schedules, step_size_rules

STEPS, LR = 20, 0.01
SHAPES = {"w": (5, 3), "b": (3,)}


def radam(p, g, s, t, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
          decoupled_weight_decay=False):  # fmt: skip
    b1, b2 = betas
    if decoupled_weight_decay:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    move, most = s["m"] / (1 - b1**t), 2 / (1 - b2) - 1
    rho = most - 2 * t * b2**t / (1 - b2**t)
    if rho > 5:
        ratio = (rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)
        move = move * math.sqrt(ratio * (1 - b2**t)) / (np.sqrt(s["v"]) + eps)
    return p - lr * move


def adadelta(p, g, s, t, lr, rho=0.9, eps=1e-6, weight_decay=0.0):
    g = g + weight_decay * p
    s["v"] = rho * s.get("v", 0) + (1 - rho) * g * g
    move = np.sqrt(s.get("d", 0) + eps) / np.sqrt(s["v"] + eps) * g
    s["d"] = rho * s.get("d", 0) + (1 - rho) * move * move
    return p - lr * move


def asgd(p, g, s, t, lr, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0):
    eta = s.get("eta", lr)
    p = p * (1 - lambd * eta) - eta * (g + weight_decay * p)
    s["ax"] = s.get("ax", 0) + (p - s.get("ax", 0)) / max(1, t - 1 - t0)
    s["eta"] = lr / (1 + lambd * lr * t) ** alpha
    return p


def rprop(p, g, s, t, lr, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0)):
    same = np.sign(g * s.get("g", 0))
    factor = np.where(same > 0, etas[1], np.where(same < 0, etas[0], 1.0))
    s["size"] = np.clip(s.get("size", lr) * factor, *step_sizes)
    s["g"] = np.where(same < 0, 0, g)
    return p - np.sign(s["g"]) * s["size"]


ROWS = [
    ("RAdam", radam, {}), ("RAdam", radam, {"weight_decay": 0.1}),
    ("RAdam", radam, {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", radam, {"betas": (0.8, 0.9), "eps": 1e-3}), ("RAdam", radam, {"betas": (0.9, 0.5)}),
    ("RAdam", radam, {"betas": (0.0, 0.99)}),
    ("Adadelta", adadelta, {}), ("Adadelta", adadelta, {"rho": 0.5, "eps": 1e-3}),
    ("Adadelta", adadelta, {"weight_decay": 0.1}),
    ("ASGD", asgd, {}), ("ASGD", asgd, {"lambd": 0.5, "alpha": 0.5, "weight_decay": 0.1}),
    ("ASGD", asgd, {"t0": 4.0, "lambd": 0.1}),
    ("Rprop", rprop, {}), ("Rprop", rprop, {"etas": (0.3, 2.0), "step_sizes": (5e-3, 0.05)}),
]  # fmt: skip
IDS = ["-".join([r[0], *map(str, r[2].items())]) for r in ROWS]
RATES = {"number": LR, "schedule": schedules.linear(LR, LR / 4, 10)}


def rounded(value):
    """The nearest bfloat16, ties to even."""
    bits = np.asarray(value, "f4").view("u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype("u4").view("f4")


def initial():
    rng = np.random.default_rng(1)
    return {n: rounded(rng.standard_normal(s)) for n, s in SHAPES.items()}


def gradients(rng):
    return {n: rounded(rng.standard_normal(s)) for n, s in SHAPES.items()}


def on_device(values, dtype="float32"):
    return {n: F.astype(F.asarray(v), dtype) for n, v in values.items()}


def trained(opt, way, dtype):
    params = on_device(initial(), dtype)
    state, rng = opt.init(params), np.random.default_rng(2)
    update = sycl_dnn.compile(opt.update) if way == "compiled" else opt.update
    for _ in range(STEPS):
        params, state = update(on_device(gradients(rng), dtype), state, params)
    return {n: dpnp.asnumpy(F.astype(v, "float32")) for n, v in params.items()}, state


def by_formula(formula, options, rate, dtype):
    params = {n: v.astype("f8") for n, v in initial().items()}
    states, rng = {n: {} for n in params}, np.random.default_rng(2)
    for t in range(1, STEPS + 1):
        for n, g in gradients(rng).items():
            lr = rate(t - 1) if callable(rate) else rate
            made = formula(params[n], g.astype("f8"), states[n], t, lr, **options)
            params[n] = made if dtype == "float32" else rounded(made).astype("f8")
    return params, states


def close(a, b, dtype="float32"):
    tolerance = 2e-5 if dtype == "float32" else 8e-3
    for n in b:
        np.testing.assert_allclose(a[n], b[n], rtol=tolerance, atol=tolerance, err_msg=n)


@pytest.mark.sweep(4)
@pytest.mark.parametrize(("name", "formula", "options"), ROWS, ids=IDS)
@pytest.mark.parametrize("way", ["eager", "compiled"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("rate", RATES)
def test_steps_follow_the_formula(name, formula, options, way, dtype, rate):
    found, state = trained(getattr(optim, name)(RATES[rate], **options), way, dtype)
    wanted, states = by_formula(formula, options, RATES[rate], dtype)
    close(found, wanted, dtype)
    if name == "ASGD":
        averages = {n: dpnp.asnumpy(a) for n, a in state["ax"].items()}
        close(averages, {n: s["ax"] for n, s in states.items()}, dtype)


@pytest.mark.parametrize(("name", "options"), [(r[0], r[2]) for r in ROWS], ids=IDS)
@pytest.mark.parametrize("maximize", [False, True])
def test_steps_match_torch(name, options, maximize):
    torch = pytest.importorskip("torch")
    params = {n: torch.tensor(v.astype("f8")) for n, v in initial().items()}
    options = {**options, "maximize": maximize}
    opt = getattr(torch.optim, name)(list(params.values()), lr=LR, **options)
    rng = np.random.default_rng(2)
    for _ in range(STEPS):
        for n, g in gradients(rng).items():
            params[n].grad = torch.tensor(g.astype("f8"))
        opt.step()
    found, _ = trained(getattr(optim, name)(LR, **options), "eager", "float32")
    close(found, {n: p.numpy() for n, p in params.items()})


@pytest.mark.parametrize("beta", [0.999, 0.9999, 0.99, 0.9])
def test_counts_of_squares_are_accurate(beta):
    for t in (1, 2, 3, 4, 5, 6, 7, 10, 100, 1000, 9999, 100000):
        power = math.exp(t * math.log(beta))
        wanted = 2 / (1 - beta) - 1 - 2 * t * power / -math.expm1(t * math.log(beta))
        found = float(step_size_rules._squares(beta, F.full((), float(t))))
        assert found == pytest.approx(wanted, rel=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RAdam", "Adadelta", "ASGD", "Rprop"])
def test_groups_masks_files_and_modules(name, tmp_path):
    kind, path = getattr(optim, name), str(tmp_path / "state.safetensors")
    opt = kind(LR, groups=[(lambda n: n == "b", {"lr": 0.0})], max_norm=1.0, master_weights=True)
    params = on_device(initial(), "bfloat16")
    state = opt.init(params)
    rng = np.random.default_rng(2)
    grads = [on_device(gradients(rng), "bfloat16") for _ in range(6)]
    for g in grads[:3]:
        params, state = opt.update(g, state, params)
    sycl_dnn.save(path, {"state": state, "params": params})
    loaded = sycl_dnn.load(path, {"state": state, "params": params})
    again, other = loaded["params"], loaded["state"]
    for g in grads[3:]:
        params, state = opt.update(g, state, params)
        again, other = opt.update(g, other, again)
    for n in SHAPES:
        assert (dpnp.asnumpy(F.astype(params[n], "float32"))
                == dpnp.asnumpy(F.astype(again[n], "float32"))).all()  # fmt: skip
    if name != "Rprop":
        assert F.astype(params["b"], "float32").tolist() == initial()["b"].tolist()
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    x = F.randn(16, 3)
    loss = lambda net: F.mean(F.square(net(x) - 1.0))  # noqa: E731
    opt = kind(0.1 if name == "ASGD" else 1e-2 if name != "Adadelta" else 1.0)
    first = float(loss(net))
    for _ in range(STEPS):
        opt.step(net, sycl_dnn.grad(loss)(net))
    assert float(loss(net)) < first


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: optim.RAdam(betas=(1.0, 0.9)), r"RAdam: betas must be in \[0, 1\)"),
        (lambda: optim.Adadelta(rho=1.5), r"Adadelta: rho must be in \[0, 1\], got 1.5"),
        (lambda: optim.ASGD(lambd=-1.0), "ASGD: lambd must be at least 0, got -1.0"),
        (lambda: optim.Rprop(etas=(1.2, 0.5)), "Rprop: etas must be below and above 1"),
    ],
)
def test_out_of_range_options_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()

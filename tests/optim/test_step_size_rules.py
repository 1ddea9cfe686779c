# SPDX-License-Identifier: Apache-2.0
"""RAdam, Adadelta, ASGD and Rprop in training; test_update_rules.py has their steps."""

import math

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn.functional.defined import defined
from sycl_dnn.optim import step_size_rules

STEPS, LR = 20, 0.01
SHAPES = {"w": (5, 3), "b": (3,)}


def drawn(rng):
    return {n: F.astype(F.asarray(rng.standard_normal(s).astype("f4")), "bfloat16")
            for n, s in SHAPES.items()}  # fmt: skip


@pytest.mark.parametrize("beta", [0.999, 0.9999, 0.99, 0.9])
def test_counts_of_squares_are_accurate(beta):
    for t in (1, 2, 3, 4, 5, 6, 7, 10, 100, 1000, 9999, 100000):
        power = math.exp(t * math.log(beta))
        expected = 2 / (1 - beta) - 1 - 2 * t * power / -math.expm1(t * math.log(beta))
        (count,) = defined(lambda t: (step_size_rules._squares(beta, t),), [F.full((), float(t))])
        actual = float(count)
        assert actual == pytest.approx(expected, rel=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RAdam", "Adadelta", "ASGD", "Rprop"])
def test_groups_masks_files_and_modules(name, tmp_path):
    kind, path = getattr(optim, name), str(tmp_path / "state.safetensors")
    opt = kind(LR, groups=[(lambda n: n == "b", {"lr": 0.0})], max_norm=1.0, master_weights=True)
    rng = np.random.default_rng(2)
    first, *grads = [drawn(rng) for _ in range(7)]
    params, state = first, opt.init(first)
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
        assert F.astype(params["b"], "float32").tolist() == F.astype(first["b"], "float32").tolist()
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

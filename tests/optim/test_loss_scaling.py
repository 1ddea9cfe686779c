# SPDX-License-Identifier: Apache-2.0
"""``GradScaler`` against torch's rule, in eager calls and in compiled steps with ``autocast``."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

BAD = {"infinite": np.inf, "minus infinite": -np.inf, "nan": np.nan}


def on_device(value, dtype="float32"):
    result = dpnp.asarray(np.asarray(value, "f4"), sycl_queue=sycl_dnn.default_queue())
    return F.astype(result, dtype)


def numbers(scale):
    return float(scale["scale"]), int(scale["growth_tracker"])


@pytest.mark.parametrize("way", ["eager", "compiled"])
def test_the_scale_follows_the_rule_of_torch(way):
    torch = pytest.importorskip("torch")
    options = {"init_scale": 64.0, "growth_factor": 4.0, "backoff_factor": 0.25,
               "growth_interval": 3}  # fmt: skip
    theirs = torch.amp.GradScaler("cpu", **options)
    weight = torch.ones(2, requires_grad=True)
    their_opt = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    scaler, opt = optim.GradScaler(**options), optim.SGD(0.5, momentum=0.9)
    params = {"w": on_device([1.0, 1.0])}
    state, scale = opt.init(params), scaler.init()

    def step(grads, state, params, scale):
        return scaler.update(opt, grads, state, params, scale)

    run = sycl_dnn.compile(step) if way == "compiled" else step
    for number in range(14):
        factor = np.inf if number in (4, 5, 10) else 1.0 + number
        (theirs.scale((weight * torch.tensor([factor, 2.0])).sum())).backward()
        theirs.step(their_opt)
        theirs.update()
        their_opt.zero_grad()
        of_scale = np.array([factor, 2.0]) * numbers(scale)[0]
        params, state, scale = run({"w": on_device(of_scale)}, state, params, scale)
        assert numbers(scale) == (theirs.get_scale(), theirs._get_growth_tracker()), number
        np.testing.assert_allclose(dpnp.asnumpy(params["w"]), weight.detach(), rtol=1e-6)
    assert float(state["step"]) == 11


def test_an_overflowing_scale_is_kept():
    scaler = optim.GradScaler(2.0**127, growth_interval=1)
    scale = scaler.adjusted(scaler.init(), F.eq(F.ones(()), 1.0))
    assert numbers(scale) == (2.0**127, 0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.sweep(2)
def test_one_nonfinite_gradient_skips_the_step(bad, dtype):
    scaler, opt = optim.GradScaler(), optim.Adam()
    params = {"a": on_device(np.ones((3, 4)), dtype), "b": on_device(np.ones(5))}
    state, scale = opt.init(params), scaler.init()
    grads = {n: np.ones(p.shape, "f4") for n, p in params.items()}
    grads["a"][1, 2] = BAD[bad]
    result = scaler.update(
        opt, {n: on_device(g, str(params[n].dtype)) for n, g in grads.items()}, state, params, scale
    )
    for name, p in result[0].items():
        assert p.dtype == params[name].dtype
        assert (dpnp.asnumpy(F.astype(p, "float32")) == 1).all()
    assert float(result[1]["step"]) == 0
    assert not dpnp.asnumpy(result[1]["m"]["a"]).any()
    assert numbers(result[2]) == (2.0**15, 0)


def test_gradients_that_would_underflow_in_float16_survive():
    """Without a scale these are zero."""
    x, w = on_device(np.full((4, 8), 2e-4)), on_device(np.ones((4, 8)))

    def loss(params, x, scale):
        narrow = F.astype(params["w"], "float16")
        value = F.sum(F.mul(F.astype(narrow, "float32"), x))
        return scaler.scale(F.mul(value, 1e-5), scale)

    for options, expected in (({"enabled": False}, 0.0), ({}, 2e-9)):
        scaler = optim.GradScaler(**options)
        scale = scaler.init()
        grads = sycl_dnn.grad(loss)({"w": w}, x, scale)
        grads, is_finite = scaler.unscale(grads, scale)
        assert bool(is_finite)
        assert float(grads["w"][0, 0]) == pytest.approx(expected, rel=2e-3)


@pytest.mark.slow
def test_modules_train_in_float16_as_in_float32():
    def trained(dtype):
        sycl_dnn.manual_seed(1)
        net = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 3)
        )
        opt, scaler = optim.AdamW(1e-2, max_norm=1.0), optim.GradScaler(growth_interval=10)
        x, labels = F.randn(12, 1, 8, 8), F.arange(12) % 3

        @sycl_dnn.compile
        def step(net, state, scale, x, labels):
            def loss(net, x, labels):
                with sycl_dnn.autocast(dtype):
                    return scaler.scale(F.cross_entropy(net(x), labels), scale)

            value, grads = sycl_dnn.value_and_grad(loss)(net, x, labels)
            actual = scaler.update(opt, grads, state, net, scale)
            return F.div(value, scale["scale"]), *actual

        state, scale, losses = opt.init(net), scaler.init(), []
        for _ in range(20):
            value, net, state, scale = step(net, state, scale, x, labels)
            losses.append(value)
        assert step.cache_info().misses == 1
        assert int(net[1].num_batches_tracked) == 20
        return [float(v) for v in losses], float(scale["scale"]), float(state["step"])

    expected, _, _ = trained(None)
    losses, scale, steps = trained("float16")
    assert steps >= 15
    assert scale >= 2.0**11
    assert losses[-1] < 0.5 * losses[0]
    np.testing.assert_allclose(losses[0], expected[0], rtol=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: optim.GradScaler(0.0), "init_scale must be positive, got 0.0"),
        (lambda: optim.GradScaler(growth_factor=1.0), "growth_factor must be greater than 1"),
        (lambda: optim.GradScaler(backoff_factor=2.0), r"backoff_factor must be in \(0, 1\)"),
        (lambda: optim.GradScaler(growth_interval=0), "growth_interval must be at least 1"),
        (lambda: optim.GradScaler().scale(F.ones(()), {}), r"must have the keys .* got \[\]"),
        (lambda: optim.GradScaler().unscale([None], optim.GradScaler().init()), "got none"),
    ],
)
def test_invalid_use_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()

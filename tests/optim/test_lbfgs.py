# SPDX-License-Identifier: Apache-2.0
"""L-BFGS: known minima, and torch's iterations."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn.optim import line_search, schedules

RNG = np.random.default_rng(0)
A, Y = RNG.standard_normal((20, 6)).astype("f4"), (RNG.random(20) > 0.5).astype("f4")
W = RNG.standard_normal(6).astype("f4")
SEARCHES = [None, "strong_wolfe"]


def logistic(p, a, y):
    w = F.astype(p["w"], "float32")
    logits = F.add(F.matmul(a, w), F.astype(p["b"], "float32"))
    return F.binary_cross_entropy_with_logits(logits, y) + 0.05 * F.sum(F.square(w))


def rosenbrock(p, a, y):
    w, valley = p["w"], p["w"][1:] - p["w"][:-1] * p["w"][:-1]
    return F.sum(F.square(1 - w[:-1]) + 100 * F.square(valley)) + F.sum(F.square(p["b"]))


def run(opt, loss, updates, dtype="float32", params=None):
    params = params or {"w": F.astype(F.asarray(W), dtype), "b": F.astype(F.zeros(1), dtype)}
    state, losses = opt.init(params), []
    for _ in range(updates):
        params, state = opt.update(loss, state, params, F.asarray(A), F.asarray(Y))
        losses.append(float(state["loss"]))
    return params, state, losses


@pytest.mark.slow
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("way", ["eager", "compiled"])
def test_a_convex_loss_is_minimized(search, way):
    loss = sycl_dnn.compile(logistic) if way == "compiled" else logistic
    params, state, losses = run(optim.LBFGS(line_search_fn=search), loss, 3)
    grads = sycl_dnn.grad(logistic)(params, F.asarray(A), F.asarray(Y))
    assert float(optim.global_norm(grads)) < 1e-3
    assert losses[-1] < losses[0]
    assert float(state["step"]) == 3


@pytest.mark.slow
def test_rosenbrock_needs_the_line_search():
    params, _, losses = run(optim.LBFGS(line_search_fn="strong_wolfe"), rosenbrock, 5)
    np.testing.assert_allclose(params["w"].tolist(), 1.0, atol=1e-3)
    assert losses[-1] < 1e-8 < losses[0]


@pytest.mark.parametrize(
    "options",
    [{"lr": 1e-3}, {"line_search_fn": "strong_wolfe", "max_iter": 5}, {"max_iter": 1, "lr": 1e-3},
     {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 5},
     {"line_search_fn": "strong_wolfe", "max_eval": 3}, {"tolerance_grad": 50.0, "lr": 1e-3},
     {"tolerance_change": 1e-2, "lr": 1e-3}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("loss", [logistic, rosenbrock])
def test_iterations_match_torch(loss, options):
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    w, b = torch.tensor(W, requires_grad=True), torch.zeros(1, requires_grad=True)
    theirs, a, y = torch.optim.LBFGS([w, b], **options), torch.tensor(A), torch.tensor(Y)

    def closure():
        theirs.zero_grad()
        if loss is logistic:
            value = functional.binary_cross_entropy_with_logits(a @ w + b, y) + 0.05 * (w * w).sum()
        else:
            valley = w[1:] - w[:-1] ** 2
            value = ((1 - w[:-1]) ** 2 + 100 * valley**2).sum() + (b * b).sum()
        value.backward()
        return value

    opt, params = optim.LBFGS(**options), {"w": F.asarray(W), "b": F.zeros(1)}
    state = opt.init(params)
    for update in range(3):
        value = theirs.step(closure)
        params, state = opt.update(loss, state, params, F.asarray(A), F.asarray(Y))
        assert float(state["loss"]) == pytest.approx(value.item(), rel=1e-3)
        np.testing.assert_allclose(params["w"].tolist(), w.tolist(), rtol=2e-3, atol=2e-4)
        known = theirs.state[w]
        if loss is logistic and update:
            continue  # the search is in the noise of float32
        assert int(state["iterations"]) == known["n_iter"]
        assert int(state["evaluations"]) == known["func_evals"]


@pytest.mark.slow
def test_modules_buffers_frozen_parameters_and_steps_in_place():
    sycl_dnn.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)), F.randn(16, 3)
    net.freeze(lambda name: name == "0.bias")
    frozen, opt = net[0].bias, optim.LBFGS(max_iter=4, line_search_fn="strong_wolfe")
    loss = lambda net, x: F.mean(F.square(net(x) - 1.0))  # noqa: E731
    first = float(loss(net, x))
    counted = int(net[1].num_batches_tracked)
    moved, state = opt.update(loss, opt.init(net), net, x)
    assert moved[0].bias is frozen
    assert int(moved[1].num_batches_tracked) == counted + int(state["evaluations"])
    opt.step(net, loss, x)
    opt.step(net, loss, x)
    assert net[0].bias is frozen
    assert float(opt.state_of(net)["step"]) == 2
    assert float(loss(net, x)) < 0.1 * first


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_bfloat16_and_float16_parameters_keep_their_dtype(dtype):
    params, _, losses = run(
        optim.LBFGS(line_search_fn="strong_wolfe", max_iter=5), logistic, 2, dtype
    )
    assert str(params["w"].dtype) == dtype
    assert losses[1] < losses[0]


@pytest.mark.slow
def test_a_state_from_a_file_continues(tmp_path):
    opt, path = optim.LBFGS(max_iter=3), str(tmp_path / "state.safetensors")
    params, state, _ = run(opt, logistic, 2)
    sycl_dnn.save(path, {"params": params, "state": state})
    first = {"w": F.zeros(6), "b": F.zeros(1)}
    loaded = sycl_dnn.load(path, {"params": first, "state": opt.init(first)})
    more = (F.asarray(A), F.asarray(Y))
    usual, _ = opt.update(logistic, state, params, *more)
    other, _ = opt.update(logistic, loaded["state"], loaded["params"], *more)
    assert (usual["w"] == other["w"]).all()


def test_rates_may_be_schedules_or_arguments():
    rate = schedules.linear(1e-3, 0.0, 2)
    params = {"w": F.asarray(W), "b": F.zeros(1)}
    by_schedule, state, _ = run(optim.LBFGS(rate, max_iter=2), rosenbrock, 2, params=params)
    opt = optim.LBFGS(max_iter=2)
    by_value, again = params, opt.init(params)
    for step in range(2):
        by_value, again = opt.update(
            rosenbrock, again, by_value, F.asarray(A), F.asarray(Y), lr=rate(step)
        )
    assert (by_schedule["w"] == by_value["w"]).all()
    assert float(state["step"]) == 2


def test_parameters_stay_at_a_minimum():
    params = {"w": F.zeros(3)}
    opt = optim.LBFGS()
    result, state = opt.update(lambda p: F.sum(F.square(p["w"])), opt.init(params), params)
    assert result["w"].tolist() == [0, 0, 0]
    assert (int(state["iterations"]), int(state["evaluations"])) == (0, 1)


def test_the_cubic_minimum_has_zero_slope():
    point = lambda t: line_search.Point(t, t**3 - 3 * t, None, 3 * t * t - 3)  # noqa: E731
    assert line_search.cubic_minimum(point(0.0), point(2.0)) == pytest.approx(1.0)
    assert line_search.cubic_minimum(point(2.0), point(0.0)) == pytest.approx(1.0)
    assert line_search.cubic_minimum(point(0.0), point(2.0), (1.5, 3.0)) == 1.5
    nan = line_search.Point(1.0, float("nan"), None, 1.0)
    assert line_search.cubic_minimum(point(0.0), nan) == 0.5


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: optim.LBFGS(max_iter=0), ValueError, "LBFGS: max_iter must be at least 1, got 0"),
        (lambda: optim.LBFGS(line_search_fn="x"), ValueError, "must be None or 'strong_wolfe'"),
        (lambda: optim.LBFGS(momentum=0.9), TypeError, "LBFGS: unknown option 'momentum'"),
        (lambda: optim.LBFGS().init({}), ValueError, "params must have a trainable array"),
        (lambda: optim.LBFGS().init({"i": F.arange(3)}), TypeError, "i must be floating-point"),
        (lambda: _update({"w": F.ones(2)}), TypeError, "loss must be a function of the parameters"),
        (lambda: sycl_dnn.compile(lambda w: _update(lambda p: F.sum(p["w"]), w))(F.ones(2)),
         TypeError, "no value while a function is traced"),
    ],
)  # fmt: skip
def test_invalid_use_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


LBFGS = optim.LBFGS()
STATE = LBFGS.init({"w": F.ones(2)})


def _update(loss, w=None):
    return LBFGS.update(loss, STATE, {"w": F.ones(2) if w is None else w})


def test_gradients_are_on_the_queue_of_the_parameters():
    queue = sycl_dnn.default_queue()
    params, state, _ = run(optim.LBFGS(max_iter=2), logistic, 1)
    assert params["w"].sycl_queue == state["direction"].sycl_queue == queue
    assert isinstance(params["w"], dpnp.ndarray)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.slow
def test_the_maximum_of_a_function_is_the_minimum_of_its_negative(search):
    """To the last bit; the loss in the state is the negative as well."""
    usual = run(optim.LBFGS(0.5, line_search_fn=search), logistic, 2)
    opt = optim.LBFGS(0.5, line_search_fn=search, maximize=True)
    found = run(opt, lambda *args: F.neg(logistic(*args)), 2)
    assert found[2] == usual[2]
    np.testing.assert_array_equal(*(dpnp.asnumpy(result[0]["w"]) for result in (found, usual)))

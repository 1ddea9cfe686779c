# SPDX-License-Identifier: Apache-2.0
"""Schedules at their ends; ``test_update_rules.py`` compares them with torch's in between."""

import math

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import optim
from sycl_dnn.optim import schedules


def rates(schedule, steps):
    """The rates of numbers, after a check that arrays have the same."""
    traced = sycl_dnn.compile(lambda step: F.mul(F.ones(()), schedule(step)))
    results = [schedule(step) for step in steps]
    assert [float(traced(F.full((), float(s)))) for s in steps] == pytest.approx(results, abs=1e-5)
    return results


def test_one_cycle_reaches_the_final_rate():
    found = rates(schedules.one_cycle(1.0, 20), (0, 5, 19, 20, 25, 38, 1000))
    assert found == pytest.approx([0.04, 1.0, *[0.04 / 1e4] * 5])


@pytest.mark.parametrize("steps", [1, 2, 10])
def test_one_cycle_without_warmup_starts_at_the_peak(steps):
    found = rates(schedules.one_cycle(1.0, steps, pct_start=1 / steps), range(steps + 1))
    assert found[0] == 1.0
    assert found == sorted(found, reverse=True)


def test_one_cycle_that_only_rises_ends_at_the_peak():
    assert rates(schedules.one_cycle(1.0, 5, 1.0), (0, 4, 5, 9)) == pytest.approx([0.04, 1, 1, 1])


def test_one_cycle_whose_peak_is_before_the_first_step_only_falls():
    found = rates(schedules.one_cycle(1.0, 8, 0.0), range(9))
    assert found[0] < 1.0
    assert found == sorted(found, reverse=True)
    torch = pytest.importorskip("torch")
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    theirs = torch.optim.lr_scheduler.OneCycleLR(opt, 1.0, 8, pct_start=0.0)
    for rate in found[:8]:
        assert rate == pytest.approx(theirs.get_last_lr()[0], rel=1e-6)
        opt.step()
        theirs.step()


def test_invalid_fractions_are_refused():
    for share in (-0.1, 1.1):
        with pytest.raises(ValueError, match=r"one_cycle: pct_start must be in \[0, 1\], got"):
            schedules.one_cycle(1.0, 10, share)


def test_step_decay_has_its_name_in_repr():
    assert "``every``" in schedules.step_decay.__doc__
    assert rates(schedules.step_decay(1.0, every=3), (2, 3, 6)) == pytest.approx([1.0, 0.1, 0.01])


def theirs(make, steps, lr=0.5):
    """The rates of one of torch's schedulers."""
    torch = pytest.importorskip("torch")
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    scheduler, results = make(torch.optim.lr_scheduler, opt), []
    for _ in range(steps):
        results.append(opt.param_groups[0]["lr"])
        opt.step()
        scheduler.step()
    return results


ROWS = {
    "multi_step": (schedules.multi_step(0.5, [3, 7, 7, 20], 0.3),
                   lambda s, o: s.MultiStepLR(o, [3, 7, 7, 20], 0.3)),
    "restarts": (schedules.cosine_restarts(0.5, 5, 1, 0.1),
                 lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 1, 0.1)),
    "longer restarts": (schedules.cosine_restarts(0.5, 3, 2),
                        lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2)),
    "triple restarts": (schedules.cosine_restarts(0.5, 1, 3),
                        lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 3)),
    "cyclic": (schedules.cyclic(0.1, 0.5, 4), lambda s, o: s.CyclicLR(o, 0.1, 0.5, 4)),
    "cyclic2": (schedules.cyclic(0.1, 0.5, 4, 3, "triangular2"),
                lambda s, o: s.CyclicLR(o, 0.1, 0.5, 4, 3, "triangular2")),
    "cyclic exp": (schedules.cyclic(0.1, 0.5, 1, 3, "exp_range", 0.9),
                   lambda s, o: s.CyclicLR(o, 0.1, 0.5, 1, 3, "exp_range", 0.9)),
    "linear": (schedules.linear(0.5 / 3, 0.5, 5), lambda s, o: s.LinearLR(o)),
    "polynomial": (schedules.polynomial(0.5, 0.0, 9, 2.0), lambda s, o: s.PolynomialLR(o, 9, 2.0)),
    "constant": (schedules.joined([schedules.constant(0.5 / 3), schedules.constant(0.5)], [5]),
                 lambda s, o: s.ConstantLR(o)),
    "cosine": (schedules.cosine(0.5, 59, 0.1), lambda s, o: s.CosineAnnealingLR(o, 59, 0.1)),
    "exponential": (schedules.exponential(0.5, 0.9), lambda s, o: s.ExponentialLR(o, 0.9)),
    "step_decay": (schedules.step_decay(0.5, 3), lambda s, o: s.StepLR(o, 3)),
    "one_cycle": (schedules.one_cycle(0.5, 60), lambda s, o: s.OneCycleLR(o, 0.5, 60)),
    "lambda": (lambda step: 0.5 / (1 + step), lambda s, o: s.LambdaLR(o, lambda t: 1 / (1 + t))),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rates_match_torch(name):
    schedule, make = ROWS[name]
    found = rates(schedule, range(60))
    assert found == pytest.approx(theirs(make, 60), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("steps", "mult"), [(4, 1), (3, 2), (1, 3)])
def test_restarts_are_half_cosines_in_sequence(steps, mult):
    expected, length = [], steps
    while len(expected) < 40:
        expected += [(1 + math.cos(math.pi * t / length)) / 2 for t in range(length)]
        length *= mult
    actual = rates(schedules.cosine_restarts(1.0, steps, mult), range(40))
    assert actual == pytest.approx(expected[:40], abs=1e-6)


LOSSES = [
    3.0,
    2.0,
    2.0,
    2.5,
    1.0,
    0.99999,
    1.0,
    1.0,
    float("nan"),
    0.5,
    0.6,
    0.7,
    0.6,
    0.6,
    0.6,
    0.4,
]


@pytest.mark.parametrize(
    "options",
    [{"patience": 1}, {"patience": 2, "cooldown": 2}, {"patience": 0, "min_lr": 0.1},
     {"patience": 1, "threshold": 0.05, "threshold_mode": "abs"},
     {"patience": 1, "mode": "max", "factor": 0.5}, {"patience": 0, "eps": 0.2}],
    ids=str,
)  # fmt: skip
def test_plateau_matches_torch(options):
    torch = pytest.importorskip("torch")
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, **options)
    plateau = schedules.Plateau(0.5, **options)
    states = {plateau.update: plateau.init(), sycl_dnn.compile(plateau.update): plateau.init()}
    for loss in LOSSES:
        scheduler.step(loss)
        for update, state in states.items():
            states[update] = update(state, F.full((), loss))
            assert float(states[update]["rate"]) == pytest.approx(opt.param_groups[0]["lr"])


def test_a_plateau_inside_a_step():
    opt, plateau = optim.SGD(1.0), schedules.Plateau(0.5, patience=0, factor=0.5)

    @sycl_dnn.compile
    def step(params, state, rate):
        rate = plateau.update(rate, F.sum(params["w"]))
        return *opt.update({"w": F.ones(1)}, state, params, lr=rate["rate"]), rate

    params, rate = {"w": F.ones(1)}, plateau.init()
    state = opt.init(params)
    for expected in (0.5, 0.0, -0.5):
        params, state, rate = step(params, state, rate)
        assert params["w"].tolist() == [expected]
    assert float(plateau.update(rate, 1e9)["rate"]) == 0.25


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: schedules.cosine_restarts(1.0, 0), ValueError, "number of steps must be at least"),
        (lambda: schedules.cosine_restarts(1.0, 3, 0.5), ValueError, "mult must be an integer of"),
        (lambda: schedules.cyclic(0.1, 1.0, 3, 0), ValueError, "number of steps must be at least"),
        (lambda: schedules.cyclic(0.1, 1.0, 3, mode="x"), ValueError, "one of triangular, tri"),
        (lambda: schedules.Plateau(1.0, factor=1.0), ValueError, "factor must be less than 1"),
        (lambda: schedules.Plateau(1.0, mode="x"), ValueError, "mode must be 'min' or 'max'"),
        (lambda: schedules.Plateau(optim.SGD()), TypeError, "lr must be a number, got SGD"),
        (lambda: schedules.multi_step(optim.SGD(), [3]), TypeError, "start must be a number"),
    ],
)  # fmt: skip
def test_invalid_schedules_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


STEPS = 12
MOMENTUM = schedules.one_cycle(0.85, STEPS, div_factor=0.85 / 0.95, final_div_factor=1)
START, CURVATURE = np.array([1, -2, 3], "f4"), np.array([1, 0.5, 2], "f4")


def _path(opt):
    """Parameters after each step on a parabola."""
    params = {"w": F.asarray(START)}
    state, results = opt.init(params), []
    for _ in range(STEPS):
        grads = {"w": F.mul(params["w"], F.asarray(2 * CURVATURE))}
        params, state = opt.update(grads, state, params)
        results.append(sycl_dnn.asnumpy(params["w"]))
    return np.array(results)


def test_momentum_follows_a_schedule():
    w, buffer, expected = START.astype("f8"), 0.0, []
    for step in range(STEPS):
        buffer = buffer * MOMENTUM(step) + 2 * CURVATURE * w
        w = w - 0.01 * buffer
        expected.append(w)
    np.testing.assert_allclose(_path(optim.SGD(0.01, momentum=MOMENTUM)), expected, rtol=1e-4)
    in_group = optim.SGD(0.01, momentum=0.1, groups=[(lambda name: True, {"momentum": MOMENTUM})])
    np.testing.assert_allclose(_path(in_group), expected, rtol=1e-4)
    opt = optim.SGD(0.01, momentum=MOMENTUM)
    _path(opt)
    opt.options["momentum"] = 0.0  # another program
    plain = START * np.cumprod(np.tile(1 - 0.02 * CURVATURE, (STEPS, 1)), 0)
    np.testing.assert_allclose(_path(opt), plain, rtol=1e-4)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("SGD", {"momentum": 0.9}), ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("RMSprop", {"momentum": 0.9}), ("Adam", {}), ("Adam", {"amsgrad": True}), ("AdamW", {}),
        ("Adamax", {}), ("NAdam", {}), ("RAdam", {}),
    ],
)  # fmt: skip
def test_one_cycle_of_rate_and_momentum_is_torchs(kind, options):
    torch = pytest.importorskip("torch")
    w = torch.nn.Parameter(torch.tensor(START))
    other = getattr(torch.optim, kind)([w], lr=0.1, **options)
    scheduler, expected = torch.optim.lr_scheduler.OneCycleLR(other, 0.1, STEPS + 1), []
    rate = schedules.one_cycle(0.1, STEPS + 1)
    momentum = schedules.one_cycle(0.85, STEPS + 1, div_factor=0.85 / 0.95, final_div_factor=1)
    for _ in range(STEPS):
        w.grad = w.detach() * torch.tensor(2 * CURVATURE)
        other.step()
        scheduler.step()
        expected.append(w.detach().numpy().copy())
    own = {"momentum": momentum} if options.get("momentum") else {"betas": (momentum, 0.999)}
    actual = _path(getattr(optim, kind)(rate, **{**options, **own}))
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_other_options_are_no_schedules():
    with pytest.raises(TypeError, match="AdamW: weight_decay must not be a schedule; lr, momentum"):
        optim.AdamW(1e-3, weight_decay=schedules.cosine(0.1, 10))
    with pytest.raises(ValueError, match=r"Adam: betas must be in \[0, 1\)"):
        optim.Adam(1e-3, betas=(schedules.cosine(0.9, 10), 1.5))

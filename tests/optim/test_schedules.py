# SPDX-License-Identifier: Apache-2.0
"""Schedules at their ends; ``test_update_rules.py`` compares them with torch's in between."""

import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.optim import schedules


def rates(schedule, steps):
    """The rates of numbers, after a check that arrays have the same."""
    traced = sycl_dnn.compile(lambda step: F.mul(F.ones(()), schedule(step)))
    found = [schedule(step) for step in steps]
    assert [float(traced(F.full((), float(s)))) for s in steps] == pytest.approx(found, abs=1e-5)
    return found


def test_one_cycle_ends_at_its_end():
    found = rates(schedules.one_cycle(1.0, 20), (0, 5, 19, 20, 25, 38, 1000))
    assert found == pytest.approx([0.04, 1.0, *[0.04 / 1e4] * 5])


@pytest.mark.parametrize("steps", [1, 2, 10])
def test_one_cycle_without_a_rise_starts_at_the_peak(steps):
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


def test_wrong_shares_are_refused():
    for share in (-0.1, 1.1):
        with pytest.raises(ValueError, match=r"one_cycle: pct_start must be in \[0, 1\], got"):
            schedules.one_cycle(1.0, 10, share)


def test_step_decay_has_its_name_in_its_text():
    assert "``every``" in schedules.step_decay.__doc__
    assert rates(schedules.step_decay(1.0, every=3), (2, 3, 6)) == pytest.approx([1.0, 0.1, 0.01])

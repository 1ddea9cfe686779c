# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a wait, the work continues, and later results are correct."""

import pytest

from endurance.processes import lines_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("work", ["array_work", "dpnp_work", "primitive_work"])
def test_a_wait_can_be_interrupted_without_stopping_the_work(work):
    assert lines_of("interrupted", work) == [
        "interrupted, open: False",
        "the result is right: True",
        "the next is right: True",
    ]


def test_an_interrupt_during_a_submission_is_handled_after_it():
    """The device continues right after the signal, so either may come first."""
    interrupted, *rest = lines_of("interrupted", "submission")
    assert interrupted.startswith("interrupted")
    assert rest == ["the result is right: True", "the next is right: True"]

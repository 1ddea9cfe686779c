# SPDX-License-Identifier: Apache-2.0
"""A fork after a device was used gives errors, not a hang."""

import pytest

import sycl_dnn
from endurance import forked
from endurance.processes import lines_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("way", ["multiprocessing", "fork"])
@pytest.mark.parametrize("state", ["idle", "busy"])
def test_every_use_of_a_device_is_refused_in_a_forked_child(way, state):
    *refusals, code, parent = lines_of("forked", way, state)
    queue = sycl_dnn.default_queue()
    ways = {**forked.arrays_of(queue), **forked.objects_of(queue), **forked.graphs_of(queue)}
    assert refusals == [f"{name}: refused" for name in ways]
    assert (code, parent) == ("exit code 0", "the parent goes on: True")


def test_forked_children_work_if_no_device_was_used_before():
    right, code = "the product is right: True", "exit code 0"
    assert lines_of("forked_before") == [right, code, right, code, right]

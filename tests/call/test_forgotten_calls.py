# SPDX-License-Identifier: Apache-2.0
"""Objects that ``_core.CallTable`` releases may call it reentrantly."""

import weakref

import dpnp
import pytest

from sycl_dnn import _core
from sycl_dnn.call.arguments import ARRAY_TYPES


class Key:
    """The key of a remembered call; runs ``work`` when it is released."""

    def __init__(self, work):
        self.work = work

    def __del__(self):
        self.work()


@pytest.fixture
def table():
    return _core.CallTable(ARRAY_TYPES)


class Owner:
    """What the cache keeps of a plan."""


def test_a_call_remembered_while_others_are_forgotten(queue, table):
    x = dpnp.zeros(4, dtype="f4", sycl_queue=queue)
    plan = _core.CallPlan(None, [], 1, [], [], [], ("given", 0))
    pool, owner, asked = _core.ResultPool(queue, 0), Owner(), []

    def check():
        asked.append(True)

    def remember(operation, key):
        call = ((operation,), (x,), {}, None, [x.get_array()], key)
        table.remember(*call, weakref.ref(owner), plan, None, pool, weakref.ref(check))

    first, later = ([object() for _ in range(20)] for _ in range(2))  # told apart by identity
    for n in range(20):
        remember(first[n], Key(lambda n=n: remember(later[n], n)))
    table.clear()
    for operation in later:
        assert table.call((operation,), (x,), {}, None) is NotImplemented
    assert len(asked) == 20


def test_calls_are_dropped_with_their_cached_plan(queue, table):
    x = dpnp.zeros(4, dtype="f4", sycl_queue=queue)
    plan = _core.CallPlan(None, [], 1, [], [], [], ("given", 0))
    pool, owner, key = _core.ResultPool(queue, 0), Owner(), Owner()
    call = ((), (x,), {}, None)
    table.remember(*call, [x.get_array()], key, weakref.ref(owner), plan, None, pool)
    key = weakref.ref(key)
    table.forget_dropped()
    assert key() is not None
    del owner
    table.forget_dropped()
    assert key() is None
    assert table.call(*call) is NotImplemented

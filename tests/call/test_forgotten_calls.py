# SPDX-License-Identifier: Apache-2.0
"""What ``_core.CallTable`` lets go of may call it again."""

import dpnp
import pytest

from sycl_dnn import _core
from sycl_dnn.onednn.arrays import KINDS
from sycl_dnn.trace import allocation


class Key:
    """The key of a remembered call; runs ``work`` when nothing needs it any more."""

    def __init__(self, work):
        self.work = work

    def __del__(self):
        self.work()


@pytest.fixture
def asked():
    """The keys that a table has looked up, none of which is cached."""
    return []


@pytest.fixture
def table(asked):
    def look(key):
        asked.append(key)
        raise KeyError

    arrays = (dpnp.ndarray, allocation.usm_ndarray, object, object)
    return _core.CallTable(*arrays, list(KINDS.values()), look)


def test_a_call_remembered_while_others_are_forgotten(queue, table, asked):
    x = dpnp.zeros(4, dtype="f4", sycl_queue=queue)
    plan = _core.CallPlan(None, [], 1, [], [], [], ("given", 0))
    pool = _core.ResultPool(queue, 0)

    def remember(operation, key):
        table.remember(operation, None, (x,), {}, None, key, plan, None, pool)

    first, later = ([object() for _ in range(20)] for _ in range(2))  # told apart by identity
    for n in range(20):
        remember(first[n], Key(lambda n=n: remember(later[n], n)))
    table.clear()
    for operation in later:
        assert table.call(operation, None, (x,), {}, None) is NotImplemented
    assert asked == list(range(20))

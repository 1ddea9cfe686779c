# SPDX-License-Identifier: Apache-2.0
"""What a function reads by unusual ways is read as it is at each call, or traced again."""

import dataclasses
import itertools
import time
from secrets import randbelow
from time import perf_counter

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

length = len
fast = "a global of this module"


class Slotted:
    __slots__ = ("scale", "unread")

    def __init__(self):
        self.scale, self.unread = 1.0, 0


@dataclasses.dataclass
class Numbers:
    scale: float = 1.0


def scaled(x):
    return x * scaled.factor


def by_function_attribute():
    scaled.factor = 1.0
    return scaled, lambda: setattr(scaled, "factor", 2.0)


def by_slot():
    held = Slotted()
    return (lambda x: x * held.scale), lambda: setattr(held, "scale", 2.0)


def by_library_reading_a_dataclass():
    held = Numbers()

    def read(x):
        return x * dataclasses.astuple(held)[0]

    return read, lambda: setattr(held, "scale", 2.0)


def by_an_object_of_a_library():
    held = itertools.count(1)
    return (lambda x: x * float(held.__next__())), lambda: None


def by_keyword_default():
    def read(x, *, scale=1.0):
        return x * scale

    return read, lambda: read.__kwdefaults__.update(scale=2.0)


def by_an_array_of_numpy():
    held = np.ones(2000)  # too large to be compared
    return (lambda x: x * float(held[7])), lambda: held.__setitem__(7, 2.0)


def by_a_set():
    held = {1.0}
    return (lambda x: x * max(held)), lambda: held.add(2.0)


CHANGED = (
    by_function_attribute, by_slot, by_library_reading_a_dataclass, by_an_object_of_a_library,
    by_keyword_default, by_an_array_of_numpy, by_a_set,
)  # fmt: skip


@pytest.mark.parametrize("make", CHANGED, ids=lambda make: make.__name__)
def test_what_changed_is_read(make, queue):
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    function, change = make()

    def loss(x):
        return F.sum(function(x))

    assert float(sycl_dnn.vjp(loss, x)[0]) == 3
    change()
    assert float(sycl_dnn.vjp(loss, x)[0]) == 6


def numbers():
    return randbelow(10**9)


@pytest.mark.parametrize("draw", [perf_counter, time.perf_counter_ns, numbers])
def test_what_a_library_returns_is_asked_for_at_each_call(draw, queue):
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)

    def function(x):
        return F.sum(x) * float(draw() % 1000)

    assert len({float(sycl_dnn.vjp(function, x)[0]) for _ in range(5)}) > 1


def test_what_is_not_read_costs_no_trace(queue):
    x, held = dpnp.ones(3, dtype="f4", sycl_queue=queue), Slotted()
    step = sycl_dnn.compile(lambda x: F.sum(x * float(length(fast)) * held.scale))
    for n in range(3):
        held.unread = n
        step(x)
    assert step.cache_info().misses == 1

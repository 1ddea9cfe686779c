# SPDX-License-Identifier: Apache-2.0
"""Compilations leave the garbage collector as they found it."""

import gc
import os
import threading

import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.call.paused_collection import paused_collection


@pytest.fixture(autouse=True)
def _enabled():
    gc.enable()
    yield
    gc.enable()


def test_the_collector_pauses_while_a_function_is_traced(make):
    seen = []

    def function(x):
        seen.append(gc.isenabled())
        return F.relu(x)

    sycl_dnn.compile(function)(make(2, 3))
    assert seen == [False]
    assert gc.isenabled()


def test_errors_end_the_pause(make):
    with pytest.raises(ValueError, match="no"):
        sycl_dnn.compile(lambda x: (_ for _ in ()).throw(ValueError("no")))(make(2, 3))
    assert gc.isenabled()


def test_a_disabled_collector_stays_disabled(make):
    gc.disable()
    sycl_dnn.compile(F.relu)(make(2, 3))
    assert not gc.isenabled()


def test_the_last_of_several_threads_ends_the_pause():
    inside, ended = threading.Event(), threading.Event()

    def other():
        with paused_collection():
            inside.set()
            ended.wait(30)

    thread = threading.Thread(target=other)
    with paused_collection():
        thread.start()
        assert inside.wait(30)
    assert not gc.isenabled()
    ended.set()
    thread.join()
    assert gc.isenabled()


def test_a_child_that_is_forked_during_a_compilation_collects():
    with paused_collection():
        pid = os.fork()
        if not pid:
            os._exit(0 if gc.isenabled() else 1)
        _, status = os.waitpid(pid, 0)
    assert status == 0

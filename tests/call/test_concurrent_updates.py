# SPDX-License-Identifier: Apache-2.0
"""Threads that write to one array: each call is computed as a whole."""

import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

N_THREADS, N_CALLS = 8, 40


def _added(x):
    x += 1


def _updates(queue, way):
    """Return a call that adds 1, and a function that returns the number of calls seen."""
    if "norm" not in way:
        x = F.zeros(4 if "small" in way else 300_000, device=queue)
        compiled = sycl_dnn.compile(_added)
        call = (lambda: F.add(x, 1.0, out=x)) if "out" in way else (lambda: compiled(x))
        return call, lambda: {float(F.amin(x)), float(F.amax(x))}
    net, batch = nn.BatchNorm1d(4).to(queue), F.randn(8, 4, device=queue)
    step = sycl_dnn.compile(lambda net, batch: net(batch))
    calls = {
        "norm": lambda: net(batch),
        "compiled norm": lambda: step(net, batch),
        "norm with gradients": lambda: sycl_dnn.grad(lambda net: F.sum(net(batch)))(net),
    }
    return calls[way], lambda: {float(net.num_batches_tracked)}


@pytest.mark.parametrize("way", [
    "small out", "large out", "small, compiled", "large, compiled", "norm", "compiled norm",
    "norm with gradients",
])  # fmt: skip
def test_no_update_is_lost(way, queue):
    call, seen = _updates(queue, way)
    call()

    def work(_):
        for _ in range(N_CALLS):
            call()

    in_threads(N_THREADS, work)
    assert seen() == {N_THREADS * N_CALLS + 1}

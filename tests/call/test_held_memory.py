# SPDX-License-Identifier: Apache-2.0
"""Resident memory stays constant while functions are created again at each step."""

import pytest
from fresh_process import run

STEPS = """
import gc, os
import dpnp, sycl_dnn
from sycl_dnn import functional as F

gc.disable()  # nothing waits for a collection
queue = sycl_dnn.default_queue("cpu")
w = dpnp.ones((1024, 4), dtype="f4", sycl_queue=queue)
compiled = sycl_dnn.compile(lambda w, lr: w * lr)
held = {}
holds = sycl_dnn.compile(lambda w: F.matmul(held["w"], w))

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def rebound(batch, i):
    held["w"] = batch
    holds(w)

BODIES = {
    "a new lambda": lambda batch, i: sycl_dnn.vjp(lambda w: F.mean(F.matmul(batch, w)), w)[1](),
    "a loss traced again": lambda batch, i: sycl_dnn.vjp(
        lambda w: F.mean(F.matmul(batch, w)) + float(batch[0, 0]), w)[1](),
    "a learning rate": lambda batch, i: compiled(w, 1.0 / (i + 1)),
    "a rebound array": rebound,
}
for name, body in BODIES.items():
    for i in range(150):
        body(dpnp.full((1024, 1024), i, dtype="f4", sycl_queue=queue), i)  # 4 MB
        sycl_dnn.synchronize(queue)
        if i == 49:
            before = resident()
    print(name, (resident() - before) / 2**20, sep=":", flush=True)
"""


@pytest.fixture(scope="module")
def grown():
    """MB that 100 steps add after the first 50, by the objects that each step creates."""
    # glibc raises its mmap threshold once an array is freed, and then puts arrays of 4 MB on the
    # heap, whose gaps grow to 8 of them. A fixed threshold maps each separately and frees it at
    # once.
    done = run("-c", STEPS, GLIBC_TUNABLES="glibc.malloc.mmap_threshold=1048576")
    assert done.returncode == 0, done.stderr
    return {name: float(size) for name, size in (s.split(":") for s in done.stdout.splitlines())}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["a new lambda", "a loss traced again", "a learning rate", "a rebound array"]
)
def test_memory_is_flat(name, grown):
    """At most two arrays are in flight, and 100 traces of a loss take 4 MB; 100 arrays are 400."""
    assert grown[name] < 13

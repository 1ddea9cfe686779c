# SPDX-License-Identifier: Apache-2.0
"""Resident memory stays flat while functions are made anew at each step."""

import subprocess
import sys

import pytest

_STEPS = """
import os
import dpnp, sycl_dnn
from sycl_dnn import functional as F

queue = sycl_dnn.default_queue("cpu")
w = dpnp.ones((1024, 4), dtype="f4", sycl_queue=queue)
page = os.sysconf("SC_PAGE_SIZE")

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * page

def step(i):
    batch = dpnp.full((1024, 1024), i, dtype="f4", sycl_queue=queue)  # 4 MB
    {body}
    sycl_dnn.synchronize(queue)

for i in range(100):
    step(i)
before = resident()
for i in range({steps}):
    step(i)
print((resident() - before) / 2**20)
"""

BODIES = {
    "a new lambda": "sycl_dnn.vjp(lambda w: F.mean(F.matmul(batch, w)), w)[1]()",
    "a loss traced anew": (
        "sycl_dnn.vjp(lambda w: F.mean(F.matmul(batch, w)) + float(batch[0, 0]), w)[1]()"
    ),
    "a learning rate": "compiled(w, 1.0 / (i + 1))",
    "a rebound array": "held['w'] = batch; holds(w)",
}
_MADE = (
    "\ncompiled = sycl_dnn.compile(lambda w, lr: w * lr)\nheld = {}\n"
    "holds = sycl_dnn.compile(lambda w: F.matmul(held['w'], w))\n"
)


@pytest.mark.parametrize(("name", "steps"), list(zip(BODIES, (1000, 100, 1000, 40), strict=True)))
def test_memory_is_flat(name, steps):
    source = _STEPS.format(body=BODIES[name], steps=steps).replace(
        "\ndef resident", _MADE + "\ndef resident"
    )
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 40

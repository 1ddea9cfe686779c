# SPDX-License-Identifier: Apache-2.0
"""Threads that read results right after their calls: python -m endurance.readers NUMBER [KIND].

Prints for each kind of call and of queue how many of the reads were wrong. Nothing but dpnp
waits. Two processes keep the CPUs busy meanwhile.
"""

import contextlib
import subprocess
import sys

import dpctl
import dpnp
import numpy as np
from helpers.in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F

N_THREADS, N_LAYERS = 8, 20
SHAPE = (8, 64)
LAST = (7, 63)


def network(x, w, scale):
    """Long enough to be still running when its result is read."""
    for _ in range(N_LAYERS):
        x = F.softmax(F.linear(x, w), dim=-1)
    return F.mul(x, scale)


class Readers:
    """Threads, each with its own factor to identify its results."""

    def __init__(self, queue):
        ones = np.ones(SHAPE, dtype="f4")
        self.x = dpnp.asarray(ones, sycl_queue=queue)
        self.w = dpnp.asarray(np.eye(SHAPE[1], dtype="f4"), sycl_queue=queue)
        self.scales = [dpnp.asarray(ones * (n + 1) * SHAPE[1], sycl_queue=queue)
                       for n in range(N_THREADS)]  # fmt: skip
        self.compiled = sycl_dnn.compile(network)
        self.plans = [sycl_dnn.plan(network, self.x, self.w, s) for s in self.scales]
        dpnp.asnumpy(self.call("compiled", 0))
        self.wrong, self.errors = [], []

    def call(self, kind, n):
        """Run one call of thread ``n``."""
        if kind == "compiled":
            return self.compiled(self.x, self.w, self.scales[n])
        if kind == "compiled, then dpnp":
            return self.compiled(self.x, self.w, self.scales[n]) + 0
        if kind == "plan":
            return self.plans[n]()
        return F.mul(F.softmax(F.relu(self.x), dim=-1), self.scales[n])

    def is_right(self, how, n, result):
        """Read in one of three ways that dpnp offers."""
        if how == 0:
            return (dpnp.asnumpy(result) == n + 1).all()
        if how == 1:
            return float(result[LAST]) == n + 1
        return (result.asnumpy() == n + 1).all()

    def work(self, kind, n, calls):
        try:
            for i in range(calls):
                if not self.is_right(i % 3, n, self.call(kind, n)):
                    self.wrong.append((kind, n, i))
        except Exception as error:
            self.errors.append(repr(error))

    def count(self, kind, number):
        """Return the number of wrong reads."""
        self.wrong.clear()
        in_threads(N_THREADS, lambda n: self.work(kind, n, number // N_THREADS))
        assert not self.errors, self.errors
        return len(self.wrong)


KINDS = ("eager", "compiled", "compiled, then dpnp", "plan")


#: Ends with its parent, also where the driver ends that: it would hold its pipes, and a CPU.
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"


@contextlib.contextmanager
def load():
    """Two CPU-bound processes."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()


def main(number, *kinds):
    device = dpctl.SyclDevice("cpu")
    with load():
        for order, queue in {
            "out of order": dpctl.SyclQueue(device),
            "in order": dpctl.SyclQueue(device, property="in_order"),
        }.items():
            readers = Readers(queue)
            for kind in kinds or KINDS:
                print(f"{kind}, {order}: {readers.count(kind, number)} of {number}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])

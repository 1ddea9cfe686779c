# SPDX-License-Identifier: Apache-2.0
"""Threads that make mixed calls on shared objects and check each result."""

import threading
from collections import Counter

import dpctl
import numpy as np
from helpers.in_threads import in_threads

from endurance.mixed_calls import Shared
from sycl_dnn import onednn as dnnl


class Crew:
    """Threads over shared objects: ``counts`` of calls by kind, ``wrong`` results, ``errors``."""

    def __init__(self, shared, calls):
        self.shared, self.calls = shared, calls
        self.counts, self.wrong, self.errors = Counter(), [], []
        self.guard = threading.Lock()

    def work(self, number):
        """The calls of one thread, two in flight at a time."""
        shared, rng = self.shared, np.random.default_rng(number)
        stream = dnnl.Stream(shared.engine, shared.queue, ordered=True)
        counts, waiting = Counter(), []
        try:
            for _ in range(self.calls):
                kind = shared.kinds[rng.integers(len(shared.kinds))]
                i = int(rng.integers(len(shared.arrays)))
                waiting.append((kind, i, shared.call(kind, i, stream)))
                counts[kind] += 1
                if len(waiting) == 2:
                    self.check(number, waiting)
            self.check(number, waiting)
        except Exception as error:
            self.errors.append((number, kind, repr(error)))
        with self.guard:
            self.counts += counts

    def check(self, number, waiting):
        """Check the pending results and drop them."""
        for kind, i, result in waiting:
            if not self.shared.is_right(kind, i, result):
                self.wrong.append((number, kind, i))
        waiting.clear()

    def run(self, n_threads):
        """Start all threads and wait for them."""
        in_threads(n_threads, self.work)
        return self


def mixed(n_threads, calls, queue=None):
    """Run threads with this many calls each on one queue."""
    queue = queue or dpctl.SyclQueue("cpu")
    return Crew(Shared(queue), calls).run(n_threads)

# SPDX-License-Identifier: Apache-2.0
"""Threads that share one graph: adding operations, finalizing, partitioning."""

import sys
import threading

from helpers.in_threads import in_threads

from sycl_dnn import graph as sg

N_THREADS, N_OPS = 4, 60


def together(*functions):
    """Run each in its own thread, concurrently; return the results."""
    barrier, results = threading.Barrier(len(functions)), [None] * len(functions)

    def work(i):
        barrier.wait()
        results[i] = functions[i]()

    in_threads(len(functions), work)
    return results


def add_part(g, part):
    """Add every fourth operation of a chain."""
    for i in range(part, N_OPS, N_THREADS):
        x, y = (sg.LogicalTensor(n, "f32", (4, 4)) for n in (i, i + 1))
        g.add_op(sg.Op(i, "ReLU", [x], [y]))


def partitions():
    """The numbers of partitions that threads find in a graph that they have built together."""
    g = sg.Graph("cpu")
    together(*[lambda part=part: add_part(g, part) for part in range(N_THREADS)])
    together(*[g.finalize] * N_THREADS)
    return together(*[lambda: len(g.get_partitions())] * N_THREADS)


if __name__ == "__main__":
    sys.setswitchinterval(1e-5)
    print(*{n for _ in range(int(sys.argv[1])) for n in partitions()})

# SPDX-License-Identifier: Apache-2.0
"""Eight threads make the first calls of a process at once."""

import threading

import dpnp
from helpers.in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F

N_THREADS = 8


def main():
    queue = sycl_dnn.default_queue()
    x = dpnp.ones((8, 8), dtype="f4", sycl_queue=queue)
    queue.wait()
    ready, results = threading.Barrier(N_THREADS), []

    def work(_):
        ready.wait()
        results.append(F.relu(x))

    in_threads(N_THREADS, work)
    sycl_dnn.synchronize(queue)
    print(sum(bool((dpnp.asnumpy(y) == 1).all()) for y in results))


if __name__ == "__main__":
    main()

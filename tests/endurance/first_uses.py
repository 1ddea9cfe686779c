# SPDX-License-Identifier: Apache-2.0
"""Eight threads make the first calls of dpnp's functions: python -m endurance.first_uses [inside].

Prints how many results were wrong. dpnp 0.20 alone hangs here. With ``inside`` the threads make the
first call of sycl_dnn as well.
"""

import sys
import threading

import dpctl
import dpnp
import numpy as np
from helpers.in_threads import in_threads

from sycl_dnn import functional as F

N_THREADS = 8
#: One function at least of each extension module of dpnp but those of oneMKL: some 1 % of the first
#: results of matmul in eight threads are wrong in a program of dpnp alone.
CALLS = {
    "add": lambda np_, x: x + x,
    "sum": lambda np_, x: np_.sum(x, axis=1),
    "sort": lambda np_, x: np_.sort(x),
    "cumsum": lambda np_, x: np_.cumsum(x, axis=0),
    "fft": lambda np_, x: np_.fft.fft(x).real,
    "exp": lambda np_, x: np_.exp(-x),
    "take": lambda np_, x: np_.take(x, x.astype("i4") % 4, axis=0),
    "nan_to_num": lambda np_, x: np_.nan_to_num(x),
    "choose": lambda np_, x: np_.choose(x.astype("i8") % 2, [x, -x]),
    "bincount": lambda np_, x: np_.bincount(x.astype("i8").reshape(-1)),
}


def main(*options):
    numbers = np.arange(16, dtype="f4").reshape(4, 4)
    expected = {name: call(np, numbers) for name, call in CALLS.items()}
    x = dpnp.asarray(numbers, sycl_queue=dpctl.SyclQueue("cpu"))
    if "inside" not in options:
        F.relu(x)
    sys.setswitchinterval(1e-6)
    together, wrong = threading.Barrier(N_THREADS), []

    def run(_):
        for name, call in CALLS.items():
            together.wait()
            actual = dpnp.asnumpy(call(dpnp, F.relu(x)))
            if not np.allclose(actual, expected[name], rtol=1e-4, atol=1e-4):
                wrong.append(name)

    in_threads(N_THREADS, run)
    print(f"{len(wrong)} wrong {sorted(set(wrong))}")


if __name__ == "__main__":
    main(*sys.argv[1:])

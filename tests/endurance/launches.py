# SPDX-License-Identifier: Apache-2.0
"""Eight threads launch dpnp's kernels: python -m endurance.launches SECONDS [in_order] [reads].

dpnp alone, without sycl_dnn: Intel's OpenCL runtime for CPUs (2026.22) ends some runs with SIGSEGV,
in ``OutOfOrderCommandQueue::Enqueue``. With ``reads`` they only copy one array to the host, which
ends each run within seconds, in ``QueueEvent::DoneWithDependencies``. On queues in order none was
seen to.
"""

import os
import sys
import time
from importlib.metadata import files

import numpy as np
from helpers.in_threads import in_threads

N_THREADS = 8


def main(seconds="40", *options):
    order = [option for option in options if option == "in_order"]
    (driver,) = (f for f in files("intel-opencl-rt") if f.name == "libintelocl.so")
    os.environ.setdefault("OCL_ICD_FILENAMES", str(driver.locate().resolve()))
    import dpctl
    import dpnp

    numbers = np.arange(16, dtype="f4").reshape(4, 4)
    x = dpnp.asarray(numbers, sycl_queue=dpctl.SyclQueue("cpu", property=order))
    calls = (
        lambda: x + x,
        lambda: -x,
        lambda: dpnp.sum(x, axis=1),
        lambda: dpnp.cumsum(x, axis=0),
        lambda: dpnp.sort(x),
    )
    if "reads" in options:
        calls = (lambda: x,)
    for call in calls:
        dpnp.asnumpy(call())  # First uses in several threads may hang.
    sys.setswitchinterval(1e-6)
    end, counts = time.monotonic() + float(seconds), []

    def run(_):
        count = 0
        while time.monotonic() < end:
            for call in calls:
                dpnp.asnumpy(call())
                count += 1
        counts.append(count)

    in_threads(N_THREADS, run)
    assert "sycl_dnn" not in sys.modules
    print(f"{sum(counts)} calls")


if __name__ == "__main__":
    main(*sys.argv[1:])

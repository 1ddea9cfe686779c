# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while the main thread waits for work that is still running."""

import os
import signal
import sys
import threading
import time

import dpnp

import sycl_dnn
from endurance.gate import Gate
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl


def array_work(queue):
    """Return a function that waits, and one that checks the result afterwards."""
    x = dpnp.full((64, 64), 2.0, dtype="f4", sycl_queue=queue)
    y = F.matmul(x, x)
    return lambda: sycl_dnn.synchronize(queue), lambda: bool((dpnp.asnumpy(y) == 256).all())


def dpnp_work(queue):
    """The same if only dpnp has work."""
    y = dpnp.full((64, 64), 2.0, dtype="f4", sycl_queue=queue)
    return lambda: sycl_dnn.synchronize(queue), lambda: bool((dpnp.asnumpy(y) == 2).all())


def primitive_work(queue):
    """The same at the low level."""
    engine = dnnl.Engine(queue)
    stream = dnnl.Stream(engine, queue, ordered=True)
    d = dnnl.MemoryDesc((64, 64), dnnl.data_type.f32)
    x = dpnp.full((64, 64), 2.0, dtype="f4", sycl_queue=queue)
    memory, dst = dnnl.Memory.from_array(x, engine), dnnl.Memory(d, engine)
    matmul = dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d))
    matmul.execute(stream, {"src": memory, "weights": memory, "dst": dst})
    return stream.wait, lambda: bool((dst.to_array().asnumpy() == 256).all())


def submission(queue):
    """More steps than may be in flight: the submission itself waits, and is not interrupted."""
    x = dpnp.full((64, 64), 2.0, dtype="f4", sycl_queue=queue)

    def deep(a):
        for _ in range(100):
            a = F.softmax(F.matmul(a, a), dim=-1)
        return a

    compiled = sycl_dnn.compile(deep)
    return lambda: compiled(x), lambda: abs(float(compiled(x)[0, 0]) - 1 / 64) < 1e-6


WORK = {f.__name__: f for f in (array_work, dpnp_work, primitive_work, submission)}


def main():
    make = WORK[sys.argv[1]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    queue = sycl_dnn.default_queue()
    # A first call without interrupts: compilation is not tested here.
    wait, is_right = make(queue)
    wait()
    assert is_right()
    sycl_dnn.synchronize(queue)
    gate = Gate(queue)
    wait, is_right = make(queue)
    waits = threading.Event()

    def press():
        waits.wait()
        os.kill(os.getpid(), signal.SIGINT)
        if make is submission:
            gate.open()

    thread = threading.Thread(target=press)
    thread.start()
    try:
        waits.set()
        wait()
        while True:  # not reached if the wait is interrupted
            time.sleep(0.01)
    except KeyboardInterrupt:
        print("interrupted, open:", gate.opened.is_set())
    gate.open()
    thread.join()
    sycl_dnn.synchronize(queue)
    print("the result is right:", is_right())
    print("the next is right:", bool((dpnp.asnumpy(F.relu(-make_ones(queue))) == 0).all()))


def make_ones(queue):
    """An array for one more call."""
    return dpnp.ones((16,), dtype="f4", sycl_queue=queue)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Allocations fail in many places; afterwards everything still works.

The limit of the address space is set just above what the process has, then taken away again.
"""

import resource

import dpnp

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl

F32 = dnnl.data_type.f32
#: Bytes that are left, for each round.
ROOM = [n << 20 for n in (0, 1, 4, 16, 33, 64, 100, 130, 200, 300)]


def limit(room):
    """Allow this many bytes more than are mapped now; None: any number."""
    with open("/proc/self/statm") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most if room is None else mapped + room, most))


def tries(queue):
    """Calls that need some 16 to 128 MB: results, scratchpads, intermediate and packed values."""
    x = dpnp.ones((2048, 2048), dtype="f4", sycl_queue=queue)
    image = dpnp.ones((4, 16, 160, 160), dtype="f4", sycl_queue=queue)
    kernel = dpnp.ones((16, 16, 3, 3), dtype="f4", sycl_queue=queue)
    engine = dnnl.Engine(queue)
    stream = dnnl.Stream(engine, queue)
    d = dnnl.MemoryDesc((2048, 2048), F32)
    compiled = sycl_dnn.compile(lambda a: F.softmax(F.linear(a, a), dim=-1))
    sycl_dnn.synchronize(queue)
    return {
        "relu": lambda: F.relu(x),
        "chain": lambda: F.softmax(F.linear(x, x), dim=-1),
        "convolution": lambda: F.conv2d(image, kernel, padding=1),
        "gradient": lambda: sycl_dnn.vjp(F.relu, x)[1](x),
        "compiled": lambda: compiled(x),
        "memory": lambda: dnnl.Memory(d, engine).zero(stream).wait(),
        "descriptor": lambda: dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d)),
    }


def attempt(call, queue, tally, kept):
    """Make a call and keep its result; only MemoryError is allowed."""
    try:
        kept.append(call())
        sycl_dnn.synchronize(queue)
    except MemoryError:
        tally["refused"] += 1
    else:
        tally["done"] += 1


def too_large(queue):
    """Results that no machine has the memory for, though their sources are small."""
    column = dpnp.ones((1 << 21, 1), dtype="f4", sycl_queue=queue)
    engine = dnnl.Engine(queue)
    d = dnnl.MemoryDesc((1 << 21, 1 << 21), F32)
    compiled = sycl_dnn.compile(lambda a: F.relu(F.linear(a, a)))
    return [
        lambda: F.linear(column, column),
        lambda: compiled(column),
        lambda: dnnl.Memory(d, engine),
    ]


def main():
    queue = sycl_dnn.default_queue()
    calls = tries(queue)
    for call in calls.values():  # so that nothing is compiled under the limit
        call()
    sycl_dnn.synchronize(queue)
    limited, unlimited = {"refused": 0, "done": 0}, {"refused": 0, "done": 0}
    for room in ROOM:
        kept = []
        limit(room)
        try:
            for call in calls.values():
                attempt(call, queue, limited, kept)
        finally:
            limit(None)
    for call in too_large(queue):
        attempt(call, queue, unlimited, [])
    for call in calls.values():
        call()
    x = dpnp.full((64, 64), 2.0, dtype="f4", sycl_queue=queue)
    y = F.matmul(x, x)
    print(limited["refused"], limited["done"])
    print("too large:", unlimited)
    print("afterwards:", bool((dpnp.asnumpy(y) == 256).all()))


if __name__ == "__main__":
    main()

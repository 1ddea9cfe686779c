# SPDX-License-Identifier: Apache-2.0
"""Resident memory over many creations and deletions: python -m endurance.memory KIND NUMBER."""

import functools
import sys

import dpctl
import dpnp

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn import onednn as dnnl

F32 = dnnl.data_type.f32
#: Parts of a run, measured one by one; the first ones warm up.
PARTS = 10


def resident_mb():
    """Resident memory of this process."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / 1e6


def engines(queue, number):
    """Engines, streams, and an execution on every tenth of them."""
    d = dnnl.MemoryDesc((16, 16), F32)
    for i in range(number):
        engine = dnnl.Engine(queue)
        stream = dnnl.Stream(engine, queue)
        if i % 10 == 0:
            dnnl.Memory(d, engine).zero(stream).wait()


def queues(queue, number):
    """New queues with engines and streams; SYCL's queues are dropped, too."""
    d = dnnl.MemoryDesc((16, 16), F32)
    for _ in range(number):
        own = dpctl.SyclQueue(queue.sycl_context, queue.sycl_device)
        engine = dnnl.Engine(own)
        stream = dnnl.Stream(engine, own)
        dnnl.Memory(d, engine).zero(stream).wait()


def shapes(queue, number, start=0):
    """Functions over shapes that do not repeat, small and large ones mixed."""
    flat = dpnp.ones((199 * 199,), dtype="f4", sycl_queue=queue)
    for i in range(start, start + number):
        # Code for long rows is longer: in ascending order a constant number of kernels would grow.
        rows, columns = (1 + n for n in divmod(i * 15013 % 199**2, 199))
        x = flat[: rows * columns].reshape((rows, columns))
        y = F.softmax(x, dim=i % 2)
        if i % 8 == 7:
            sycl_dnn.synchronize(queue)
            assert abs(float(y.sum()) - (columns if i % 2 == 0 else rows)) < 1e-2
    sycl_dnn.synchronize(queue)


def small_calls(queue, number):
    """Products so small that oneDNN does not split them, by function and by primitive."""
    x = dpnp.ones((16, 16), dtype="f4", sycl_queue=queue)
    engine = dnnl.Engine(queue)
    stream = dnnl.Stream(engine, queue, ordered=True)
    d = dnnl.MemoryDesc((16, 16), F32)
    matmul = dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d))
    memory = dnnl.Memory.from_array(x, engine)
    dst = dnnl.Memory(d, engine)
    args = {"src": memory, "weights": memory, "dst": dst}
    for _ in range(number // 2):
        y = F.matmul(x, x)
        matmul.execute(stream, args)
    sycl_dnn.synchronize(queue)
    assert float(y[3, 4]) == 16
    assert float(dst.to_array()[3, 4]) == 16


def threads(queue, number):
    """Mixed calls of eight threads."""
    from endurance.threads import mixed

    crew = mixed(8, number // 8, queue)
    assert not crew.wrong
    assert not crew.errors


def profiles(queue, number):
    """Recorded calls; each profile is dropped."""
    x = dpnp.ones((16, 16), dtype="f4", sycl_queue=queue)
    for _ in range(number // 10):
        with sycl_dnn.profile() as p:
            for _ in range(10):
                F.matmul(x, x)
        assert len(p.records) >= 10


@functools.cache
def begun(queue):
    """A training run in parts: its step, and the arguments of the next one."""
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1),
        nn.Linear(288, 64), nn.ReLU(), nn.Linear(64, 3),
    ).to(queue)  # fmt: skip
    opt = optim.AdamW(optim.schedules.cosine(1e-2, 10_000), max_norm=1.0)
    x, labels = F.randn(16, 1, 8, 8, device=queue), F.arange(16, device=queue) % 3

    def step(net, state):
        loss = lambda net: F.cross_entropy(net(x), labels)  # noqa: E731
        value, grads = sycl_dnn.value_and_grad(loss)(net)
        return value, *opt.update(grads, state, net)

    return sycl_dnn.compile(step), [net, opt.init(net)]


def training(queue, number):
    """Compiled steps of a network with running statistics and dropout; some losses are read."""
    step, args = begun(queue)
    for i in range(number):
        value, *args[:] = step(*args)
        if i % 50 == 49:
            assert float(value) < 5
    sycl_dnn.synchronize(queue)


KINDS = {f.__name__: f for f in (engines, queues, shapes, small_calls, threads, profiles, training)}


def measure(kind, number):
    """Run in parts; return the resident memory after each of them, in MB."""
    queue = sycl_dnn.default_queue()
    part, results = max(1, number // PARTS), []
    for i in range(PARTS):
        if kind == "shapes":
            shapes(queue, part, i * part)
        else:
            KINDS[kind](queue, part)
        results.append(resident_mb())
    return results


def main():
    kind, number = sys.argv[1], int(sys.argv[2])
    print(" ".join(f"{mb:.1f}" for mb in measure(kind, number)))


if __name__ == "__main__":
    main()

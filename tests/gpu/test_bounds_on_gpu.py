# SPDX-License-Identifier: Apache-2.0
"""Memory of work in flight: events are polled after 64 calls, or when they hold 256 MiB."""

import dpctl
import dpnp
import pytest

from sycl_dnn import onednn as dnnl

MIB = 2**20


class Sums:
    """A chain of additions, each with new arrays that the caller drops at once."""

    def __init__(self, gpu, n):
        # A queue without work from other tests.
        self.queue = dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device)
        self.stream = dnnl.Stream(dnnl.Engine(self.queue), self.queue, ordered=True)
        self.shape = (n, n)
        d = dnnl.MemoryDesc(self.shape, dnnl.data_type.f32)
        add = dnnl.algorithm.binary_add
        self.add = dnnl.Primitive(
            dnnl.binary(self.stream.engine, algorithm=add, src0=d, src1=d, dst=d)
        )

    def full(self, value):
        return dpnp.full(self.shape, value, dtype="f4", sycl_queue=self.queue)

    def added(self, total, value):
        result = dpnp.empty_like(total)
        arrays = {"src_0": total, "src_1": self.full(value), "dst": result}
        engine = self.stream.engine
        memories = {n: dnnl.Memory.from_array(a, engine) for n, a in arrays.items()}
        self.add.execute(self.stream, memories)
        return result


#: The second crosses 256 MiB with every sixth call: 3 x 16 MiB each.
@pytest.mark.parametrize(("n", "calls", "most"), [(64, 200, 64), (2048, 30, 6)])
def test_values_are_right_under_the_bound(n, calls, most, gpu, has_values):
    sums = Sums(gpu, n)
    total = sums.full(0)
    for i in range(calls):
        total = sums.added(total, i % 7)
    assert sums.stream.pending <= calls
    sums.stream.wait()
    assert sums.stream.pending == 0
    if has_values:
        expected = sum(i % 7 for i in range(calls))
        assert float(total.min()) == float(total.max()) == expected
    # Once the GPU has finished, no more memory is held than the bound allows.
    held = []
    for _ in range(2 * most):
        total = sums.added(total, 0)
        sums.queue.wait()
        held.append(sums.stream.pending)
    assert max(held) <= most + 1
    nbytes = 3 * 4 * n * n
    assert max(held) * nbytes <= 256 * MIB + nbytes
    if has_values:
        assert float(total.min()) == float(total.max()) == expected

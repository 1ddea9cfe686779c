# SPDX-License-Identifier: Apache-2.0
"""Your own kernel between two primitives on the same memory: ordered by events, then by the queue.

The kernel is OpenCL C, compiled at run time by ``dpctl.program``. It squares the result of a
product, which softmax then reads. Nothing is copied, and the host waits only once, at the end.
"""

from __future__ import annotations

import dpctl
import dpctl.program
import dpnp
import numpy as np
from _common import finish, make_parser, start

from sycl_dnn import onednn as dnnl

ROWS, COLUMNS, DEPTH = 256, 128, 64
SOURCE = """
__kernel void squares(__global float *x) {
    size_t i = get_global_id(0);
    x[i] = x[i] * x[i];
}
"""


class Step:
    """Product, kernel and softmax, with their memory.

    queue : dpctl.SyclQueue
        Where all three are submitted.
    """

    def __init__(self, queue, x, w):
        self.queue, self.engine = queue, dnnl.Engine(queue)
        self.src, self.weights = (dnnl.Memory.from_array(a, self.engine) for a in (x, w))
        layout = dnnl.MemoryDesc((ROWS, COLUMNS), "f32", "ab")
        self.between, self.dst = (dnnl.Memory(layout, self.engine) for _ in range(2))
        self.product = dnnl.Primitive(
            dnnl.matmul(self.engine, src=self.src.desc, weights=self.weights.desc, dst=layout)
        )
        self.softmax = dnnl.Primitive(
            dnnl.softmax_forward(
                self.engine,
                prop_kind="forward_inference",
                algorithm="softmax_accurate",
                src=layout,
                dst=layout,
                axis=1,
            )
        )
        program = dpctl.program.create_program_from_source(queue, SOURCE)
        self.kernel = program.get_sycl_kernel("squares")

    def submit(self, stream, chained):
        """Submit all three; return the last event. ``chained``: each waits for the event before."""
        args = {"src": self.src, "weights": self.weights, "dst": self.between}
        done = self.product.execute(stream, args)
        # The argument of the kernel is the memory of the array.
        array = self.between.owner[0]
        done = self.queue.submit_async(
            self.kernel, [array], [ROWS * COLUMNS], dEvents=[done] if chained else []
        )
        args = {"src": self.between, "dst": self.dst}
        return self.softmax.execute(stream, args, [done] if chained else ())


def check(step, x, w):
    """Compare the result with NumPy's."""
    y = (x.astype("f8") @ w) ** 2
    expected = np.exp(y - y.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(step.dst.to_array().asnumpy(), expected, rtol=1e-3, atol=1e-6)


def main() -> None:
    """Run the three by events on an out-of-order queue, then on an ordered one."""
    options, queue = start(make_parser(__doc__))
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=s).astype("f4") for s in ((ROWS, DEPTH), (DEPTH, COLUMNS)))
    context, device = queue.sycl_context, queue.sycl_device
    if device.backend != dpctl.backend_type.opencl:
        print("not on this device: dpctl compiles OpenCL C for OpenCL devices only")
        return
    for name, properties in (("by events", []), ("in order", ["in_order"])):
        own = dpctl.SyclQueue(context, device, property=properties)
        arrays = [dpnp.asarray(a, sycl_queue=own) for a in (x, w)]
        own.wait()
        step = Step(own, *arrays)
        step.submit(dnnl.Stream(step.engine, own), chained=not properties).wait()
        if not options.no_check:
            check(step, x, w)
            print(f"{name}: product, squares and softmax are NumPy's")
    finish(options, "own_kernel")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""One memory for dpctl, dpnp and oneDNN: nothing is copied.

Shows a primitive between two dpnp kernels on the same USM allocations, with no wait in between,
and a tensor over a ``dpctl.memory`` object.
"""

from __future__ import annotations

import dpctl.memory
import dpnp
import numpy as np
from _common import finish, make_parser, start

from sycl_dnn import onednn as dnnl

SHAPE = (64, 1000)


def make_softmax(engine, desc):
    """Return a softmax primitive over the rows of a matrix."""
    pd = dnnl.softmax_forward(
        engine,
        prop_kind=dnnl.prop_kind.forward_inference,
        algorithm=dnnl.algorithm.softmax_accurate,
        src=desc,
        dst=desc,
        axis=1,
    )
    return dnnl.Primitive(pd)


def show(name, memory, pointer):
    """Print the address of a tensor, which must equal that of the other library."""
    print(f"{name:<22} at {pointer:#x}, in oneDNN at {memory.pointer:#x}")
    assert memory.pointer == pointer, "a copy was made"


def main() -> None:
    """Compute the entropy of softmax(scale * x) with dpnp, oneDNN and dpnp again."""
    options, queue = start(make_parser(__doc__))
    engine = dnnl.Engine(queue)
    # An ordered stream runs primitives in one sequence with dpnp's kernels.
    stream = dnnl.Stream(engine, queue, ordered=True)

    values = np.random.default_rng(0).normal(size=SHAPE).astype("f4")
    x = dpnp.asarray(values, sycl_queue=queue)
    src = dnnl.Memory.from_array(x, engine)
    show("dpnp array", src, x.get_array()._pointer)

    buffer = dpctl.memory.MemoryUSMDevice(x.nbytes, queue=queue)
    dst = dnnl.Memory(src.desc, engine, buffer)
    show("dpctl.memory object", dst, buffer._pointer)

    probabilities = dst.to_array()
    show("array over the result", dst, probabilities.get_array()._pointer)

    x *= 3  # a dpnp kernel
    make_softmax(engine, src.desc).execute(stream, {"src": src, "dst": dst})
    entropy = -(probabilities * dpnp.log(probabilities)).sum(axis=1)  # dpnp kernels

    if not options.no_check:
        expected = np.exp(3 * values.astype("f8"))
        expected /= expected.sum(axis=1, keepdims=True)
        expected = -(expected * np.log(expected)).sum(axis=1)
        np.testing.assert_allclose(entropy.asnumpy(), expected, rtol=1e-4)
        print(f"mean entropy {expected.mean():.4f}")
    finish(options, "usm_interop")


if __name__ == "__main__":
    main()

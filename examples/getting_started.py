# SPDX-License-Identifier: Apache-2.0
"""First steps: ReLU on a tensor with oneDNN's objects.

Shows engine, stream, memory descriptor, memory, primitive descriptor and primitive, in the order
in which oneDNN's ``getting_started.cpp`` creates them.
"""

from __future__ import annotations

import numpy as np
from _common import finish, make_parser, start

from sycl_dnn import onednn as dnnl


def relu(queue, values):
    """Return max(values, 0), computed on the device of ``queue``; images are (N, H, W, C)."""
    engine = dnnl.Engine(queue)
    stream = dnnl.Stream(engine, queue)

    # The order of dimensions is always N, C, H, W; the tag describes their layout in memory.
    n, h, w, c = values.shape
    desc = dnnl.MemoryDesc((n, c, h, w), dnnl.data_type.f32, dnnl.format_tag.nhwc)
    src = dnnl.Memory(desc, engine, usm_type="shared")
    dst = dnnl.Memory(desc, engine, usm_type="shared")

    src.to_array()[...] = values.transpose(0, 3, 1, 2)
    queue.wait()

    pd = dnnl.eltwise_forward(
        engine,
        prop_kind=dnnl.prop_kind.forward_inference,
        algorithm=dnnl.algorithm.eltwise_relu,
        src=desc,
        dst=desc,
    )
    print(f"primitive: {pd.name}, implementation: {pd.impl_info}")
    event = dnnl.Primitive(pd).execute(stream, {"src": src, "dst": dst})
    event.wait()
    return dst.to_array().asnumpy().transpose(0, 2, 3, 1)


def main() -> None:
    """Run ReLU on the values of oneDNN's example and compare with NumPy."""
    options, queue = start(make_parser(__doc__))
    values = np.cos(np.arange(1 * 13 * 13 * 3, dtype="f4") / 10).reshape(1, 13, 13, 3)
    result = relu(queue, values)
    if not options.no_check:
        assert (values < 0).any(), "without negative values the check would prove nothing"
        np.testing.assert_array_equal(result, np.maximum(values, 0))
    finish(options, "getting_started")


if __name__ == "__main__":
    main()

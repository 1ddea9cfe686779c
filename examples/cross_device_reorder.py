# SPDX-License-Identifier: Apache-2.0
"""Move tensors between devices with reorders: CPU to GPU, ReLU there, and back to the CPU.

Shows a reorder between two engines, and events that order work on two queues. If there is only one
device, the second engine is another SYCL context of that device.
"""

from __future__ import annotations

import dpctl
import dpnp
import numpy as np
from _common import finish, make_parser, open_queue, start

from sycl_dnn import onednn as dnnl
from sycl_dnn.device import usable_devices


def open_other(there):
    """Return a queue for the host side: on the CPU, or else in another context of the device."""
    if not there.sycl_device.is_cpu and usable_devices("cpu"):
        return open_queue("cpu")
    print("no second device: reordering between two contexts of this one")
    return dpctl.SyclQueue(dpctl.SyclContext(there.sycl_device), there.sycl_device)


def make_relu(engine, desc):
    """Return a primitive for ReLU in place."""
    pd = dnnl.eltwise_forward(
        engine,
        prop_kind=dnnl.prop_kind.forward_inference,
        algorithm=dnnl.algorithm.eltwise_relu,
        src=desc,
        dst=desc,
    )
    return dnnl.Primitive(pd)


def copy(stream, src, dst, engines, depends=()):
    """Submit the reorder of ``src`` into ``dst``; ``engines`` are those of ``src`` and ``dst``."""
    pd = dnnl.reorder(engines[0], src=src.desc, dst=dst.desc, dst_engine=engines[1])
    print(f"{pd.impl_info}: {src.desc} on {engines[0]} -> {dst.desc} on {engines[1]}")
    return dnnl.Primitive(pd).execute(stream, {"src": src, "dst": dst}, depends=depends)


def main() -> None:
    """Send a tensor to the other device and back; compare with NumPy."""
    options, there = start(make_parser(__doc__))
    here = open_other(there)
    near, far = dnnl.Engine(here), dnnl.Engine(there)
    stream = dnnl.Stream(far, there)

    values = np.random.default_rng(0).normal(size=(4, 16, 32, 32)).astype("f4")
    src = dnnl.Memory.from_array(dpnp.asarray(values, sycl_queue=here), near)
    back = dnnl.Memory(src.desc, near)
    # The reorder also changes the layout: the other device gets channels-last.
    desc = dnnl.MemoryDesc(values.shape, dnnl.data_type.f32, dnnl.format_tag.nhwc)
    remote = dnnl.Memory(desc, far)

    here.wait()  # for dpnp's copy, which the other queue does not know about
    sent = copy(stream, src, remote, (near, far))
    relu = make_relu(far, desc)
    done = relu.execute(stream, {"src": remote, "dst": remote}, depends=[sent])
    copy(stream, remote, back, (far, near), depends=[done]).wait()

    if not options.no_check:
        np.testing.assert_array_equal(back.to_array().asnumpy(), np.maximum(values, 0))
    finish(options, "cross_device_reorder")


if __name__ == "__main__":
    main()

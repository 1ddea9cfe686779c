# SPDX-License-Identifier: Apache-2.0
"""Short forms for descriptors, memories filled with one number, and contents of memories."""

import dpnp

from sycl_dnn import onednn as dnnl

F32 = dnnl.data_type.f32


def desc(*dims, data_type=F32, tag=None):
    return dnnl.MemoryDesc(dims, data_type, *([tag] if tag else []))


def filled(md, engine, value=7.0):
    array = dpnp.full(md.dims, value, dtype="f4", sycl_queue=engine.sycl_queue)
    engine.sycl_queue.wait()
    return dnnl.Memory(md, engine, array)


def values(memory):
    return memory.to_array().asnumpy()

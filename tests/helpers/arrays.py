# SPDX-License-Identifier: Apache-2.0
"""Arrays for the tests of memory, and what oneDNN reads from them."""

from sycl_dnn import onednn as dnnl

T = dnnl.data_type
D = dnnl.MemoryDesc
F32 = T.f32


def usm(array):
    return array.get_array() if hasattr(array, "get_array") else array


def doubled(memory, stream):
    """The values that oneDNN reads from a memory, times two."""
    dst = dnnl.Memory(D(memory.desc.dims, F32), stream.engine)
    pd = dnnl.sum(stream.engine, scales=[2.0], srcs=[memory.desc], dst=dst.desc)
    dnnl.Primitive(pd).execute(stream, {"multiple_src_0": memory, "dst": dst}).wait()
    return dst.to_array().asnumpy()

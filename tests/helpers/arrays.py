# SPDX-License-Identifier: Apache-2.0
"""Arrays of tests, and what oneDNN reads from them."""

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F  # noqa: N812
from sycl_dnn import onednn as dnnl

T = dnnl.data_type
D = dnnl.MemoryDesc
F32 = T.f32


def on_device(value):
    return dpnp.asarray(value, sycl_queue=sycl_dnn.default_queue())


def float32_on_device(array):
    """An array on the default queue, floats in float32."""
    return on_device(array.astype("f4") if array.dtype.kind == "f" else array)


def to_float32(array):
    """The values in NumPy, also those of bfloat16."""
    return dpnp.asnumpy(F.astype(array, "float32"))


def normal(queue, *shape, seed=0):
    """Standard normal numbers in float32."""
    values = np.random.default_rng(seed).standard_normal(shape).astype("f4")
    return dpnp.asarray(values, sycl_queue=queue)


def usm(array):
    return array.get_array() if hasattr(array, "get_array") else array


def doubled(memory, stream):
    """The values that oneDNN reads from a memory, times two."""
    dst = dnnl.Memory(D(memory.desc.dims, F32), stream.engine)
    pd = dnnl.sum(stream.engine, scales=[2.0], srcs=[memory.desc], dst=dst.desc)
    dnnl.Primitive(pd).execute(stream, {"multiple_src_0": memory, "dst": dst}).wait()
    return dst.to_array().asnumpy()

# SPDX-License-Identifier: Apache-2.0
"""The arithmetic that a device has, according to oneDNN's primitives and their results."""

import functools

import dpnp
import numpy as np

from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import Unimplemented


@functools.cache
def lacks(queue, dtype):
    """Whether a device cannot add in a type (oneDNN's name): many CPUs lack bf16 or f16."""
    desc = dnnl.MemoryDesc((16,), dnnl.data_type[dtype])
    add = dnnl.algorithm.binary_add
    try:
        dnnl.binary(dnnl.Engine(queue), algorithm=add, src0=desc, src1=desc, dst=desc)
    except Unimplemented:
        return True
    return False


def is_older_than_avx2(queue):
    """Whether oneDNN has only kernels for SSE4.1 or AVX, many without post-ops and layouts."""
    return queue.sycl_device.is_cpu and dnnl.get_effective_cpu_isa().name in ("sse41", "avx")


def product_of_integers(queue, a, b):
    """Return the product of a uint8 and an int8 matrix as oneDNN computes it in int32."""
    engine = dnnl.Engine(queue)
    arrays = [dpnp.asarray(x, sycl_queue=queue) for x in (a, b)]
    arrays.append(dpnp.zeros((a.shape[0], b.shape[1]), dtype="i4", sycl_queue=queue))
    kinds = ("u8", "s8", "s32")
    src, weights, dst = (
        dnnl.Memory(dnnl.MemoryDesc(x.shape, dnnl.data_type[k], "ab"), engine, x)
        for k, x in zip(kinds, arrays, strict=True)
    )
    pd = dnnl.matmul(engine, src=src.desc, weights=weights.desc, dst=dst.desc)
    stream = dnnl.Stream(engine, queue, ordered=True)
    dnnl.Primitive(pd).execute(stream, {"src": src, "weights": weights, "dst": dst})
    return dpnp.asnumpy(arrays[2])


@functools.cache
def saturates(queue):
    """Whether two products of 8-bit integers are added in 16 bits, as on CPUs without VNNI."""
    if not queue.sycl_device.is_cpu:
        return False
    a, b = np.full((8, 64), 255, np.uint8), np.full((64, 32), 127, np.int8)
    return bool((product_of_integers(queue, a, b) != 64 * 255 * 127).any())

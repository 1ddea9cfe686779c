# SPDX-License-Identifier: Apache-2.0
"""Execute a primitive over tensors with any strides and the same numbers in each layout."""

from contextlib import contextmanager
from zlib import crc32

import dpnp
import numpy as np

from sycl_dnn import _core
from sycl_dnn import onednn as dnnl
from sycl_dnn.onednn import faults

#: Elements after each tensor, to detect writes past its end.
ROOM = 512


@contextmanager
def unchecked():
    """Create descriptors without warnings about known faults and without refusals for them."""
    _core._watch(set(), faults.check)
    try:
        yield
    finally:
        _core._watch(faults.WATCHED_ROWS, faults.check, faults.is_avoided)


def _seen(flat, desc):
    return np.lib.stride_tricks.as_strided(flat, desc.dims, [4 * n for n in desc.strides])


def _filled(name, desc):
    """Return the flat memory of a plain float32 tensor: values seeded by its name, 77 in gaps."""
    flat = np.full(desc.get_size() // 4 + ROOM, 77, "f4")
    numbers = np.random.default_rng(crc32(name.encode())).random(desc.dims, "f4")
    _seen(flat, desc)[...] = numbers + 0.5
    return flat


def executed(primitive, stream, output):
    """Return the numbers that a primitive over float32 tensors writes into one of its outputs."""
    descs = {n: f["desc"] for n, f in primitive.arguments.items()}
    plain = {n: d for n, d in descs.items() if n not in ("scratchpad", "workspace")}
    queue = stream.sycl_queue
    arrays = {n: dpnp.asarray(_filled(n, d), sycl_queue=queue) for n, d in plain.items()}
    queue.wait()
    args = {n: dnnl.Memory(descs[n], stream.engine, a) for n, a in arrays.items()}
    primitive.execute(stream, args).wait()
    return _seen(arrays[output].asnumpy(), descs[output]).copy()


def transposed(stream, shape=(300, 300), strides=(1, 300), to=(600, 2), attr=None):
    """Return all elements of a target after a reorder into some of them, and the expected ones."""
    flat = np.arange(np.prod(shape), dtype="f4")
    target = np.full(1 + sum((n - 1) * by for n, by in zip(shape, to, strict=True)), -1, "f4")
    descs = [dnnl.MemoryDesc(shape, "f32", strides=s) for s in (strides, to)]
    arrays = [dpnp.asarray(a, sycl_queue=stream.sycl_queue) for a in (flat, target)]
    args = {n: dnnl.Memory(d, stream.engine, a)
            for n, d, a in zip(("src", "dst"), descs, arrays, strict=True)}  # fmt: skip
    pd = dnnl.reorder(stream.engine, src=descs[0], dst=descs[1], attr=attr)
    dnnl.Primitive(pd).execute(stream, args).wait()
    values, places = ([4 * by for by in s] for s in (strides, to))
    at = np.lib.stride_tricks.as_strided(target, shape, places)
    at[...] = np.lib.stride_tricks.as_strided(flat, shape, values)
    return arrays[1].asnumpy(), target

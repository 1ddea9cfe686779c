# SPDX-License-Identifier: Apache-2.0
"""Memory descriptors and memories."""

import dpnp
from hypothesis import strategies as st

from fuzz.values import absurd, chance, data_type, note, size, small, tag_name, wrong
from sycl_dnn import onednn as dnnl

D = dnnl.MemoryDesc
LENGTH = st.integers(0, 5)


def dims(draw, length=None):
    """A shape."""
    count = draw(LENGTH) if length is None else length
    return tuple(draw(absurd) if chance(draw, 5) else draw(size) for _ in range(count))


def strides(draw, length):
    """Strides, mostly small."""
    if chance(draw, 5):
        length += 1
    return tuple(draw(absurd) if chance(draw, 5) else draw(size) for _ in range(length))


def plain(draw):
    """A descriptor by one of the constructors."""
    shape, kind = dims(draw), draw(data_type)
    way = draw(st.integers(0, 4))
    note("desc", way, shape, kind)
    if way == 0:
        return D(shape, kind)
    if way == 1:
        return D(shape, kind, draw(tag_name))
    if way == 2:
        return D(shape, kind, strides=strides(draw, len(shape)))
    if way == 3:
        return D(shape, kind, "any")
    maker = draw(st.sampled_from((D.csr, D.coo, D.packed)))
    extra = {D.csr: 2, D.coo: 1, D.packed: 0}[maker]
    return maker(shape, kind, draw(st.one_of(size, absurd)), *(draw(data_type),) * extra)


def damaged(draw, blob):
    """A blob with some bytes changed and a valid header."""
    head, _, payload = blob.partition(b"\n")
    payload = bytearray(payload)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(payload) - 1))
        payload[at] = draw(st.integers(0, 255))
    if chance(draw, 5):
        payload = payload[: draw(st.integers(0, len(payload)))]
    mark, version, *_ = head.split(b":")
    numbers = f"{len(payload)}:{checksum(payload)}".encode()
    return b":".join((mark, version, numbers)) + b"\n" + bytes(payload)


def checksum(payload):
    """FNV-1a, as in csrc/memory/memory_desc_blob.cpp."""
    value = 1469598103934665603
    for byte in payload:
        value = (value ^ byte) * 1099511628211 % 2**64
    return value


def transformed(draw, d):
    """Another descriptor made from one."""
    way = draw(st.integers(0, 4))
    if way == 0:
        return d.submemory_desc(dims(draw, d.ndims), dims(draw, d.ndims))
    if way == 1:
        return d.reshape(dims(draw))
    if way == 2:
        return d.permute_axes(draw(st.permutations(range(d.ndims))))
    if way == 3:
        return D.from_blob(damaged(draw, d.blob))
    return d.permute_axes(draw(wrong)) if chance(draw, 50) else D.from_blob(draw(wrong))


def desc(draw, stream):
    """A descriptor, another one derived from it, and all queries."""
    d = plain(draw)
    for _ in range(draw(st.integers(0, 2))):
        d = transformed(draw, d)
    for name in ("dims", "strides", "extent", "size", "is_plain", "padded_dims", "inner_blks"):
        if d.format_kind is dnnl.format_kind.blocked:
            getattr(d, name)
    assert hash(d) == hash(D.from_blob(d.blob))
    assert (repr(d), d) == (repr(d), D.from_blob(d.blob))
    return "desc"


def memory(draw, stream):
    """A memory, newly allocated or over an array that may be of the wrong size."""
    d = plain(draw)
    engine = stream.engine
    way = draw(st.integers(0, 9))
    if way > 3:
        result = dnnl.Memory(
            D(tuple(draw(size) for _ in range(draw(LENGTH))), dnnl.data_type.f32), engine
        )
    elif way == 0:
        result = dnnl.Memory(d, engine)
    elif way == 1:
        result = dnnl.Memory(draw(wrong), draw(wrong), draw(wrong))
    else:
        shape = tuple(draw(size) for _ in range(draw(st.integers(0, 3))))
        array = dpnp.zeros(shape, draw(st.sampled_from(("f4", "u1", "i4", "u2"))))
        array = array.T if chance(draw, 30) else array[..., ::-1] if array.ndim else array
        result = (
            dnnl.Memory(d, engine, array) if way == 2 else dnnl.Memory.from_array(array, engine)
        )
    if chance(draw, 25):
        result = result.submemory(dims(draw, result.desc.ndims), (draw(small),) * result.desc.ndims)
    result.zero(stream)
    stream.wait()
    result.to_array()
    return "memory"

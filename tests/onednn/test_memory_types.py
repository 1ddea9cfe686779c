# SPDX-License-Identifier: Apache-2.0
"""Memory of types that dpnp lacks, sparse tensors, host scalars."""

import dpnp
import numpy as np
import pytest
from arrays import F32, D, T, usm

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

#: data type: dtype of the array that carries it
RAW = {"bf16": "u2", "f8_e5m2": "u1", "f8_e4m3": "u1", "e8m0": "u1", "f16": "f2", "s64": "i8"}


@pytest.mark.parametrize("name", RAW)
def test_types_without_a_dtype_are_stored_as_integers(name, zeros, engine):
    array = zeros(3, 4, dtype=RAW[name])
    memory = dnnl.Memory.from_array(array, engine, T[name])
    assert memory.desc == D((3, 4), T[name])
    assert memory.to_array().dtype == array.dtype
    with pytest.raises(InvalidArguments, match=f"must have dtype .* to hold {name}, got float32"):
        dnnl.Memory.from_array(zeros(3, 4), engine, T[name])


def test_bf16_bits_are_the_upper_half_of_f32(zeros, engine, stream):
    bits = np.array([0x3F80, 0xC020, 0x7F80, 0x0000], "u2")
    memory = dnnl.Memory.from_array(
        dpnp.asarray(bits, sycl_queue=engine.sycl_queue), engine, T.bf16
    )
    dst = dnnl.Memory(D((4,), F32), engine)
    reorder = dnnl.Primitive(dnnl.reorder(engine, src=memory.desc, dst=dst.desc))
    reorder.execute(stream, {"src": memory, "dst": dst}).wait()
    assert dst.to_array().asnumpy().tolist() == [1.0, -2.5, np.inf, 0.0]


@pytest.mark.parametrize(("name", "low"), [("s4", -8), ("u4", 0)])
def test_4_bit_values_are_packed_low_half_first(name, low, engine, stream):
    values = np.arange(low, low + 16, dtype="f4").reshape(2, 8)
    source = dnnl.Memory.from_array(dpnp.asarray(values, sycl_queue=engine.sycl_queue), engine)
    packed = dnnl.Memory(D((2, 8), T[name]), engine)
    reorder = dnnl.Primitive(dnnl.reorder(engine, src=source.desc, dst=packed.desc))
    reorder.execute(stream, {"src": source, "dst": packed}).wait()
    actual = packed.to_array().asnumpy()
    nibbles = values.astype("i1").astype("u1").reshape(-1, 2) & 15
    assert (actual.shape, actual.dtype) == ((8,), np.uint8)
    np.testing.assert_array_equal(actual, nibbles[:, 0] | nibbles[:, 1] << 4)
    with pytest.raises(InvalidArguments, match="two in a byte"):
        dnnl.desc_of_array(packed.to_array(), T[name])


def test_sparse_memory_accepts_a_list(engine, stream):
    dense = np.zeros((4, 6), "f4")
    dense[0, 1], dense[2, 0], dense[2, 5], dense[3, 3] = 1, 2, 3, 4
    d = D.csr((4, 6), F32, 4, T.s32, T.s32)
    lists = [
        np.array([1, 2, 3, 4], "f4"),
        np.array([1, 0, 5, 3], "i4"),
        np.array([0, 1, 1, 3, 4], "i4"),
    ]
    arrays = [dpnp.asarray(a, sycl_queue=engine.sycl_queue) for a in lists]
    src = dnnl.Memory(d, engine, arrays)
    assert src.owner == arrays
    for i, array in enumerate(arrays):
        assert usm(src.to_array(i))._pointer == usm(array)._pointer
        np.testing.assert_array_equal(src.to_array(i).asnumpy(), lists[i])
    ones = dpnp.asarray(np.ones((6, 3), "f4"), sycl_queue=engine.sycl_queue)
    weights = dnnl.Memory.from_array(ones, engine)
    dst = dnnl.Memory(D((4, 3), F32), engine)
    pd = dnnl.matmul(engine, src=d, weights=weights.desc, dst=dst.desc, allow_empty=True)
    if pd is not None:
        args = {"src": src, "weights": weights, "dst": dst}
        dnnl.Primitive(pd).execute(stream, args).wait()
        np.testing.assert_allclose(dst.to_array().asnumpy(), dense @ np.ones((6, 3)))
    assert [dnnl.Memory(d, engine).to_array(i).shape for i in range(3)] == [(4,), (4,), (5,)]


SCALARS = {
    "f32": (1.5, "f4"), "f16": (-2.0, "f2"), "f64": (0.1, "f8"), "s32": (-7, "i4"),
    "s64": (2**40, "i8"), "s8": (-128, "i1"), "u8": (255, "u1"),
}  # fmt: skip


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize(
    "wrap", [lambda v: v, np.asarray, np.float64], ids=["python", "0d", "numpy"]
)
def test_host_scalar_is_given_by_value(name, wrap):
    value, dtype = SCALARS[name]
    memory = dnnl.Memory(D.host_scalar(T[name]), wrap(value))
    assert memory.owner == np.asarray(value, dtype).tobytes()
    assert memory.pointer == 0
    assert not memory.writable
    with pytest.raises(InvalidArguments, match="must not be a host scalar"):
        memory.to_array()


@pytest.mark.parametrize(
    ("value", "bits"),
    [(1.0, 0x3F80), (-2.5, 0xC020), (np.inf, 0x7F80), (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82)],
)
def test_bf16_host_scalar_rounds_to_nearest_even(value, bits):
    assert dnnl.Memory(D.host_scalar(T.bf16), value).owner == np.uint16(bits).tobytes()


BAD_SCALARS = {
    "range": ("s8", 300, InvalidArguments, r"integer in \[-128, 127\], got 300"),
    "negative": ("u8", -1, InvalidArguments, r"integer in \[0, 255\], got -1"),
    "fraction": ("s32", 1.5, InvalidArguments, "s32 must be an integer"),
    "nan": ("s32", np.nan, InvalidArguments, "s32 must be an integer"),
    "type": ("f8_e4m3", 1.0, InvalidArguments, "must not have data type f8_e4m3"),
    "list": ("f32", [1.0, 2.0], TypeError, "must be a number"),
    "text": ("f32", "1", TypeError, "must be a number"),
    "nothing": ("f32", None, TypeError, "must be a number"),
}


@pytest.mark.parametrize("case", BAD_SCALARS)
def test_wrong_host_scalar_is_refused(case):
    name, value, error, text = BAD_SCALARS[case]
    with pytest.raises(error, match=text):
        dnnl.Memory(D.host_scalar(T[name]), value)

# SPDX-License-Identifier: Apache-2.0
"""The table of data types against oneDNN, NumPy and the rows of the Graph API."""

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.graph import rows
from sycl_dnn.onednn import dtypes
from sycl_dnn.tools.cases import storage

ROWS = {row.short: row for row in dtypes.TABLE}
OF_ONEDNN = [row for row in dtypes.TABLE if row.name != "bool"]


def test_every_data_type_of_onednn_has_one_row():
    members = {member.name for member in dnnl.data_type} - {"undef"}
    assert members == {row.short for row in OF_ONEDNN}
    assert len({row.name for row in dtypes.TABLE}) == len(ROWS) == len(dtypes.TABLE)
    assert all(dtypes.row_of(row.data_type) is row for row in OF_ONEDNN)


@pytest.mark.parametrize("row", OF_ONEDNN, ids=lambda row: row.short)
def test_bits_are_those_of_onednn(row):
    if row.short == "f4_e3m0":  # oneDNN defines only the name
        with pytest.raises(sycl_dnn.InvalidArguments, match="unknown dt"):
            dnnl.MemoryDesc((8,), row.data_type)
        return
    assert dnnl.MemoryDesc((8,), row.data_type).get_size() == row.bits
    assert row.dtype.itemsize * 8 == max(row.bits, 8)


@pytest.mark.parametrize("name", ["f16", "f32", "f64", "s8", "u8", "s32", "s64"])
def test_ranges_are_those_of_numpy(name):
    row = ROWS[name]
    limits = np.finfo(row.dtype) if row.is_float else np.iinfo(row.dtype)
    assert (row.low, row.high) == (limits.min, limits.max)
    assert row.digits == (limits.nmant + 1 if row.is_float else row.bits - (limits.min < 0))
    assert row.name == row.dtype.name == dtypes.name_of(row.dtype)


@pytest.mark.parametrize("row", [r for r in dtypes.TABLE if r.exponent], ids=lambda r: r.short)
def test_ranges_of_small_floats_are_those_of_their_bits(row):
    values = storage.decode(np.arange(2**row.bits), row.short)
    finite = values[np.isfinite(values)]
    assert (row.low, row.high) == (finite.min(), finite.max())
    assert 1 + row.exponent[0] + row.digits - 1 == row.bits


@pytest.mark.parametrize("name", dtypes.CARRIED)
def test_carried_types_survive_a_reorder(name, queue):
    import dpnp

    row = next(row for row in dtypes.TABLE if row.name == name)
    values = np.array([[row.low, 0.0, 1.0, row.high]])
    array = F.astype(dpnp.asarray(values.astype("f4"), sycl_queue=queue), name)
    back = F.astype(array, "float32")
    assert isinstance(array, sycl_dnn.Array)
    if not queue.sycl_device.is_gpu:
        np.testing.assert_array_equal(dpnp.asnumpy(back), values)


def test_graphs_have_the_types_of_their_rows():
    named = {
        dtype
        for operation in rows.OPERATIONS.values()
        for port in operation.inputs
        for dtype in port.dtypes
    }
    assert named <= set(dtypes.LONG)
    assert dtypes.graph_name("bfloat16", "x") == dtypes.graph_name("bf16", "x") == "bf16"
    assert dtypes.graph_name(np.bool_, "x") == "boolean"


PROMOTED = [
    (("float16", "bfloat16"), "float32"),
    (("int64", "float16"), "float16"),
    (("int8", "uint8"), "int16"),
    (("bool", "int8"), "int8"),
    (("float64", "float8_e5m2"), "float64"),
]


@pytest.mark.parametrize(("names", "expected"), PROMOTED)
def test_promotion(names, expected):
    assert dtypes.promote(*names) == dtypes.promote(*reversed(names)) == expected

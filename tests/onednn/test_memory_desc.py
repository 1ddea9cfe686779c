# SPDX-License-Identifier: Apache-2.0
"""Memory descriptors: all forms, transforms, queries, equality."""

import copy
import pickle

import numpy as np
import pytest
from descriptors import F32, FORMS, OPEN, D, T

from sycl_dnn import onednn as dnnl


@pytest.mark.parametrize("form", FORMS)
def test_blob_pickle_and_copy_round_trip(form):
    d = FORMS[form]
    for twin in (D.from_blob(d.blob), pickle.loads(pickle.dumps(d)), copy.deepcopy(d)):
        assert twin == d
        assert hash(twin) == hash(d)
        assert str(twin) == str(d)
    assert pickle.loads(pickle.dumps(d)).blob == d.blob


def test_forms_differ():
    forms = list(FORMS.values())
    assert all((a == b) == (a is b) for a in forms for b in forms)
    assert len(set(forms)) == len(forms)
    assert D((2, 3), F32) != D((2, 3), T.s32)
    assert D((2, 3), F32) != "f32"
    assert (D((2, 3), F32) == 3) is False


TEXTS = {
    "row-major": "f32 (2, 3, 4) abc",
    "tag": "f32 (2, 8, 4, 5) acdb",
    "blocked": "f32 (2, 17, 4, 5) aBcd16b",
    "strides": "f32 (2, 3) strides=(8, 2)",
    "empty": "f32 (2, 0) empty",
    "any": "f32 (2, 3) any",
    "view": "f32 (2, 3) strides=(6, 1) offset=8",
    "csr": "f32 (4, 6) csr nnz=5",
    "coo": "f32 (4, 6) coo nnz=5",
    "packed": "s8 (4, 6) packed nnz=5",
    "host scalar": "f16 host_scalar",
    "absent": "absent",
}


@pytest.mark.parametrize("form", TEXTS)
def test_repr_shows_type_shape_and_layout(form):
    assert str(FORMS[form]) == TEXTS[form]
    assert repr(FORMS[form]) == f"MemoryDesc({TEXTS[form]})"


EQUAL = {
    "stride of size 1": (D((2, 1, 3), F32, strides=(3, 99, 1)), D((2, 1, 3), F32)),
    "zero stride of size 1": (D((1, 3), F32, strides=(0, 1)), D((1, 3), F32)),
    "tag alias": (D((2, 8, 4, 5), F32, "nchw"), D((2, 8, 4, 5), F32, "abcd")),
    "strides by position": (D((2, 3), F32, (1, 2)), D((2, 3), F32, strides=(1, 2))),
    "tag and strides": (D((2, 3), F32, "ba"), D((2, 3), F32, strides=(1, 2))),
    "tag enum": (D((2, 3), F32, dnnl.format_tag.ba), D((2, 3), F32, "ba")),
    "size 1, two tags": (D((2, 1, 4, 5), F32, "nhwc"), D((2, 1, 4, 5), F32, "nchw")),
    "reshaped": (D((2, 3, 4), F32).reshape((6, 4)), D((6, 4), F32)),
    "permuted": (D((2, 3, 4), F32).permute_axes([1, 2, 0]), D((4, 2, 3), F32, "bca")),
    "whole view": (D((4, 6), F32).submemory_desc((4, 6), (0, 0)), D((4, 6), F32)),
}


@pytest.mark.parametrize("case", EQUAL)
def test_equal_descriptors_hash_equally(case):
    a, b = EQUAL[case]
    assert a == b
    assert (a != b) is False
    assert hash(a) == hash(b)


def test_equality_and_hash_agree_over_many_layouts():
    tags = [t for t in dnnl.format_tag if t.name in ("abc", "acb", "bac", "bca", "cab", "cba")]
    shapes = [(a, b, c) for a in (1, 2) for b in (1, 3) for c in (1, 16)]
    descs = [D(s, F32, t) for s in shapes for t in tags]
    for a in descs:
        for b in descs:
            assert a != b or hash(a) == hash(b)


@pytest.mark.parametrize("name", ["a", "ab", "ba", "abc", "nwc", "nchw", "nhwc", "chwn", "ndhwc"])
def test_plain_tag_has_the_strides_of_its_letters(name):
    letters = dnnl.format_tag[name]
    plain = next(m.name for m in dnnl.format_tag if m is letters)
    dims = (2, 3, 4, 5, 6)[: len(plain)]
    d = D(dims, F32, name)
    order = ["abcde".index(c) for c in plain]
    array = np.empty([dims[i] for i in order], "f4").transpose(np.argsort(order))
    assert d.dims == array.shape
    assert d.strides == tuple(s // 4 for s in array.strides)
    assert d.is_plain
    assert d.size == d.extent == array.nbytes


BLOCKED = {
    "nChw16c": ((2, 17, 3, 5), (2, 32, 3, 5), (16,), (1,), (480, 240, 80, 16)),
    "nChw8c": ((2, 16, 3, 5), (2, 16, 3, 5), (8,), (1,), (240, 120, 40, 8)),
    "OIhw16i16o": ((17, 3, 3, 3), (32, 16, 3, 3), (16, 16), (1, 0), (2304, 2304, 768, 256)),
    "ABcd8b16a2b": ((5, 20, 1, 1), (16, 32, 1, 1), (8, 16, 2), (1, 0, 1), (512, 256, 256, 256)),
}


@pytest.mark.parametrize("tag", BLOCKED)
def test_blocked_layout_has_padding_and_blocks(tag):
    dims, padded, blocks, indices, strides = BLOCKED[tag]
    d = D(dims, F32, tag)
    assert (d.dims, d.padded_dims) == (dims, padded)
    assert (d.inner_nblks, d.inner_blks, d.inner_idxs) == (len(blocks), blocks, indices)
    assert d.strides == strides
    assert d.padded_offsets == (0,) * 4
    assert d.size == d.extent == 4 * np.prod(padded)
    assert not d.is_plain
    assert d.format_kind is dnnl.format_kind.blocked


@pytest.mark.parametrize("view", ["all", "steps", "transposed", "inner", "column", "broadcast"])
def test_extent_is_from_first_to_last_element(view):
    array = np.zeros((4, 6, 5), "f4")
    array = {
        "all": array, "steps": array[::2, ::3], "transposed": array.T,
        "inner": array[1:3, 2:4, 1:2],
        "column": array[:, 0, 0], "broadcast": np.broadcast_to(array[:1], (9, 6, 5)),
    }[view]  # fmt: skip
    d = D(array.shape, F32, strides=[s // 4 for s in array.strides])
    low, high = np.lib.array_utils.byte_bounds(array) if hasattr(np.lib, "array_utils") else (
        np.byte_bounds(array)
    )  # fmt: skip
    assert d.extent == high - low
    assert d.size >= d.extent or 1 in array.shape


def test_view_counts_its_offset():
    d = D((4, 6), F32).submemory_desc((2, 3), (1, 2))
    assert (d.dims, d.strides, d.submemory_offset) == ((2, 3), (6, 1), 8)
    assert d.extent == 4 * (8 + 6 + 2 + 1)
    assert d.submemory_desc((1, 1), (1, 1)).submemory_offset == 8 + 7


def test_half_bytes_are_rounded_up():
    assert D((3, 6), T.s4).size == D((3, 6), T.u4).extent == 9
    assert D((5,), T.s4).size == 3
    assert D((4, 4), T.f4_e2m1).size == 8


@pytest.mark.parametrize(
    ("name", "nbytes"),
    [("f64", 8), ("s64", 8), ("f32", 4), ("s32", 4), ("f16", 2), ("bf16", 2), ("s8", 1), ("u8", 1),
     ("f8_e5m2", 1), ("f8_e4m3", 1), ("e8m0", 1)],
)  # fmt: skip
def test_size_counts_bytes_of_the_type(name, nbytes):
    d = D((3, 5), T[name])
    assert d.size == d.extent == 15 * nbytes
    assert d.data_type is d.get_data_type(0) is T[name]


def test_runtime_dimensions_have_no_size():
    for form in ("runtime", "runtime strides"):
        assert FORMS[form].size == dnnl.RUNTIME_SIZE_VAL
    assert FORMS["runtime"].dims == (OPEN, 3)
    assert "?" in str(FORMS["runtime"])


def test_any_and_absent():
    vague, absent = FORMS["any"], FORMS["absent"]
    assert vague.format_kind is dnnl.format_kind.any
    assert vague.size == 0
    assert vague
    assert not vague.is_zero
    assert absent.is_zero
    assert not absent
    assert (absent.ndims, absent.dims, absent.size) == (0, (), 0)
    assert FORMS["empty"]
    assert not FORMS["empty"].is_zero


def test_host_scalar():
    d = FORMS["host scalar"]
    assert d.format_kind is dnnl.format_kind.host_scalar
    assert d
    assert (d.size, d.data_type) == (2, T.f16)


def test_sparse_forms_have_several_buffers():
    csr, coo, packed = FORMS["csr"], FORMS["coo"], FORMS["packed"]
    assert [csr.get_size(i) for i in range(csr.num_handles)] == [20, 20, 20]
    assert [csr.get_data_type(i) for i in range(3)] == [F32, T.s32, T.s32]
    assert [coo.get_size(i) for i in range(coo.num_handles)] == [20, 20, 20]
    encodings = [dnnl.sparse_encoding[n] for n in ("csr", "coo", "packed")]
    assert [d.sparse_encoding for d in (csr, coo, packed)] == encodings
    assert {d.format_kind for d in (csr, coo, packed)} == {dnnl.format_kind.sparse}
    assert [d.nnz for d in (csr, coo, packed)] == [5, 5, 5]
    assert FORMS["row-major"].nnz == 0
    assert FORMS["row-major"].num_handles == 1
    assert not csr.is_plain


@pytest.mark.parametrize("permutation", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_permute_is_the_inverse_of_transpose(permutation):
    array = np.zeros((2, 3, 4), "f4")
    d = D(array.shape, F32).permute_axes(permutation)
    expected = array.transpose(np.argsort(permutation))
    assert d.dims == expected.shape
    assert d.strides == tuple(s // 4 for s in expected.strides)
    assert D(array.shape, F32).permute_axes(np.argsort(permutation).tolist()).dims == (
        array.transpose(permutation).shape
    )


@pytest.mark.parametrize("shape", [(24,), (2, 12), (6, 4), (2, 1, 3, 4), (2, 3, 2, 2)])
def test_reshape_keeps_the_elements(shape):
    d = D((2, 3, 4), F32).reshape(shape)
    assert d == D(shape, F32)


def test_descriptor_is_immutable():
    d = D((2, 3), F32)
    for name in ("dims", "strides", "data_type", "size", "blob"):
        with pytest.raises(AttributeError):
            setattr(d, name, None)

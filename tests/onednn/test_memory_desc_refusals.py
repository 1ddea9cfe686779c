# SPDX-License-Identifier: Apache-2.0
"""Memory descriptors: wrong ones and damaged blobs are refused, with the rule and the value."""

import pytest
from descriptors import F32, FORMS, OPEN, D, T

from sycl_dnn import DnnlError, InvalidArguments

#: Calls, and what the message says.
WRONG = r"""
D((2, -3), F32) -> dims must not be negative, got -3
D((1,) * 13, F32) -> dims must have at most 12 entries, got 13
D((2,), T.undef) -> data_type must not be undef
D((2, 3), F32, strides=(1,)) -> strides must have one entry per dimension (2), got 1
D((2,), F32, strides=(1, 1)) -> strides must have one entry per dimension (1), got 2
D((2, 3), F32, strides=(-3, 1)) -> strides must not be negative
D((2, 3), F32, "nchx") -> must be the name of a tag, got 'nchx'
D((2, 3), F32, "nchw") -> format_tag must be for the 2 dimensions of (2, 3), got abcd for 4
D((2, 3), F32, "nChw16c") -> got aBcd16b for 4
D((2, 3), F32, strides=(1, 1)) -> strides (1, 1)
D((3, 5), T.s4) -> must be 1 or even
D((3, 5), T.u4, "ab") -> must be 1 or even
D((2,), T.f4_e3m0) ->
D((2**40, 2**40), F32) ->
D((OPEN, 2), F32, "any") -> got dims (?, 2)
D((4, 6), F32).reshape((5, 5)) -> dims must hold 24 elements, as (4, 6) does, got (5, 5) (25)
D((4, 6), F32, "ba").reshape((24,)) -> got dims (24,) for f32 (4, 6) ba
D((4, 6, 5), F32).permute_axes([1, 1, 0]) -> below 3 once, got (1, 1, 0)
D((4, 6, 5), F32).permute_axes([1, 0]) -> each axis below 3 once, got (1, 0)
D((4, 6), F32).permute_axes([1, 0, 2]) -> below 2 once, got (1, 0, 2)
CSR.permute_axes([1, 0]) -> got permutation (1, 0) of f32 (4, 6) csr
D((4, 6), F32).submemory_desc((2, 3), (3, 2)) -> must lie within (4, 6) at offsets (3, 2)
D((4, 6), F32).submemory_desc((2, 3), (-1, 0)) -> at offsets (-1, 0)
D((4, 6), F32).submemory_desc((2,), (3, 0)) -> dims must have one entry per dimension (2), got (2,)
D((4, 6), F32).submemory_desc((2, 3), (3,)) -> got (3,)
BLOCKED.submemory_desc((2, 16, 3, 3), (0, 8, 0, 0)) -> at offsets (0, 8, 0, 0) of f32
D.csr((2, 3, 4), F32, 5, T.s32, T.s32) -> got dims (2, 3, 4)
D.csr((4, 6), F32, -1, T.s32, T.s32) -> nnz must not be negative, got -1
D.coo((4, 6), F32, -2, T.s32) -> nnz must not be negative, got -2
D.packed((4, 6), T.s8, -1) -> nnz must not be negative, got -1
D.csr((4, -6), F32, 5, T.s32, T.s32) -> dims must not be negative, got -6
D.csr((9, 64), F32, 15, T.undef, T.s32) -> index_dt must not be undef
D.csr((9, 64), F32, 15, T.s32, T.undef) -> pointer_dt must not be undef
D.coo((9, 64), F32, 15, T.undef) -> index_dt must not be undef
D.host_scalar(T.undef) ->
D.from_blob(b"abc") -> blob must come from MemoryDesc.blob
D.from_blob(b"") -> blob must come from
D.from_blob(bytes(768)) -> blob must come from
"""  # oneDNN itself ignores the excess of permutations; without a type sizes would be negative.
CSR, BLOCKED = D.csr((4, 6), F32, 5, T.s32, T.s32), D((2, 32, 3, 3), F32, "nChw16c")


NAMES = {"D": D, "F32": F32, "T": T, "OPEN": OPEN, "CSR": CSR, "BLOCKED": BLOCKED}


@pytest.mark.parametrize("row", WRONG.strip().splitlines())
def test_wrong_descriptor_is_refused(row):
    call, words = row.split(" ->")
    with pytest.raises(DnnlError) as refusal:
        eval(call, dict(NAMES))
    assert words.strip() in str(refusal.value)
    assert isinstance(refusal.value, (ValueError, NotImplementedError))


DAMAGE = {
    "changed": lambda b: b[:-1] + bytes([b[-1] ^ 1]),
    "short": lambda b: b[:-1],
    "long": lambda b: b + b"\0",
    "no payload": lambda b: b[: b.index(b"\n") + 1],
    "other version": lambda b: b.replace(b":3.", b":2.", 1),
    "other mark": lambda b: b.replace(b"md1", b"md2", 1),
    "header only": lambda b: b[: b.index(b"\n")],
}


@pytest.mark.parametrize("case", DAMAGE)
@pytest.mark.parametrize("form", ["blocked", "csr", "absent"])
def test_damaged_blob_is_refused(case, form):
    with pytest.raises(InvalidArguments, match=r"from_blob: blob (is damaged|must come)"):
        D.from_blob(DAMAGE[case](FORMS[form].blob))


@pytest.mark.parametrize(
    "call",
    [
        lambda: D((2, 3), 3),
        lambda: D((2, 3), F32, 1),
        lambda: D((2.5, 3), F32),
        lambda: D(2, F32),
        lambda: D.from_blob("text"),
        lambda: D((2, 3), F32).reshape(6),
        lambda: D.csr((2, 3), F32, 5),
    ],
)
def test_wrong_types_are_type_errors(call):
    with pytest.raises(TypeError):
        call()

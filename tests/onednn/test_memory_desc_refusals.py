# SPDX-License-Identifier: Apache-2.0
"""Memory descriptors: wrong ones and damaged blobs are refused, with the rule and the value."""

import pytest
from descriptors import F32, FORMS, OPEN, D, T

from sycl_dnn import DnnlError, InvalidArguments

#: call, what the message says
WRONG = {
    "negative dim": (lambda: D((2, -3), F32), "dims must not be negative, got -3"),
    "13 dims": (lambda: D((1,) * 13, F32), "dims must have at most 12 entries, got 13"),
    "undef": (lambda: D((2,), T.undef), "data_type must not be undef"),
    "few strides": (
        lambda: D((2, 3), F32, strides=(1,)),
        r"strides must have one entry per dimension \(2\), got 1",
    ),
    "many strides": (lambda: D((2,), F32, strides=(1, 1)), "one entry per dimension .*got 2"),
    "negative stride": (
        lambda: D((2, 3), F32, strides=(-3, 1)),
        "strides must not be negative .*got -3",
    ),
    "tag name": (lambda: D((2, 3), F32, "nchx"), "must be the name of a tag, got 'nchx'"),
    "tag of other rank": (
        lambda: D((2, 3), F32, "nchw"),
        r"format_tag must be for the 2 dimensions of \(2, 3\), got abcd for 4",
    ),
    "blocked tag of other rank": (
        lambda: D((2, 3), F32, "nChw16c"), "got aBcd16b for 4",
    ),
    "overlap": (
        lambda: D((2, 3), F32, strides=(1, 1)), r"got dims \(2, 3\), .* strides \(1, 1\)",
    ),
    "odd half-byte rows": (lambda: D((3, 5), T.s4), "must be 1 or even"),
    "odd half-byte rows by tag": (lambda: D((3, 5), T.u4, "ab"), "must be 1 or even"),
    "retired type": (lambda: D((2,), T.f4_e3m0), None),
    "too big": (lambda: D((2**40, 2**40), F32), None),
    "runtime any": (lambda: D((OPEN, 2), F32, "any"), r"got dims \(\?, 2\), .* format_tag any"),
    "reshape, other count": (
        lambda: D((4, 6), F32).reshape((5, 5)),
        r"reshape: dims must hold 24 elements, as \(4, 6\) does, got \(5, 5\) \(25\)",
    ),
    "reshape, not dense": (
        lambda: D((4, 6), F32, "ba").reshape((24,)), r"got dims \(24,\) for f32 \(4, 6\) ba",
    ),
    "permutation twice": (
        lambda: D((4, 6, 5), F32).permute_axes([1, 1, 0]),
        r"permutation must hold each axis below 3 once, got \(1, 1, 0\)",
    ),
    "permutation short": (
        lambda: D((4, 6, 5), F32).permute_axes([1, 0]), r"each axis below 3 once, got \(1, 0\)",
    ),
    # oneDNN itself ignores the excess.
    "permutation long": (
        lambda: D((4, 6), F32).permute_axes([1, 0, 2]), r"below 2 once, got \(1, 0, 2\)",
    ),
    "permutation of csr": (
        lambda: D.csr((4, 6), F32, 5, T.s32, T.s32).permute_axes([1, 0]),
        r"got permutation \(1, 0\) of f32 \(4, 6\) csr",
    ),
    "view outside": (
        lambda: D((4, 6), F32).submemory_desc((2, 3), (3, 2)),
        r"dims must lie within \(4, 6\) at offsets \(3, 2\), got \(2, 3\)",
    ),
    "view before": (
        lambda: D((4, 6), F32).submemory_desc((2, 3), (-1, 0)), r"at offsets \(-1, 0\)",
    ),
    "view short": (
        lambda: D((4, 6), F32).submemory_desc((2,), (3, 0)),
        r"submemory_desc: dims must have one entry per dimension \(2\), got \(2,\)",
    ),
    "view of few offsets": (
        lambda: D((4, 6), F32).submemory_desc((2, 3), (3,)), r"offsets must have .*got \(3,\)",
    ),
    "view in a block": (
        lambda: D((2, 32, 3, 3), F32, "nChw16c").submemory_desc((2, 16, 3, 3), (0, 8, 0, 0)),
        r"dims \(2, 16, 3, 3\) at offsets \(0, 8, 0, 0\) of f32 .* aBcd16b",
    ),
    "csr, 3 dims": (
        lambda: D.csr((2, 3, 4), F32, 5, T.s32, T.s32), r"CSR .*got dims \(2, 3, 4\)",
    ),
    "csr, nnz": (
        lambda: D.csr((4, 6), F32, -1, T.s32, T.s32), "nnz must not be negative, got -1",
    ),
    "coo, nnz": (lambda: D.coo((4, 6), F32, -2, T.s32), "nnz must not be negative, got -2"),
    "packed, nnz": (lambda: D.packed((4, 6), T.s8, -1), "nnz must not be negative, got -1"),
    "csr, negative dim": (
        lambda: D.csr((4, -6), F32, 5, T.s32, T.s32), "dims must not be negative, got -6",
    ),
    "host scalar undef": (lambda: D.host_scalar(T.undef), None),
    "blob of text": (lambda: D.from_blob(b"abc"), "blob must come from MemoryDesc.blob"),
    "empty blob": (lambda: D.from_blob(b""), "blob must come from"),
    "raw bytes": (lambda: D.from_blob(bytes(768)), "blob must come from"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_descriptor_is_refused(case):
    call, text = WRONG[case]
    with pytest.raises(DnnlError, match=text) as refusal:
        call()
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

# SPDX-License-Identifier: Apache-2.0
"""sgemm and its 8-bit relatives, on NumPy arrays and on USM, against float64."""

import functools

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

M, N, K = 5, 7, 9
RNG = np.random.default_rng(3)


def _op(x, transposed):
    return x.T if transposed == "T" else x


def _operand(rows, columns, transposed, draw):
    return draw((columns, rows) if transposed == "T" else (rows, columns))


def _floats(shape):
    return RNG.normal(size=shape).astype(np.float32)


def _bytes(dtype, low, high):
    return lambda shape: RNG.integers(low, high, shape).astype(dtype)


def _usm(array, usm_type):
    result = dpnp.asarray(array, usm_type=usm_type, device="cpu")
    sycl_dnn.synchronize(result.sycl_queue)
    return result


KINDS = {"numpy": np.array} | {
    kind: functools.partial(_usm, usm_type=kind) for kind in ("device", "shared", "host")
}


@pytest.mark.parametrize("place", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("ta", "NT")
@pytest.mark.parametrize("tb", "NT")
def test_sgemm(ta, tb, place):
    a, b, c = _operand(M, K, ta, _floats), _operand(K, N, tb, _floats), _floats((M, N))
    expected = 0.5 * _op(a, ta).astype(float) @ _op(b, tb) + 2.0 * c
    provided = place(c)
    dnnl.sgemm(ta, tb, M, N, K, 0.5, place(a), a.shape[1], place(b), b.shape[1], 2.0, provided, N)
    actual = provided if isinstance(provided, np.ndarray) else dpnp.asnumpy(provided)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_sgemm_with_gaps_between_rows():
    a, b = _floats((M, K + 3))[:, :K], _floats((K, N))
    c = np.zeros((M, N + 2), np.float32)
    dnnl.sgemm("N", "N", M, N, K, 1.0, a, K + 3, b, N, 0.0, c, N + 2)
    np.testing.assert_allclose(c[:, :N], a.astype(float) @ b, rtol=1e-5, atol=1e-5)
    assert (c[:, N:] == 0).all()


@pytest.mark.parametrize(
    ("function", "draw"),
    [(dnnl.gemm_u8s8s32, _bytes("u1", 0, 60)), (dnnl.gemm_s8s8s32, _bytes("i1", -30, 30))],
    ids=["gemm_u8s8s32", "gemm_s8s8s32"],
)
@pytest.mark.parametrize(("offsetc", "count"), [("F", 1), ("C", M), ("R", N)])
@pytest.mark.parametrize("place", [np.array, KINDS["device"]], ids=["numpy", "usm"])
def test_products_of_8_bit(function, draw, offsetc, count, place):
    a, b = draw((M, K)), _bytes("i1", -30, 30)((K, N))
    co = RNG.integers(-99, 99, count).astype(np.int32)
    c = RNG.integers(-99, 99, (M, N)).astype(np.int32)
    added = co[:, None] if offsetc == "C" else co
    expected = (a.astype(int) - 3) @ (b.astype(int) - 2) + c + added
    provided = place(c)
    function(
        "N", "N", offsetc, M, N, K, 1.0, place(a), K, 3, place(b), N, 2, 1.0, provided, N, place(co)
    )
    actual = provided if isinstance(provided, np.ndarray) else dpnp.asnumpy(provided)
    assert (actual == expected).all()


A, B, C = _floats((M, K)), _floats((K, N)), np.zeros((M, N), np.float32)
GOOD = ["N", "N", M, N, K, 1.0, A, K, B, N, 0.0, C, N]
WRONG = {
    "letter": (0, "X", InvalidArguments, "sgemm: transa must be one of N, T, got 'X'"),
    "negative": (2, -1, InvalidArguments, "sgemm: M must not be negative or over 2"),
    "size": (4, "9", TypeError, "sgemm: K must be an integer, got '9'"),
    "dtype": (6, A.astype("f8"), InvalidArguments, "sgemm: A must have dtype f4, got float64"),
    "short": (8, B[:-1], InvalidArguments, "sgemm: B must hold 63 elements, got 56"),
    "ld": (7, K - 1, InvalidArguments, "sgemm: lda must be 9 at least, got 8"),
    "columns": (6, np.asfortranarray(A), InvalidArguments, "A must be contiguous, or have rows ld"),
    "list": (6, [1.0], TypeError, "sgemm: A must be a NumPy array or an array in USM, got list"),
    "shared": (11, A, InvalidArguments, "sgemm: C must not share memory with A"),
}


@pytest.mark.parametrize(("at", "value", "error", "words"), WRONG.values(), ids=WRONG)
def test_invalid_arguments_are_refused_by_name(at, value, error, words):
    args = [*GOOD]
    args[at] = value
    with pytest.raises(error, match=words):
        dnnl.sgemm(*args)


def test_outputs_must_be_writable():
    frozen = C.copy()
    frozen.flags.writeable = False
    with pytest.raises(InvalidArguments, match="sgemm: C must be writable"):
        dnnl.sgemm(*GOOD[:11], frozen, N)
    u, s, c = np.ones((M, K), "u1"), np.ones((K, N), "i1"), np.ones((M, N), "i4")
    words = "gemm_u8s8s32: co must hold 7 elements"
    with pytest.raises(InvalidArguments, match=words):
        dnnl.gemm_u8s8s32("N", "N", "R", M, N, K, 1, u, K, 0, s, N, 0, 0, c, N, c[0, :1].copy())
    co = np.zeros(1, "i4")
    with pytest.raises(InvalidArguments, match=r"ao must be in \[0, 255\], got 256"):
        dnnl.gemm_u8s8s32("N", "N", "F", M, N, K, 1, u, K, 256, s, N, 0, 0, c, N, co)


def test_nothing_to_compute():
    dnnl.sgemm("N", "N", 0, N, K, 1.0, A[:0], K, B, N, 0.0, C[:0], N)

# SPDX-License-Identifier: Apache-2.0
"""Scales and zero points: results against NumPy, and refusals of wrong shapes."""

import numpy as np
import pytest
from descriptors import require_isa
from small_matmul import ALG, ANY_MATH, F32, I8, K, M, N, T, attr_of, desc, matmul, ops_of, run

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl


@pytest.fixture
def factors():
    rng = np.random.default_rng(0)
    src = rng.integers(0, 20, (M, K)).astype("u1")
    weights = rng.integers(-8, 9, (K, N)).astype("i1")
    return src, weights


#: mask of src scale, of weights scale, of src zero point, of dst scale and zero point; on the host
QUANTIZED = {
    "per tensor": (0, 0, 0, None, False),
    "per channel": (0, 2, 0, None, False),
    "no zero point": (0, 2, None, None, False),
    "quantized result": (0, 2, 0, 0, False),
    "on the host": (0, None, 0, None, True),
}


@pytest.mark.parametrize("case", QUANTIZED)
def test_int8_matmul_scales_and_shifts_as_numpy(case, engine, stream, factors):
    src_mask, weights_mask, zero_mask, dst_mask, on_host = QUANTIZED[case]
    src, weights = factors
    values = {"src": src, "weights": weights}
    real = [src.astype("f8"), weights.astype("f8")]
    attr = dnnl.PrimitiveAttr()
    if zero_mask is not None:
        attr.set_host_zero_point("src") if on_host else attr.set_zero_points_mask("src", zero_mask)
        values["attr_zero_points_src"] = np.array([7], "i4")
        real[0] -= 7
    attr.set_host_scale("src") if on_host else attr.set_scales_mask("src", src_mask)
    values["attr_scales_src"] = np.array([0.25], "f4")
    real[0] *= 0.25
    if weights_mask is not None:
        attr.set_scales_mask("weights", weights_mask)
        scales = np.linspace(0.5, 2, N if weights_mask else 1).astype("f4")
        values["attr_scales_weights"] = scales
        real[1] *= scales
    expected = real[0] @ real[1]
    types = I8
    if dst_mask is not None:
        attr.set_scales_mask("dst", dst_mask)
        attr.set_zero_points_mask("dst", 0)
        values |= {"attr_scales_dst": np.array([4.0], "f4")}
        values |= {"attr_zero_points_dst": np.array([100], "i4")}
        expected = np.clip(np.rint(expected / 4 + 100), 0, 255)
        types = "u8 s8 u8"
    if on_host:
        for name, data_type in (("attr_scales_src", F32), ("attr_zero_points_src", T.s32)):
            scalar = dnnl.MemoryDesc.host_scalar(data_type)
            values[name] = dnnl.Memory(scalar, values[name][0])
    actual = run(matmul(engine, attr, types), stream, **values)
    rounding = 1 if dst_mask is not None else 1e-7 * np.abs(expected).max()
    np.testing.assert_allclose(actual.astype("f8"), expected, rtol=1e-6, atol=rounding)


def test_dst_scale_divides(engine, stream):
    attr = attr_of(("set_scales_mask", "dst", 0))
    ones, scale = np.ones((M, K), "f4"), np.array([4.0], "f4")
    pd = matmul(engine, attr)
    actual = run(pd, stream, src=ones, weights=np.ones((K, N), "f4"), attr_scales_dst=scale)
    assert (actual == K / 4).all()


def test_integer_weights_are_scaled_in_groups(engine, stream):
    require_isa("AVX512_CORE")  # others refuse these weights in row-major order
    rng = np.random.default_rng(0)
    src = rng.integers(-3, 4, (M, K)).astype("f4")
    weights = rng.integers(0, 16, (K, N)).astype("u1")
    scales = rng.choice([0.5, 1, 2], (2, N)).astype("f4")
    shifts = rng.integers(0, 9, (2, N)).astype("u1")
    attr = attr_of(
        ("set_scales", "weights", 3, (16, 1)),
        ("set_zero_points", "weights", 3, (16, 1), T.u8),
        ANY_MATH,
    )
    actual = run(
        matmul(engine, attr, "f32 u8 f32"), stream, src=src, weights=weights,
        attr_scales_weights=scales, attr_zero_points_weights=shifts,
    )  # fmt: skip
    real = (weights.astype("f8") - np.repeat(shifts, 16, 0)) * np.repeat(scales, 16, 0)
    np.testing.assert_allclose(actual, src @ real, rtol=1e-5)


def conv(e, attr):
    """8 to 16 channels in two groups, so the weights have five dimensions."""
    src, dst = (dnnl.MemoryDesc((2, c, 9, 9), t, "any") for c, t in ((8, T.u8), (16, F32)))
    weights = dnnl.MemoryDesc((2, 8, 4, 3, 3), T.s8, "any")
    return dnnl.convolution_forward(
        e, prop_kind=dnnl.prop_kind.forward_inference, algorithm=ALG.convolution_direct, src=src,
        weights=weights, dst=dst, strides=(1, 1), padding_l=(1, 1), padding_r=(1, 1), attr=attr,
    )  # fmt: skip


def two(e, attr):
    d = desc(M, K)
    return dnnl.concat(e, concat_dimension=0, srcs=[d, d], attr=attr)


def added(e, attr):
    d = desc(M, K)
    return dnnl.binary(e, algorithm=ALG.binary_add, src0=d, src1=d, dst=d, attr=attr)


def reordered(e, attr):
    return dnnl.reorder(e, src=desc(M, K), dst=desc(M, K, data_type=T.s8), attr=attr)


def quantized(e, attr):
    return matmul(e, attr, I8)


#: primitive, setter, what the message says; oneDNN ignores such a mask or says "unimplemented"
BEYOND = {
    "src": (quantized, ("set_scales_mask", "src", 4), r"_src must be below 4 \(src has 2"),
    "weights": (quantized, ("set_scales_mask", "weights", 5), "attr_scales_weights .*got 5"),
    "dst": (matmul, ("set_scales_mask", "dst", 1 << 20), "attr_scales_dst .*got 1048576"),
    "zero point": (quantized, ("set_zero_points_mask", "src", 8), "attr_zero_points_src .*got 8"),
    "groups": (
        quantized, ("set_scales", "weights", 6, (16, 1)), "attr_scales_weights .*below 4 .*got 6",
    ),
    "sums": (
        quantized, ("set_precomputed_reductions", "src", 7, (1, 16)),
        "attr_precomputed_reductions_src must be below 4",
    ),
    "reorder": (reordered, ("set_zero_points_mask", "dst", 4), "attr_zero_points_dst .*got 4"),
    "grouped weights": (conv, ("set_scales_mask", "weights", 32), r"below 32 \(weights has 5"),
    "one of two sources": (
        two, ("set_scales_mask", "multiple_src_1", 4), "attr_scales_multiple_src_1 must",
    ),
    "second operand": (added, ("set_scales_mask", "src_1", 4), "mask of attr_scales_src_1 must"),
    "prelu": (
        matmul, ("set_post_ops", ops_of(("append_prelu", 4))),
        r"attr_post_op_0_weights must be below 4 \(dst has 2 dimensions\), got 4",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BEYOND)
def test_mask_of_a_dimension_that_is_not_there_is_refused(case, engine):
    make, call, text = BEYOND[case]
    with pytest.raises(InvalidArguments, match=text):
        make(engine, attr_of(call))


def test_masks_of_all_dimensions_are_accepted(engine):
    attr = attr_of(("set_scales_mask", "src", 3), ("set_scales_mask", "dst", 3))
    slots = dnnl.Primitive(reordered(engine, attr)).arguments
    assert slots["attr_scales_src"]["count"] == slots["attr_scales_dst"]["count"] == M * K

# SPDX-License-Identifier: Apache-2.0
"""Scales and zero points: results against NumPy, and refusals of wrong shapes."""

import pytest
from small_matmul import ALG, F32, I8, K, M, T, attr_of, desc, matmul, ops_of

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl


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

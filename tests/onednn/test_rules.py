# SPDX-License-Identifier: Apache-2.0
"""Refused primitives: the rule that was broken, with argument and value."""

import pytest
from small_calls import (
    ALG,
    TRAINING,
    X,
    concat,
    conv,
    conv_backward,
    deconv,
    f32,
    group_norm,
    gru,
    lrn,
    pool,
    product,
    relu,
    relu_backward,
    resampling,
    shuffle,
    softmax,
)

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

#: call with an engine, what the error says: argument, rule, value
BROKEN_RULES = {
    "conv channels": (
        lambda e: conv(e, weights=f32(16, 4, 3, 3)),
        r"convolution_forward: weights must have 8 input channels \(8 of src / groups=1\), got "
        r"\(16, 4, 3, 3\)",
    ),
    "conv channels per group": (
        lambda e: conv(e, weights=f32(2, 8, 8, 3, 3)),
        r"weights must have 4 input channels \(8 of src / groups=2\)",
    ),
    "conv groups": (
        lambda e: conv(e, weights=f32(3, 16, 8, 3, 3)),
        r"groups must divide 8 \(channels of src\), got 3",
    ),
    "conv result channels": (
        lambda e: conv(e, dst=f32(2, 8, 9, 9)),
        r"dst must have 16 channels \(weights is \(16, 8, 3, 3\)\), got \(2, 8, 9, 9\)",
    ),
    "conv weights rank": (
        lambda e: conv(e, weights=f32(16, 8, 3)),
        r"weights must have 4 dimensions, or one more with groups, got \(16, 8, 3\)",
    ),
    "conv few strides": (
        lambda e: conv(e, strides=(1,)),
        r"strides must have one entry per spatial dimension of src \(2\), got \(1,\)",
    ),
    "conv few dilates": (lambda e: conv(e, dilates=(0,)), r"dilates must have .*\(2\), got \(0,\)"),
    "conv few paddings": (lambda e: conv(e, padding_r=(1,)), r"padding_r must have .*got \(1,\)"),
    "conv stride 0": (
        lambda e: conv(e, strides=(0, 1)), r"strides must be at least 1, got \(0, 1\)",
    ),
    "conv size": (
        lambda e: conv(e, padding_l=(0, 0)),
        r"dst must have size 8 in spatial dimension 0 \(\(9 - 3 \+ 1\) // 1 \+ 1\), got 9",
    ),
    "conv size, dilated": (
        lambda e: conv(e, dilates=(1, 1)), r"dst must have size 7 .*\(9 - 5 \+ 2\).*got 9",
    ),
    "conv kind": (
        lambda e: conv(e, prop_kind=dnnl.prop_kind.backward),
        "prop_kind must be forward_training or forward_inference, got backward",
    ),
    "deconv channels": (
        lambda e: deconv(e, weights=f32(16, 7, 3, 3)),
        "deconvolution_forward: weights must have 8 input channels",
    ),
    "deconv size": (
        lambda e: deconv(e, dst=f32(2, 16, 10, 9)), r"src must have size 10 .* got 9",
    ),
    "pool kernel 0": (lambda e: pool(e, kernel=(0, 2)), r"kernel must be at least 1, got \(0, 2\)"),
    "pool size": (
        lambda e: pool(e, dst=f32(2, 8, 3, 2)),
        "dst must have size 2 in spatial dimension 0 .*got 3",
    ),
    "hint of another primitive": (
        lambda e: conv_backward(e, hint_fwd_pd=relu(e)),
        "hint_fwd_pd must come from convolution_forward, got one from eltwise_forward",
    ),
    "any source": (
        lambda e: relu(e, src=f32(2, 8, 4, 4, tag="any")),
        r"src must have a concrete layout, got f32 \(2, 8, 4, 4\) any",
    ),
    "any source of softmax": (
        lambda e: softmax(e, src=f32(2, 8, 4, 4, tag="any")), "src must have a concrete layout",
    ),
    "any source of binary": (
        lambda e: dnnl.binary(
            e, algorithm=ALG.binary_add, src0=f32(2, 8, tag="any"), src1=f32(2, 8), dst=f32(2, 8)
        ),
        "src0 must have a concrete layout",
    ),
    "matmul K": (
        lambda e: product(e, (2, 3), (4, 3), (2, 3)),
        r"weights must have K=3 rows \(src is \(2, 3\)\), got \(4, 3\)",
    ),
    "matmul N": (
        lambda e: product(e, (2, 3), (3, 4), (2, 5)), r"dst must end in \(2, 4\), got \(2, 5\)",
    ),
    "matmul rank": (
        lambda e: product(e, (2, 3), (1, 3, 4), (2, 4)), "must have as many dimensions each",
    ),
    "softmax axis": (lambda e: softmax(e, axis=4), r"axis must be in \[0, 4\), got 4"),
    "softmax axis from the end": (
        lambda e: softmax(e, axis=-1), r"axis must be in \[0, 4\), got -1",
    ),
    "shuffle axis": (lambda e: shuffle(e, axis=4), r"axis must be in \[0, 4\), got 4"),
    "shuffle group": (
        lambda e: shuffle(e, group_size=3), r"group_size must divide 8 \(axis of src\), got 3",
    ),
    "shuffle group 0": (lambda e: shuffle(e, group_size=0), "group_size must divide 8 .*got 0"),
    "concat axis": (
        lambda e: concat(e, 2, f32(2, 8)), r"concat_dimension must be in \[0, 2\), got 2",
    ),
    "concat axis from the end": (
        lambda e: concat(e, -1, f32(2, 8)), r"concat_dimension must be in \[0, 2\), got -1",
    ),
    "concat of nothing": (lambda e: concat(e, 0), "srcs must hold at least one descriptor"),
    "sum scales": (
        lambda e: dnnl.sum(e, scales=[1.0], srcs=[f32(2), f32(2)]),
        r"scales must have one entry per source \(2\), got 1",
    ),
    "lrn size": (lambda e: lrn(e, 0), "local_size must be at least 1, got 0"),
    "lrn negative size": (lambda e: lrn(e, -5), "local_size must be at least 1, got -5"),
    "norm groups": (
        lambda e: group_norm(e, 3), r"groups must divide 8 \(channels of src\), got 3",
    ),
    "norm groups 0": (lambda e: group_norm(e, 0), "groups must divide 8 .*got 0"),
    "norm without space": (
        lambda e: group_norm(e, 4, (4, 8)), r"src must have spatial dimensions, 3 to 5 .*\(4, 8\)",
    ),
    "resampling factors": (
        lambda e: resampling(e, factors=[2.0]), r"factors must have .* of src \(2\), got \(2.0,\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_RULES)
def test_broken_rule_is_named_with_argument_and_value(case, engine, spawned):
    call, text = BROKEN_RULES[case]
    with pytest.raises(InvalidArguments, match=text) as refusal:
        call(engine)
    assert refusal.value.status is dnnl.status.invalid_arguments
    str(refusal.value)
    assert spawned() == 0


#: oneDNN's own message, if none of our rules explains the refusal
ONEDNN_SAYS = {
    "conv batch": (lambda e: conv(e, dst=f32(3, 16, 9, 9)), "src:0 is inconsistent with dst:0"),
    "conv bias": (lambda e: conv(e, bias=f32(8)), "bad dimension bias:0"),
    "conv algorithm": (lambda e: conv(e, algorithm=ALG.eltwise_relu), "bad algorithm"),
    "matmul bias": (
        lambda e: product(e, (2, 3), (3, 4), (2, 4), bias=f32(1, 5)),
        "bias:1 is inconsistent with dst:1",
    ),
    "concat any": (lambda e: concat(e, 0, f32(2, 8, tag="any")), "unsupported format tag for src"),
    "norm rank": (
        lambda e: dnnl.layer_normalization_forward(
            e, prop_kind=TRAINING, src=f32(8), dst=f32(8), epsilon=1e-5
        ),
        "src has a bad number of dimensions 1",
    ),
    "reduction power": (
        lambda e: dnnl.reduction(
            e, algorithm=ALG.reduction_norm_lp_sum, src=X, dst=f32(2, 1, 4, 4), p=0.5
        ),
        "bad param: p",
    ),
    "rnn shape": (
        lambda e: gru(e, weights_layer=f32(1, 1, 5, 3, 4)), "bad dimension weights_layer",
    ),
    "hint of other shape": (
        lambda e: relu_backward(e, diff_dst=f32(2, 8, 4, 5), hint_fwd_pd=relu(e)),
        "inconsistent with diff_dst",
    ),
    "reorder shape": (
        lambda e: dnnl.reorder(e, src=f32(2, 8), dst=f32(2, 7)), "inconsistent src and dst",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", ONEDNN_SAYS)
def test_without_a_known_rule_the_message_of_onednn_is_shown(case, engine):
    call, text = ONEDNN_SAYS[case]
    with pytest.raises(InvalidArguments) as refusal:
        call(engine)
    assert any(text in reason for reason in refusal.value.reasons), refusal.value.reasons
    assert text in str(refusal.value)


def test_lists_longer_than_the_spatial_dimensions_are_refused(engine):
    """oneDNN itself cuts them off silently."""
    with pytest.raises(InvalidArguments, match=r"strides must have .*\(2\), got \(1, 1, 5\)"):
        conv(engine, strides=(1, 1, 5))

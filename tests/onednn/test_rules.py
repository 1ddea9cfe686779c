# SPDX-License-Identifier: Apache-2.0
"""Refused primitives: the rule that was broken, with argument and value."""

import pytest
import small_calls
from small_calls import conv

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

#: Calls with an engine, and what the error says: argument, rule, value.
BROKEN_RULES = """
conv(e, weights=f32(16, 4, 3, 3)) -> must have 8 input channels (8 of src / groups=1), got (16, 4,
conv(e, weights=f32(2, 8, 8, 3, 3)) -> weights must have 4 input channels (8 of src / groups=2)
conv(e, weights=f32(3, 16, 8, 3, 3)) -> groups must divide 8 (channels of src), got 3
conv(e, dst=f32(2, 8, 9, 9)) -> must have 16 channels (weights is (16, 8, 3, 3)), got (2, 8, 9, 9)
conv(e, weights=f32(16, 8, 3)) -> must have 4 dimensions, or one more with groups, got (16, 8, 3)
conv(e, strides=(1,)) -> strides must have one entry per spatial dimension of src (2), got (1,)
conv(e, dilates=(0,)) -> dilates must have one entry per spatial dimension of src (2), got (0,)
conv(e, padding_r=(1,)) -> padding_r must have one entry per spatial dimension of src (2), got (1,)
conv(e, strides=(0, 1)) -> strides must be at least 1, got (0, 1)
conv(e, padding_l=(0, 0)) -> size 8 in spatial dimension 0 ((9 - 3 + 1) // 1 + 1), got 9
conv(e, dilates=(1, 1)) -> dst must have size 7 in spatial dimension 0 ((9 - 5 + 2)
conv(e, prop_kind=dnnl.prop_kind.backward) -> must be forward_training or forward_inference, got ba
deconv(e, weights=f32(16, 7, 3, 3)) -> deconvolution_forward: weights must have 8 input channels
deconv(e, dst=f32(2, 16, 10, 9)) -> src must have size 10
pool(e, kernel=(0, 2)) -> kernel must be at least 1, got (0, 2)
pool(e, dst=f32(2, 8, 3, 2)) -> dst must have size 2 in spatial dimension 0
conv_backward(e, hint_fwd_pd=relu(e)) -> must come from convolution_forward, got one from eltwise_f
relu(e, src=f32(2, 8, 4, 4, tag="any")) -> src must have a concrete layout, got f32 (2, 8, 4, 4) any
softmax(e, src=f32(2, 8, 4, 4, tag="any")) -> src must have a concrete layout
binary(e, src0=f32(2, 8, tag="any")) -> src0 must have a concrete layout
product(e, (2, 3), (4, 3), (2, 3)) -> weights must have K=3 rows (src is (2, 3)), got (4, 3)
product(e, (2, 3), (3, 4), (2, 5)) -> dst must end in (2, 4), got (2, 5)
product(e, (2, 3), (1, 3, 4), (2, 4)) -> must have as many dimensions each
softmax(e, axis=4) -> axis must be in [0, 4), got 4
softmax(e, axis=-1) -> axis must be in [0, 4), got -1
shuffle(e, axis=4) -> axis must be in [0, 4), got 4
shuffle(e, group_size=3) -> group_size must divide 8 (axis of src), got 3
shuffle(e, group_size=0) -> group_size must divide 8
concat(e, 2, f32(2, 8)) -> concat_dimension must be in [0, 2), got 2
concat(e, -1, f32(2, 8)) -> concat_dimension must be in [0, 2), got -1
concat(e, 0) -> srcs must hold at least one descriptor
dnnl.sum(e, scales=[1.0], srcs=[f32(2), f32(2)]) -> scales must have one entry per source (2), got 1
lrn(e, 0) -> local_size must be at least 1, got 0
lrn(e, -5) -> local_size must be at least 1, got -5
group_norm(e, 3) -> groups must divide 8 (channels of src), got 3
group_norm(e, 0) -> groups must divide 8
group_norm(e, 4, (4, 8)) -> src must have spatial dimensions, 3 to 5
resampling(e, factors=[2.0]) -> factors must have one entry per spatial dimension of src (2), got (2
"""
#: oneDNN's own message, if none of our rules explains the refusal.
ONEDNN_SAYS = """
conv(e, dst=f32(3, 16, 9, 9)) -> src:0 is inconsistent with dst:0
conv(e, bias=f32(8)) -> bad dimension bias:0
conv(e, algorithm=ALG.eltwise_relu) -> bad algorithm
product(e, (2, 3), (3, 4), (2, 4), bias=f32(1, 5)) -> bias:1 is inconsistent with dst:1
concat(e, 0, f32(2, 8, tag="any")) -> unsupported format tag for src
layer_norm(e, f32(8)) -> src has a bad number of dimensions 1
reduction(e, p=0.5) -> bad param: p
gru(e, weights_layer=f32(1, 1, 5, 3, 4)) -> bad dimension weights_layer
relu_backward(e, diff_dst=f32(2, 8, 4, 5), hint_fwd_pd=relu(e)) -> inconsistent with diff_dst
dnnl.reorder(e, src=f32(2, 8), dst=f32(2, 7)) -> inconsistent src and dst
"""
OTHERS = {
    "binary": lambda e, src0: dnnl.binary(
        e, algorithm="binary_add", src0=src0, src1=small_calls.f32(2, 8), dst=small_calls.f32(2, 8)
    ),
    "layer_norm": lambda e, x: dnnl.layer_normalization_forward(
        e, prop_kind="forward_training", src=x, dst=x, epsilon=1e-5
    ),
    "reduction": lambda e, p: dnnl.reduction(
        e, algorithm="reduction_norm_lp_sum", src=small_calls.X, dst=small_calls.f32(2, 1, 4, 4),
        p=p,
    ),
}  # fmt: skip


def refused(row, engine):
    """Return the error of a row's call, and the expected words."""
    call, words = row.split(" -> ")
    with pytest.raises(InvalidArguments) as refusal:
        eval(call, vars(small_calls) | OTHERS | {"e": engine})
    return refusal.value, words


@pytest.mark.parametrize("row", BROKEN_RULES.strip().splitlines())
def test_broken_rule_is_named_with_argument_and_value(row, engine, spawned):
    error, words = refused(row, engine)
    assert error.status is dnnl.status.invalid_arguments
    assert words in str(error)
    assert spawned() == 0


@pytest.mark.slow
@pytest.mark.parametrize("row", ONEDNN_SAYS.strip().splitlines())
def test_without_a_known_rule_the_message_of_onednn_is_shown(row, engine):
    error, words = refused(row, engine)
    assert any(words in reason for reason in error.reasons), error.reasons
    assert words in str(error)


def test_lists_longer_than_the_spatial_dimensions_are_refused(engine):
    """oneDNN itself cuts them off silently."""
    with pytest.raises(InvalidArguments, match=r"strides must have .*\(2\), got \(1, 1, 5\)"):
        conv(engine, strides=(1, 1, 5))

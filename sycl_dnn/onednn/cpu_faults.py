# SPDX-License-Identifier: Apache-2.0
"""Faults of oneDNN's CPU kernels: wrong values, which are warned about or avoided."""

from __future__ import annotations

from sycl_dnn.onednn import fault as rules
from sycl_dnn.onednn.fault import ANY, Fault

FAULTS: tuple[Fault, ...] = (
    Fault(
        "deconvolution-pointwise",
        title="`deconvolution_forward`",
        when="1x1 kernel, no groups, all row-major, weights too (`conv:any+jit_uni_ncsp:matmul`)",
        wrong="weights (O, C) are read as (C, O)",
        instead="weights `any`",
        met="warned",
        rows=("deconvolution_forward",),
        warns=rules.row_major_pointwise,
        outputs=("dst",),
        advice=("row-major weights (O, I) of a 1x1 kernel are read as (I, O); use weights `any`"),
    ),
    Fault(
        "inner-product-order",
        title="`inner_product_forward`",
        when=(
            "channels-last source, weights (I, *S, O) (`bca`, `bcda`), which `any` selects for "
            "int8 on CPUs without AVX-512; implemented by `brg_matmul` or `gemm:jit`"
        ),
        wrong="weights are read as (*S, I, O)",
        instead="weights in the order of the source (`acb`, `acdb`)",
        met="warned",
        rows=("inner_product_forward",),
        warns=rules.other_order,
        outputs=("dst",),
        advice=(
            "weights are read in the order of the source's axes, channels last, but have "
            "another order; lay them out like the source (`acdb`), not as (I, *S, O)"
        ),
    ),
    Fault(
        "rnn-no-initial-state",
        title="`vanilla_rnn_backward`, `lstm_backward`",
        when="no `src_iter`, left to right",
        wrong="`diff_weights_iter`: the first output is used in place of the zero initial state",
        instead="a `src_iter` (and `src_iter_c`) of zeros",
        met="warned",
        rows=("vanilla_rnn_backward", "lstm_backward"),
        warns=rules.no_initial_state,
        advice=(
            "diff_weights_iter is wrong without src_iter: the first output is used in place of the "
            "zero initial state; pass a src_iter (and src_iter_c) of zeros"
        ),
    ),
    Fault(
        "rnn-strided-source",
        title="`vanilla_rnn_backward`, `lstm_backward`, `gru_backward`, `lbr_gru_backward`",
        when=(
            "`ref`, left to right, steps of `src_layer` are not contiguous (batch first, "
            "a slice of an array) but those of `dst_layer` are"
        ),
        wrong=(
            "`diff_weights_layer` is computed from unrelated memory; with one sample oneDNN's"
            " cache also returns this primitive for dense layers"
        ),
        instead="reorder `src_layer` to row-major",
        met="warned",
        rows=("vanilla_rnn_backward", "lstm_backward", "gru_backward", "lbr_gru_backward"),
        warns=rules.strided_source,
        outputs=("diff_weights_layer",),
        advice=(
            "diff_weights_layer is wrong when steps of src_layer are not contiguous "
            "(batch first, or a slice of an array) but those of dst_layer are; reorder src_layer "
            "to row-major. With one sample oneDNN's cache then returns the wrong primitive "
            "for dense layers as well"
        ),
    ),
    Fault(
        "augru-gradients",
        title="`augru_backward`, `lbr_augru_backward`",
        when="always",
        wrong=(
            "not the gradients of the forward pass; with attention 0 only "
            "`diff_augru_attention` is wrong"
        ),
        instead="none",
        met="warned",
        rows=("augru_backward", "lbr_augru_backward"),
        warns=rules.always,
        outputs=("diff_*",),
        advice=(
            "the gradients are not those of the forward pass (diff_augru_attention is wrong even "
            "where the attention is 0, the others only where it is not)"
        ),
    ),
    Fault(
        "rms-norm-gradient",
        title="`layer_normalization_backward`",
        when="`rms_norm` without `use_global_stats`",
        wrong=(
            "the mean of `scale * diff_dst` is subtracted from `diff_src`, as if the forward pass "
            "had subtracted a mean"
        ),
        instead="`use_global_stats` with the variance of the forward pass",
        met="warned",
        rows=("layer_normalization_backward",),
        warns=rules.rms_without_stats,
        outputs=("diff_src",),
        advice=(
            "diff_src is wrong with rms_norm unless use_global_stats is set: oneDNN subtracts a "
            "mean that the forward pass did not subtract"
        ),
    ),
    Fault(
        "lrn-overflow",
        title="`lrn_forward`",
        when=(
            "`lrn_jit`, `jit`, `k + alpha * mean of squares` of 7e12 or more: inputs of 5e8 or "
            "more with `alpha` 1e-4 and `local_size` 5"
        ),
        wrong="0: the third power of the denominator overflows",
        instead="`ref`, or smaller inputs",
        met="warned",
        rows=("lrn_forward",),
        warns=rules.overflowing_lrn,
        advice=(
            "results are 0 where k + alpha * mean of squares is 7e12 or more (inputs of 5e8 or "
            "more with alpha 1e-4 and local_size 5): its third power overflows; limit the inputs, "
            "or use the implementation `ref` (next_impl)"
        ),
    ),
    Fault(
        "lrn-bf16-channels",
        title="`lrn_backward`",
        when="bf16, `lrn_jit`, channels last, number of channels not a multiple of 16",
        wrong="small gradients are wrong where `diff_dst` is 0",
        instead="f32, another layout, or padded channels",
        met="warned",
        rows=("lrn_backward",),
        warns=rules.odd_bf16_channels,
        outputs=("diff_src",),
        advice=(
            "small bf16 gradients are wrong where diff_dst is 0 unless the number of channels "
            "is a multiple of 16"
        ),
    ),
    Fault(
        "lstm-signed-states",
        title="`lstm_forward`",
        when="s8 (not u8) states where `ref` is selected, that is without AMX",
        wrong="negative states become 0",
        instead="u8",
        met="left",
        rows=("lstm_forward",),
        outputs=("dst_*",),
    ),
    Fault(
        "lstm-bf16-projection",
        title="`lstm_forward`, `lstm_backward`",
        when=(
            "bf16 with a projection: inference with weights `any` (`brgemm`), and every backward"
        ),
        wrong="values",
        instead="f32; for the forward pass, plain `ldigo` weights",
        met="left",
        rows=("lstm_forward", "lstm_backward"),
        outputs=("dst_*", "diff_*"),
    ),
    Fault(
        "lrn-wide-window",
        title="`lrn_backward`",
        when="f32, `lrn_jit`, channels last, `local_size` of 7 or more, 17, 31 or 33 channels",
        wrong="`diff_src`",
        instead="another layout",
        met="left",
        rows=("lrn_backward",),
        outputs=("diff_src",),
    ),
    Fault(
        "conv-bf16-padded-depth",
        title="`convolution_backward_weights`",
        when=(
            "bf16, `jit_bf16`, three spatial dimensions, depth or height padded and smaller "
            "than the kernel"
        ),
        wrong="the result depends on uninitialized memory",
        instead="f32",
        met="left",
        rows=("convolution_backward_weights",),
        outputs=("diff_weights",),
    ),
    Fault(
        "conv-bf16-lone-window",
        title="`convolution_backward_weights`",
        when="bf16, `jit_bf16`, one input channel, one window, stride larger than the padded size",
        wrong="reads past the end of `src`",
        instead="a smaller stride",
        met="left",
        rows=("convolution_backward_weights",),
        outputs=("diff_weights",),
    ),
    Fault(
        "reorder-masked",
        title="`reorder`",
        when="`jit:uni`, zero points with a mask; dst scales along axes that are not adjacent",
        wrong="only the first zero point is used; values",
        instead="one axis at a time, or `binary`",
        met="left",
        rows=("reorder",),
        outputs=("dst",),
    ),
    Fault(
        "reorder-to-4-bits",
        title="`reorder`",
        when="s8 to s4 or u4, bf16 to s4 (`jit_direct_copy`)",
        wrong="the result is zero",
        instead="by way of f32",
        met="left",
        rows=("reorder",),
        outputs=("dst",),
    ),
    Fault(
        "binary-later-operands",
        title="`binary`",
        when="`jit:uni`, eltwise post-op, then two binary post-ops, the first of shape (1, 1, C)",
        wrong="the values of the other operand are used for that one",
        instead="put a binary post-op first",
        met="left",
        rows=("binary",),
        outputs=("dst",),
        post_ops=rules.two_rows,
    ),
    Fault(
        "prelu-bf16-slopes",
        title="`convolution_forward`, `matmul`",
        when="prelu post-op with bf16 slopes, which are accepted but read as f32",
        wrong="values",
        instead="f32 slopes",
        met="left",
        rows=("convolution_forward", "matmul"),
    ),
    Fault(
        "eltwise-nan",
        title="`eltwise_forward`",
        when=(
            "`exp`, `clip` and `relu` of NaN; `mish` backward above 1e18; `gelu_erf` near the "
            "largest number"
        ),
        wrong="inf or a bound in place of NaN; inf for the other two",
        instead="check for NaN first",
        met="left",
        rows=("eltwise_forward",),
    ),
    Fault(
        "log-accuracy",
        title="`eltwise_forward`, `softmax_forward`",
        when="`log`, `softmax_log`",
        wrong="errors of up to 4e-6: log(1) is 1.3e-6",
        instead="compute values near 1 by other means",
        met="left",
        rows=("eltwise_forward", "softmax_forward"),
    ),
    Fault(
        "dropout-neighbors",
        title="any primitive with `set_dropout`",
        when="CPU",
        wrong="groups of four neighbors are kept or dropped together",
        instead="generate the mask yourself, as `functional.dropout` does",
        met="left",
        rows=ANY,
    ),
    Fault(
        "deconvolution-halved-weights",
        title="`deconvolution_forward`",
        when=(
            "s8 source, `jit_uni_int8:avx2` on a CPU with VNNI: for example, groups and a sum after"
            " another post-op"
        ),
        wrong="weights lose their last bit, as on CPUs without VNNI (`int8-saturation`)",
        instead="put the sum first, which selects another implementation",
        met="left",
        rows=("deconvolution_forward",),
        outputs=("dst",),
    ),
    Fault(
        "deconvolution-doubled",
        title="`deconvolution_forward`",
        when=(
            "s8 source, strides, AVX-512 without VNNI (`brg_deconv` over "
            "`brgconv_strided:avx512_core`)"
        ),
        wrong="values twice as large",
        instead="u8 source",
        met="warned",
        rows=("deconvolution_forward",),
        warns=rules.doubled,
        outputs=("dst",),
        advice=(
            "with an s8 source and strides, results are twice as large on CPUs with AVX-512 but no"
            " VNNI; use a u8 source"
        ),
    ),
    Fault(
        "matmul-found-scales",
        title="`matmul`",
        when="`dst` scales computed by oneDNN (`dynamic_mx`, `dynamic_fp`), float8 results",
        wrong=(
            "the largest value of a group may exceed the type's maximum: NaN in e4m3, inf in"
            " e5m2; `dynamic_fp` scales that round to 0 or NaN (groups below 0.5 of 448, above "
            "448 * 448, and so on) do the same to the group"
        ),
        instead="scales that you provide; or a float32 result, then clipped and converted",
        met="warned",
        rows=("matmul",),
        until="3.14.0",
        warns=rules.found_scales,
        outputs=("dst",),
        advice=(
            "with scales computed by oneDNN, the largest values of a float8 result become NaN or "
            "infinity instead of the type's maximum; write float32, clip and convert it, or "
            "provide scales"
        ),
    ),
    Fault(
        "pooling-operand",
        title="`pooling_forward`",
        when="row-major, `jit`, binary post-op with an operand of the shape of `dst`",
        wrong="reads the operand at the offsets of another layout, in part past its end",
        instead="channels last, or a separate operation after pooling",
        met="left",
        rows=("pooling_forward",),
        outputs=("dst",),
        post_ops=rules.whole_operand,
        partition=rules.pooled_operand,
    ),
    Fault(
        "resampling-pixel",
        title="`resampling_forward`, `resampling_backward`",
        when="images of one pixel, `jit`: the stride of the last axis is used for the channels",
        wrong="writes past the end of `dst`; wrong channels in gradients; its cache spreads both",
        instead="the strides of channels-last images, which descriptors get automatically",
        met="rerouted",
        rows=("resampling_forward", "resampling_backward"),
        partition=rules.resized_pixel,
    ),
    Fault(
        "norm-backward-data-outputs",
        title="`batch_normalization_backward`, `group_normalization_backward`",
        when="`backward_data` with `use_scale` or `use_shift`",
        wrong="requires gradients of scale and shift as outputs: executing without them fails",
        instead="pass `diff_scale` and `diff_shift`, or use `prop_kind.backward`",
        met="left",
        rows=("batch_normalization_backward", "group_normalization_backward"),
    ),
    Fault(
        "lstm-projection-unwritten",
        title="`lstm_forward`",
        when=(
            "inference with a projection, `weights_layer` `any`, `weights_projection` row-major"
            " (`ref`)"
        ),
        wrong="nothing is written",
        instead="all weights `any`, or all row-major",
        met="left",
        rows=("lstm_forward",),
    ),
    Fault(
        "graph-quantize-race",
        title="graph partitions with `Quantize` or `Dequantize`",
        when="more than one scale or zero point given as an attribute",
        wrong=(
            "their copies wait neither for each other nor for the inputs: occasionally the values "
            "of an earlier partition are used (2 of 5,000 on a busy CPU, most calls on a GPU)"
        ),
        instead="an in-order queue, on which such partitions run",
        met="rerouted",
        rows=ANY,
    ),
    Fault(
        "float8-double-rounding",
        title="`reorder` to float8",
        when="always",
        wrong="rounds twice, through f16: 7.25005 becomes 7 in e4m3",
        instead="none",
        met="left",
        rows=("reorder",),
    ),
    Fault(
        "int8-saturation",
        title="`convolution_forward`, `deconvolution_forward`, `inner_product_forward`, `matmul`",
        when="products of u8 or s8 and s8 on CPUs without VNNI, all but `ref`",
        wrong=(
            "products are added in pairs with 16-bit saturation; weights for an s8 source lose "
            "their last bit in convolutions"
        ),
        instead="`ref`, smaller numbers, or float32, as `functional` and `graph` use",
        met="warned",
        rows=("convolution_forward", "deconvolution_forward", "inner_product_forward", "matmul"),
        warns=rules.saturating,
        outputs=("dst",),
        advice=(
            "products of 8-bit integers are added in pairs with 16-bit saturation on CPUs without "
            "VNNI (and weights lose their last bit in convolutions of s8); use `ref` (next_impl), "
            "numbers of at most 64, or float32"
        ),
    ),
)

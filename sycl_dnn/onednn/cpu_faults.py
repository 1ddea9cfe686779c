# SPDX-License-Identifier: Apache-2.0
"""Faults of oneDNN's kernels for CPUs: wrong values, which programs are warned of or led around."""

from __future__ import annotations

from sycl_dnn.onednn import fault as rules
from sycl_dnn.onednn import faulty_cases as cases
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
        explains=cases.pointwise,
        outputs=("dst",),
        advice=(
            "a 1x1 kernel with row-major weights (O, I) is read as (I, O); ask for weights `any`"
        ),
    ),
    Fault(
        "inner-product-order",
        title="`inner_product_forward`",
        when=(
            "channels-last source, weights (I, *S, O) (`bca`, `bcda`), which `any` gives for "
            "int8 on CPUs without AVX-512; run as `brg_matmul` or `gemm:jit`"
        ),
        wrong="weights are read as (*S, I, O)",
        instead="weights in the order of the source (`acb`, `acdb`)",
        met="warned",
        rows=("inner_product_forward",),
        warns=rules.other_order,
        explains=cases.other_order,
        outputs=("dst",),
        advice=(
            "weights are read in the order of the source's axes, channels last, and lie in "
            "another one; lay them out like the source (`acdb`), not as (I, *S, O)"
        ),
    ),
    Fault(
        "rnn-no-initial-state",
        title="`vanilla_rnn_backward`, `lstm_backward`",
        when="no `src_iter`, left to right",
        wrong="`diff_weights_iter`: the first output stands in for the zero initial state",
        instead="a `src_iter` (and `src_iter_c`) of zeros",
        met="warned",
        rows=("vanilla_rnn_backward", "lstm_backward"),
        warns=rules.no_initial_state,
        advice=(
            "diff_weights_iter is wrong without src_iter: the first output stands in for the "
            "zero initial state; give a src_iter (and src_iter_c) of zeros"
        ),
    ),
    Fault(
        "rnn-strided-source",
        title="`vanilla_rnn_backward`, `lstm_backward`, `gru_backward`, `lbr_gru_backward`",
        when=(
            "`ref`, left to right, steps of `src_layer` do not follow each other (batch first, "
            "a part of an array) but those of `dst_layer` do"
        ),
        wrong=(
            "`diff_weights_layer` is read from memory of others; with one sample oneDNN's cache"
            " takes this primitive for dense layers, too"
        ),
        instead="reorder `src_layer` to a row-major one",
        met="warned",
        rows=("vanilla_rnn_backward", "lstm_backward", "gru_backward", "lbr_gru_backward"),
        warns=rules.strided_source,
        explains=cases.strided_source,
        outputs=("diff_weights_layer",),
        advice=(
            "diff_weights_layer is wrong when steps of src_layer do not follow each other "
            "(batch first, or a part of an array) but those of dst_layer do; reorder src_layer "
            "to a row-major one. For one sample oneDNN's cache then takes the wrong primitive "
            "for dense layers, too"
        ),
    ),
    Fault(
        "augru-gradients",
        title="`augru_backward`, `lbr_augru_backward`",
        when="always",
        wrong=(
            "not the gradients of the forward pass; with attention 0 only "
            "`diff_augru_attention` is off"
        ),
        instead="none",
        met="warned",
        rows=("augru_backward", "lbr_augru_backward"),
        warns=rules.always,
        explains=rules.always,
        outputs=("diff_*",),
        advice=(
            "the gradients are not those of the forward pass (diff_augru_attention is off even "
            "where the attention is 0, the others where it is not)"
        ),
    ),
    Fault(
        "rms-norm-gradient",
        title="`layer_normalization_backward`",
        when="`rms_norm` without `use_global_stats`",
        wrong=(
            "`diff_src` loses the mean of `scale * diff_dst`, as if the forward pass had "
            "subtracted a mean"
        ),
        instead="`use_global_stats` with the variance of the forward pass",
        met="warned",
        rows=("layer_normalization_backward",),
        warns=rules.rms_without_stats,
        explains=cases.rms,
        outputs=("diff_src",),
        advice=(
            "diff_src is wrong with rms_norm unless use_global_stats is set: a mean is "
            "subtracted that the forward pass did not subtract"
        ),
    ),
    Fault(
        "lrn-overflow",
        title="`lrn_forward`",
        when=(
            "`lrn_jit`, `k + alpha * mean of squares` from 7e12 on: inputs from 5e8 on with "
            "`alpha` 1e-4 and `local_size` 5"
        ),
        wrong="0: the third power of the denominator overflows",
        instead="`ref`, or smaller inputs",
        met="warned",
        rows=("lrn_forward",),
        warns=rules.overflowing_lrn,
        advice=(
            "results are 0 where k + alpha * mean of squares is 7e12 or more (inputs from 5e8 on "
            "with alpha 1e-4 and local_size 5): its third power overflows; bound the inputs, or "
            "take the implementation `ref` (next_impl)"
        ),
    ),
    Fault(
        "lrn-narrow-window",
        title="`lrn_backward`",
        when="`lrn_jit`, channels last or one channel, `local_size` 1 or 2",
        wrong="making the primitive ends the process",
        instead="`ref`",
        met="rerouted",
        rows=("lrn_backward",),
        refused_by="fatal_prefix",
    ),
    Fault(
        "lrn-bf16-channels",
        title="`lrn_backward`",
        when="bf16, `lrn_jit`, channels last, channels no multiple of 16",
        wrong="small gradients where `diff_dst` is 0",
        instead="f32, another layout, or padded channels",
        met="warned",
        rows=("lrn_backward",),
        warns=rules.odd_bf16_channels,
        explains=cases.bf16_channels,
        outputs=("diff_src",),
        advice=(
            "small bf16 gradients are wrong where diff_dst is 0 unless the number of channels "
            "is a multiple of 16"
        ),
    ),
    Fault(
        "layer-norm-long-rows",
        title="`layer_normalization_forward`, `_backward`",
        when="`jit:uni`, rows beyond 2**22 elements",
        wrong="its code repeats itself for each vector of a row: 11 s and 1.6 GB for 2**26",
        instead="another implementation",
        met="rerouted",
        rows=("layer_normalization_forward", "layer_normalization_backward"),
        refused_by="fatal_prefix",
    ),
    Fault(
        "layer-norm-one-row",
        title="`layer_normalization_forward`",
        when="`jit:uni`, shape (N, 1, C), binary post-op of shape (1, 1, C)",
        wrong="the first 16 values of the operand repeat along the row",
        instead="shape (N, C)",
        met="left",
        rows=("layer_normalization_forward",),
        explains=cases.repeated_operand,
        outputs=("dst",),
    ),
    Fault(
        "lstm-signed-states",
        title="`lstm_forward`",
        when="s8 (not u8) states where `ref` is taken, that is without AMX",
        wrong="negative states come out as 0",
        instead="u8",
        met="left",
        rows=("lstm_forward",),
        explains=cases.signed_lstm,
        outputs=("dst_*",),
    ),
    Fault(
        "lstm-bf16-projection",
        title="`lstm_forward`, `lstm_backward`",
        when=(
            "bf16 with a projection: inference with weights `any` (`brgemm`), and every backward"
        ),
        wrong="values",
        instead="f32; plain `ldigo` weights forward",
        met="left",
        rows=("lstm_forward", "lstm_backward"),
        explains=cases.bf16_projection,
        outputs=("dst_*", "diff_*"),
    ),
    Fault(
        "lrn-wide-window",
        title="`lrn_backward`",
        when="f32, `lrn_jit`, channels last, `local_size` from 7 on, 17, 31 or 33 channels",
        wrong="`diff_src`",
        instead="another layout",
        met="left",
        rows=("lrn_backward",),
        explains=cases.wide_lrn,
        outputs=("diff_src",),
    ),
    Fault(
        "conv-bf16-padded-depth",
        title="`convolution_backward_weights`",
        when=(
            "bf16, `jit_bf16`, three spatial dimensions, depth or height padded and smaller "
            "than the kernel"
        ),
        wrong="depends on memory that nobody has written",
        instead="f32",
        met="left",
        rows=("convolution_backward_weights",),
        explains=cases.padded_depth,
        outputs=("diff_weights",),
    ),
    Fault(
        "conv-bf16-lone-window",
        title="`convolution_backward_weights`",
        when="bf16, `jit_bf16`, one input channel, one window, stride beyond the padded size",
        wrong="reads past the end of `src`",
        instead="a stride within it",
        met="left",
        rows=("convolution_backward_weights",),
        explains=cases.lone_window,
        outputs=("diff_weights",),
    ),
    Fault(
        "reorder-masked",
        title="`reorder`",
        when="`jit:uni`, zero points with a mask; dst scales along axes that are no neighbours",
        wrong="only the first zero point counts; values",
        instead="one at a time, or `binary`",
        met="left",
        rows=("reorder",),
        explains=cases.masked_reorder,
        outputs=("dst",),
    ),
    Fault(
        "reorder-to-4-bits",
        title="`reorder`",
        when="s8 to s4 or u4, bf16 to s4 (`jit_direct_copy`)",
        wrong="the result stays zero",
        instead="through f32",
        met="left",
        rows=("reorder",),
        explains=cases.four_bit_copy,
        outputs=("dst",),
    ),
    Fault(
        "binary-later-operands",
        title="`binary`",
        when="`jit:uni`, eltwise post-op, then two binary post-ops, the first of shape (1, 1, C)",
        wrong="that operand reads the values of the other one",
        instead="a binary post-op first",
        met="left",
        rows=("binary",),
        explains=cases.later_operands,
        outputs=("dst",),
        post_ops=rules.two_rows,
    ),
    Fault(
        "binary-lone-pixels",
        title="`binary`",
        when=(
            "post-op of shape (1, C, 1...), all spatial sizes 1, N > 1; s8 or u8 results with "
            "broadcast post-ops"
        ),
        wrong="values",
        instead="no post-op",
        met="left",
        rows=("binary",),
        explains=cases.lone_pixels,
        outputs=("dst",),
        post_ops=rules.channels_of_one_pixel,
    ),
    Fault(
        "binary-inner-axis",
        title="`binary`",
        when="`jit:uni`, channels-last result, post-op of shape (1, 1, 1, W)",
        wrong="values",
        instead="row-major, or axes merged so that W is innermost",
        met="left",
        rows=("binary",),
        explains=cases.inner_axis,
        outputs=("dst",),
        post_ops=rules.last_axis_not_innermost,
    ),
    Fault(
        "prelu-bf16-slopes",
        title="`convolution_forward`, `matmul`",
        when="prelu post-op with bf16 slopes: taken, though slopes are read as f32",
        wrong="values",
        instead="f32 slopes",
        met="left",
        rows=("convolution_forward", "matmul"),
    ),
    Fault(
        "eltwise-nan",
        title="`eltwise_forward`",
        when=(
            "`exp`, `clip`, `relu` of NaN; `mish` backward above 1e18; `gelu_erf` near the "
            "largest number"
        ),
        wrong="inf or a bound in place of NaN; inf",
        instead="check for NaN first",
        met="left",
        rows=("eltwise_forward",),
    ),
    Fault(
        "log-accuracy",
        title="`eltwise_forward`, `softmax_forward`",
        when="`log`, `softmax_log`",
        wrong="off by up to 4e-6, so log(1) is 1.3e-6",
        instead="f32 input near 1 apart",
        met="left",
        rows=("eltwise_forward", "softmax_forward"),
    ),
    Fault(
        "dropout-neighbours",
        title="any, `set_dropout`",
        when="CPU",
        wrong="four neighbours are kept or dropped together",
        instead="draw the mask yourself, as `functional.dropout` does",
        met="left",
        rows=ANY,
    ),
    Fault(
        "deconvolution-halved-weights",
        title="`deconvolution_forward`",
        when=(
            "s8 source, `jit_uni_int8:avx2` on a CPU with VNNI: groups and a sum after another"
            " post-op, for one"
        ),
        wrong="weights lose their last bit, as on CPUs without VNNI (see below)",
        instead="sum first, which leaves it to another implementation",
        met="left",
        rows=("deconvolution_forward",),
        explains=cases.halved_weights,
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
        explains=cases.doubled,
        outputs=("dst",),
        advice=(
            "an s8 source with strides gives twice the values on CPUs with AVX-512 but no VNNI;"
            " take a u8 source"
        ),
    ),
    Fault(
        "matmul-found-scales",
        title="`matmul`",
        when="scales of `dst` that oneDNN finds (`dynamic_mx`, `dynamic_fp`), float8 results",
        wrong=(
            "the largest value of a group may be beyond the type's largest: NaN in e4m3, inf in"
            " e5m2; `dynamic_fp` scales that round to 0 or NaN (groups below 0.5 of 448, above "
            "448 * 448, and so on) do the same to the group"
        ),
        instead="own scales; or a float32 result, clipped and converted after it",
        met="warned",
        rows=("matmul",),
        warns=rules.found_scales,
        explains=cases.found_scales,
        outputs=("dst",),
        advice=(
            "with scales that oneDNN finds, the largest values of a float8 result become NaN or "
            "infinity instead of the type's largest; write float32, clip and convert it, or give "
            "scales"
        ),
    ),
    Fault(
        "pooling-operand",
        title="`pooling_forward`",
        when="row-major, `jit`, binary post-op with an operand of the shape of `dst`",
        wrong="reads the operand at the places of another layout, in part beyond its end",
        instead="channels last, or the operation after it",
        met="left",
        rows=("pooling_forward",),
        explains=cases.whole_operand,
        outputs=("dst",),
        post_ops=rules.whole_operand,
        partition=rules.pooled_operand,
    ),
    Fault(
        "resampling-pixel",
        title="`resampling_forward`, `resampling_backward`",
        when="images of one pixel, `jit`: the stride of the last axis is taken for the channels",
        wrong="writes beyond `dst`; gradients of the wrong channels; its cache spreads both",
        instead="strides as of channels-last images, which descriptors are given of themselves",
        met="rerouted",
        rows=("resampling_forward", "resampling_backward"),
        partition=rules.resized_pixel,
    ),
    Fault(
        "norm-backward-data-outputs",
        title="`batch_normalization_backward`, `group_normalization_backward`",
        when="`backward_data` with `use_scale` or `use_shift`",
        wrong="counts gradients of scale and shift as outputs: executing without them fails",
        instead="hand over `diff_scale` and `diff_shift`, or `prop_kind.backward`",
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
        title="graph partitions with `Quantize` or `Dequantize`, constants of quantisation",
        when="more than one of scales and zero points as attributes",
        wrong=(
            "their copies do not wait for each other nor for inputs: now and then the values of"
            " an earlier partition are used (2 of 5,000 on a busy CPU, most calls on a GPU)"
        ),
        instead="an in-order queue, which partitions are given",
        met="rerouted",
        rows=ANY,
    ),
    Fault(
        "float8-double-rounding",
        title="reorder to float8",
        when="",
        wrong="rounds twice, through f16: 7.25005 becomes 7 in e4m3",
        instead="none",
        met="left",
        rows=("reorder",),
    ),
    Fault(
        "int8-saturation",
        title="products of u8 and s8",
        when="CPUs without VNNI",
        wrong="products are added in pairs, in 16 bits that saturate",
        instead="float32, as `functional` and `graph` take",
        met="rerouted",
        rows=ANY,
    ),
)

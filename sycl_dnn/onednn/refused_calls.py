# SPDX-License-Identifier: Apache-2.0
"""Calls that are refused because they crash on CPUs or access memory out of bounds."""

from __future__ import annotations

from sycl_dnn.onednn import apart
from sycl_dnn.onednn import fault as rules
from sycl_dnn.onednn.fault import ANY, Fault

CELLS = ("vanilla_rnn", "lstm", "gru", "lbr_gru", "augru", "lbr_augru")
RECURRENT = tuple(f"{cell}_{way}" for cell in CELLS for way in ("forward", "backward"))
CONVOLUTIONS = tuple(
    f"{kind}_{way}"
    for kind in ("convolution", "deconvolution")
    for way in ("forward", "backward_data", "backward_weights")
)
PRODUCTS_WITH_BIAS = (
    *(name for name in CONVOLUTIONS if not name.endswith("data")),
    "inner_product_forward",
    "inner_product_backward_weights",
    "matmul",
)
WITH_HALF_BYTES = ("pooling", "prelu", "resampling", "shuffle")
IN_ONE_LAYOUT = "all tensors must be dense and have the same layout"
BIAS_APART = "a bias must be contiguous; pass a dense copy"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "half-bytes",
        title="`binary`, `pooling_*`, `prelu_*`, `reduction`, `resampling_*`, `shuffle_*`",
        when="`ref:any`, an s4 or u4 result; any s4 or u4 tensor of `resampling`",
        wrong=(
            "counts one byte per element: neighbors are overwritten, and `resampling` and "
            "`shuffle` write past the end"
        ),
        instead="s8 or u8, or another type of result",
        met="refused",
        rows=(
            "binary",
            *(f"{kind}_{way}" for kind in WITH_HALF_BYTES for way in ("forward", "backward")),
            "reduction",
        ),
        refuses=rules.half_bytes_made,
        advice="results must have whole bytes, as must all tensors of resampling; pass s8 or u8",
    ),
    Fault(
        "bias-apart",
        title="`convolution_*`, `deconvolution_*`, `inner_product_*`, `matmul`",
        when="a bias or its gradient with gaps (`bias[::2]`; all implementations except `ref:any`)",
        wrong="its elements are assumed to be contiguous",
        instead="a dense bias, which `functional` copies automatically",
        met="refused",
        rows=PRODUCTS_WITH_BIAS,
        refuses=apart.takes_bias_apart,
        advice=BIAS_APART,
    ),
    Fault(
        "layer-norm-apart",
        title="`layer_normalization_*`",
        when="tensors with gaps, or in different layouts",
        wrong="all are read and written with the strides of one of them",
        instead="dense tensors in one layout, as `functional` uses",
        met="refused",
        rows=("layer_normalization_forward", "layer_normalization_backward"),
        refuses=apart.lie_unlike,
        advice=IN_ONE_LAYOUT,
    ),
    Fault(
        "softmax-gradient-apart",
        title="`softmax_backward`",
        when="`ref` over the last axis, tensors with gaps or in different layouts",
        wrong="`diff_src` is written in the layout of `dst`",
        instead="one dense layout",
        met="refused",
        rows=("softmax_backward",),
        refuses=apart.softmax_gradient_apart,
        advice=IN_ONE_LAYOUT,
    ),
    Fault(
        "pooling-gradient-gaps",
        title="`pooling_backward`",
        when="`ref`, `diff_src` with gaps",
        wrong="its last part is not cleared before gradients are added to it",
        instead="a dense `diff_src`",
        met="refused",
        rows=("pooling_backward",),
        refuses=apart.pooled_gradient_apart,
        advice="diff_src must be dense",
    ),
    Fault(
        "graph-vectors-apart",
        title="graph partitions with normalization",
        when="scale, shift, mean or variance with gaps (`scale[::2]`)",
        wrong="assumes that the elements of a vector are contiguous",
        instead="dense vectors, which graphs copy automatically",
        met="rerouted",
        rows=ANY,
        partition=rules.vector_apart,
    ),
    Fault(
        "half-bytes-inside",
        title="`concat`, `matmul`, `reorder`",
        when=(
            "s4 or u4 tensors with an offset in their memory (`Memory.submemory`; `brg_matmul`, "
            "`simple`), or an s4 or u4 result of `concat`"
        ),
        wrong=(
            "counts one byte per skipped element: other elements are read, and elements past "
            "the end are written"
        ),
        instead="separate memory; for `concat`, s8 or u8",
        met="refused",
        rows=("concat", "matmul", "reorder"),
        refuses=rules.half_bytes_inside,
        advice="4-bit tensors must have no offset in their memory, nor be a result of concat",
    ),
    Fault(
        "softmax-wider-gradient",
        title="`softmax_backward`",
        when="`ref`, a padded `diff_dst` that has more bytes than `diff_src`",
        wrong="sets as many bytes of `diff_src` to 0 as `diff_dst` has, past the end",
        instead="`diff_src` in the layout of `diff_dst`",
        met="refused",
        rows=("softmax_backward",),
        refuses=rules.clears_too_much,
        advice="diff_src must have at least as many bytes as the padded diff_dst",
    ),
    Fault(
        "eltwise-six-axes",
        title="`eltwise_forward`, `eltwise_backward`",
        when=(
            "`ref`, six axes or more, with gaps, padding, post-ops, or gradients in another layout "
            "than the data"
        ),
        wrong="iterates over five axes only: leaves elements out, writes others, even past the end",
        instead="dense arrays in one layout, or axes merged, as `functional` does",
        met="refused",
        rows=("eltwise_forward", "eltwise_backward"),
        refuses=apart.eltwise_of_six_axes,
        advice="more than five axes must be dense, in one layout and without post-ops; merge axes",
    ),
    Fault(
        "group-norm-no-spatial",
        title="`group_normalization_forward`",
        when="(N, C) without spatial dimensions",
        wrong="writes outside its arrays",
        instead="`layer_normalization` of (N, groups, C / groups)",
        met="refused",
        rows=("group_normalization_forward",),
        refused_by="check_has_space",
    ),
    Fault(
        "matmul-scales-along-k",
        title="`matmul`",
        when=(
            "scales or zero points of `src` or `weights` along K alone, one for each value of K"
            " (except for weight decompression), or in groups of rows (`src`) or columns "
            "(`weights`)"
        ),
        wrong="read wrongly, or past their end (`brg_matmul`, `gemm:jit`, in part `ref_int8`)",
        instead="a mask of both dimensions, with groups along K",
        met="refused",
        rows=("matmul",),
        refused_by="check_products",
    ),
    Fault(
        "select-condition",
        title="any primitive with a select post-op",
        when="a condition whose shape or layout differs from that of `dst`",
        wrong="read with the strides of `dst`, past its end",
        instead="a condition with the shape and layout of `dst`",
        met="refused",
        rows=ANY,
        refused_by="check_conditions",
    ),
    Fault(
        "select-cache",
        title="any primitive with a select post-op",
        when="two primitives that differ only in the descriptor of the condition",
        wrong="oneDNN's primitive cache considers them equal and returns the first for the second",
        instead="none needed: `select-condition` allows one descriptor for each `dst`",
        met="refused",
        rows=ANY,
        refused_by="check_conditions",
    ),
    Fault(
        "rnn-empty-weights",
        title="`prelu_backward`, RNNs",
        when="weights without elements",
        wrong="the process ends: division by their sizes",
        instead="none",
        met="refused",
        rows=("prelu_backward", *RECURRENT),
        refused_by="refuse_empty_weights",
    ),
    Fault(
        "rnn-no-samples",
        title="RNNs",
        when="no samples",
        wrong="the process ends: division by zero in `brgemm`",
        instead="none",
        met="refused",
        rows=RECURRENT,
        refused_by="refuse_no_samples",
    ),
    Fault(
        "flat-images",
        title="`convolution_*`, `deconvolution_*`, `pooling_*`",
        when="a tensor with fewer than three axes",
        wrong="lists of ndims - 2 numbers are copied before the number of axes is checked",
        instead="three axes or more",
        met="refused",
        rows=(*CONVOLUTIONS, "pooling_forward", "pooling_backward"),
        refused_by="refuse_flat_images",
    ),
    Fault(
        "endless-images",
        title="`convolution_*`, `deconvolution_*`",
        when="a spatial size of 2**30 or more",
        wrong="creating the primitive takes minutes: block sizes are tried one by one",
        instead="smaller images",
        met="refused",
        rows=CONVOLUTIONS,
        refused_by="refuse_endless_images",
    ),
    Fault(
        "inner-product-repeated-rows",
        title="`inner_product_*`",
        when="a source that is broadcast along an axis after the first",
        wrong="the process ends: division by the length of a row",
        instead="a dense copy",
        met="refused",
        rows=(
            "inner_product_forward",
            "inner_product_backward_data",
            "inner_product_backward_weights",
        ),
        refused_by="refuse_repeated_rows",
    ),
    Fault(
        "softmax-unlike-shapes",
        title="`softmax_forward` and `softmax_backward`",
        when="tensors of different shapes, one of them empty",
        wrong=(
            "accepted: the backward pass runs with the shapes of the other tensors; the forward "
            "pass divides by 0 on CPUs, and the process ends (SIGFPE)"
        ),
        instead="equal shapes",
        met="refused",
        rows=("softmax_forward", "softmax_backward"),
        refused_by="refuse_unlike_shapes",
    ),
    Fault(
        "prelu-unlike-weights",
        title="`prelu_backward`",
        when=(
            "`diff_weights` in another layout than `weights` (`ref`), or `src` in another layout "
            "than `diff_dst`"
        ),
        wrong=(
            "gradients are written with the offsets of `weights`, and `src` is read with those of "
            "`diff_dst`, in part out of bounds; on GPUs the process may end"
        ),
        instead="one layout for both",
        met="refused",
        rows=("prelu_backward",),
        refused_by="refuse_unlike_weights",
    ),
    Fault(
        "rnn-weights-scales",
        title="RNNs, reorders of their weights",
        when="fewer weight scales than their mask requires",
        wrong="reads past their end",
        instead="as many as the mask requires",
        met="refused",
        rows=(*RECURRENT, "reorder"),
        refused_by="check_rnn_scales",
    ),
    Fault(
        "matmul-shifted-weights",
        title="`matmul`",
        when=(
            "f32 source, 8- or 4-bit weights with zero points per column or group, on a CPU "
            "without AVX-512 (`brg_matmul:avx2`), unless the weights have unit stride along K"
        ),
        wrong="the process ends on execution (SIGILL)",
        instead="weights with unit stride along K (`ba`), as `functional` uses",
        met="refused",
        rows=("matmul",),
        refuses=rules.shifted_weights_on_avx2,
        advice=(
            "weights with zero points per column or group need unit stride along K (`ba`) on a CPU "
            "without AVX-512"
        ),
    ),
    Fault(
        "conv-narrowed-result",
        title="`convolution_forward`, `deconvolution_forward`",
        when="f32 source, bf16 result, channels last, AVX-512 without BF16 (`brg_conv`)",
        wrong="the process ends on execution (SIGILL)",
        instead="an f32 result, then a reorder",
        met="refused",
        rows=("convolution_forward", "deconvolution_forward"),
        refuses=rules.narrowed_without_bf16,
        advice="a bf16 result of an f32 source needs a CPU with BF16; write f32 and reorder it",
    ),
)

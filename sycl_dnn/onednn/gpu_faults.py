# SPDX-License-Identifier: Apache-2.0
"""Faults of oneDNN's GPU kernels, observed on a simulated GPU or executed by the CPU."""

from __future__ import annotations

from sycl_dnn.onednn import apart
from sycl_dnn.onednn import fault as rules
from sycl_dnn.onednn.fault import Fault
from sycl_dnn.onednn.refused_calls import (
    BIAS_APART,
    IN_ONE_LAYOUT,
    PRODUCTS_WITH_BIAS,
    RECURRENT,
)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "empty-tensors-gpu",
        title=(
            "`batch_normalization_*`, `layer_normalization_*`, `prelu_backward`, `matmul` of "
            "bf16 or f16 over K = 0, all on a GPU"
        ),
        when="a tensor without elements (no samples)",
        wrong="the process ends (SIGSEGV, SIGFPE; seen on a simulated GPU)",
        instead="none",
        met="refused",
        rows=(
            "batch_normalization_forward",
            "batch_normalization_backward",
            "layer_normalization_forward",
            "layer_normalization_backward",
            "prelu_backward",
            "matmul",
        ),
        device="gpu",
        refused_by="refuse_empty_on_gpu",
    ),
    Fault(
        "softmax-rows-gpu",
        title="`softmax_forward`, GPU",
        when=(
            "a plain layout that is neither row-major nor channels-last (`ocl:xe`), or `src` and "
            "`dst` in different layouts; the simulated Arc selects the same kernels"
        ),
        wrong="uses the offsets of a row-major array, or those of `dst`",
        instead="row-major arrays, as `functional` and `graph` use",
        met="warned",
        rows=("softmax_forward",),
        device="gpu",
        warns=rules.other_rows,
        outputs=("dst",),
        partition=rules.softmax_of_other_rows,
        advice="src and dst must both be row-major or both channels last; GPUs read others wrongly",
    ),
    Fault(
        "lstm-no-cell-state-gpu",
        title="`lstm_forward`, GPU",
        when="no `src_iter_c` (`ocl:simple`; the simulated Arc selects it)",
        wrong="the initial cell state is uninitialized memory of the scratchpad or the workspace",
        instead="states of zeros, as `functional` uses",
        met="warned",
        rows=("lstm_forward",),
        device="gpu",
        warns=rules.no_cell_state,
        outputs=("dst_*",),
        advice=(
            "without src_iter_c the initial cell state is uninitialized memory; pass src_iter and "
            "src_iter_c of zeros"
        ),
    ),
    Fault(
        "lstm-no-cell-gradient-gpu",
        title="`lstm_backward`, GPU",
        when=(
            "no `diff_dst_iter_c` or no `src_iter_c` (`ocl:simple`; the simulated Arc and Tiger "
            "Lake select it)"
        ),
        wrong="gradients start from uninitialized memory of the scratchpad or the workspace",
        instead="states and gradients of zeros, as `functional` uses",
        met="warned",
        rows=("lstm_backward",),
        device="gpu",
        warns=rules.no_cell_gradient,
        outputs=("diff_*",),
        advice=(
            "gradients start from uninitialized memory; pass the four states, and "
            "diff_dst_iter and diff_dst_iter_c of zeros"
        ),
    ),
    Fault(
        "reorder-sixteen-apart-gpu",
        title="`reorder`, GPU",
        when=(
            "a last axis of 16 elements that are not contiguous, as `x[:, ::2]` (`ocl:custom`"
            "; the simulated Arc and Tiger Lake select `jit:ir`)"
        ),
        wrong="reads or writes 16 adjacent elements",
        instead="a CPU, as `functional` uses; or a copy by dpnp",
        met="refused",
        rows=("reorder",),
        device="gpu",
        refuses=apart.copies_sixteen_apart,
        advice="rows of 16 elements must be contiguous on GPUs; copy them with dpnp first",
    ),
    Fault(
        "rnn-submemory-gpu",
        title="RNN cells, forward and backward, GPU",
        when=(
            "a tensor with an offset in its memory, made by `Memory.submemory` (`ocl:simple`; "
            "the simulated Arc and Tiger Lake select it)"
        ),
        wrong="the offset is ignored: reads and writes at the beginning of the memory",
        instead="views of arrays, which have their own address, or copies",
        met="refused",
        rows=tuple(
            f"{cell}_{direction}"
            for cell in ("vanilla_rnn", "lstm", "gru", "lbr_gru", "augru", "lbr_augru")
            for direction in ("forward", "backward")
        ),
        device="gpu",
        refuses=rules.begins_inside,
        advice=(
            "GPUs ignore the offset of a part made by submemory; pass "
            "Memory.from_array of a view of the array, or a copy"
        ),
    ),
    Fault(
        "rnn-overwritten-gaps-gpu",
        title="`vanilla_rnn_backward`, `gru_backward`, `lbr_gru_backward`, GPU",
        when=(
            "`diff_weights_overwrite`, gradients of weights with gaps between their rows "
            "(`ocl:simple`; the simulated Arc selects it)"
        ),
        wrong="zeros are written into the gaps",
        instead="dense gradients, then a reorder",
        met="warned",
        rows=("vanilla_rnn_backward", "lstm_backward", "gru_backward", "lbr_gru_backward"),
        device="gpu",
        warns=apart.overwritten_gaps,
        outputs=("diff_weights_*",),
        advice="gaps of diff_weights_layer and diff_weights_iter are overwritten; use dense ones",
    ),
    Fault(
        "eltwise-infinity-gpu",
        title="`eltwise_forward`, GPU",
        when="`relu` of minus infinity (`ocl:xe`; the simulated Arc selects it)",
        wrong="NaN: it is multiplied by a slope of 0",
        instead="`clip_v2` from 0 to infinity, as `functional` uses",
        met="left",
        rows=("eltwise_forward",),
        device="gpu",
    ),
    Fault(
        "eltwise-gaps-gpu",
        title="`eltwise_forward`, `eltwise_backward`, GPU",
        when=(
            "arrays with gaps between their elements, as `x[:, ::2]` (`ocl:xe`, `ocl:ref`; the "
            "simulated Arc and Tiger Lake select the former)"
        ),
        wrong="they are assumed to be dense: gaps are written, the last elements are not",
        instead="dense arrays, as `functional` and `graph` use",
        met="warned",
        rows=("eltwise_forward", "eltwise_backward"),
        device="gpu",
        warns=apart.eltwise_over_gaps,
        outputs=("dst", "diff_src"),
        advice="GPUs assume that arrays are dense; pass dense ones, or reorder",
    ),
    Fault(
        "concat-gaps-gpu",
        title="`concat`, GPU",
        when=(
            "a result with gaps within the part of each source, as `x[:, :8]` along axis 0 "
            "(`ocl:simple:reusable`; the simulated Arc and Tiger Lake select it)"
        ),
        wrong="it is assumed to be dense: gaps are written, the last elements are not",
        instead="a dense result, as `functional` and compiled functions use",
        met="warned",
        rows=("concat",),
        device="gpu",
        warns=apart.concat_over_gaps,
        outputs=("dst",),
        advice="GPUs assume that the rows of dst are dense; pass a dense dst, or reorder",
    ),
    Fault(
        "softmax-six-axes-gpu",
        title="`softmax_forward`, `softmax_backward`, GPU",
        when="six axes or more (`ocl:reusable`, which the simulated Arc selects)",
        wrong="leaves elements out, or ends the process",
        instead="axes merged, as `functional` does",
        met="refused",
        rows=("softmax_forward", "softmax_backward"),
        device="gpu",
        refuses=rules.softmax_of_six_axes,
        partition=rules.softmax_operation_of_six_axes,
        advice="tensors must have at most five axes on GPUs; merge axes",
    ),
    Fault(
        "tensors-apart-gpu",
        title="`layer_normalization_*`, `softmax_backward` (`ocl:simple`), GPU",
        when="tensors with gaps, or in different layouts",
        wrong="some are read or written with the strides of others",
        instead="dense tensors in one layout, as `functional` uses",
        met="refused",
        rows=(
            "layer_normalization_forward",
            "layer_normalization_backward",
            "softmax_backward",
        ),
        device="gpu",
        refuses=apart.lie_unlike_on_gpu,
        advice=IN_ONE_LAYOUT,
    ),
    Fault(
        "reduction-gaps-gpu",
        title="`reduction`, GPU",
        when="a source with gaps (`ocl:combined`, `ocl:reusable`)",
        wrong="it is assumed to be dense",
        instead="a dense source, as `functional` uses",
        met="refused",
        rows=("reduction",),
        device="gpu",
        refuses=apart.reduced_gaps,
        advice="src must be dense on GPUs",
    ),
    Fault(
        "inner-product-result-gpu",
        title="`inner_product_forward`, GPU",
        when="a result that is not row-major (`ocl:ref`)",
        wrong="it is written as if it were row-major",
        instead="a row-major result",
        met="refused",
        rows=("inner_product_forward",),
        device="gpu",
        refuses=apart.dense_layer_apart,
        advice="dst must be row-major on GPUs",
    ),
    Fault(
        "resampling-gradient-layout-gpu",
        title="`resampling_backward`, GPU",
        when="`diff_src` in another layout than `diff_dst` (`ocl:vectorized`)",
        wrong="it is written in the layout of `diff_dst`",
        instead="one layout for both",
        met="refused",
        rows=("resampling_backward",),
        device="gpu",
        refuses=apart.resized_gradient_apart,
        advice=IN_ONE_LAYOUT,
    ),
    Fault(
        "cell-apart-gpu",
        title="RNNs, GPU",
        when="a bias with gaps, or inputs and weights whose innermost axis is not contiguous",
        wrong="they are assumed to be dense (`ocl:simple`)",
        instead="dense tensors, as `functional` uses",
        met="refused",
        rows=RECURRENT,
        device="gpu",
        refuses=apart.cell_apart,
        advice="bias, inputs and weights must be dense on GPUs",
    ),
    Fault(
        "bias-apart-gpu",
        title="`convolution_*`, `deconvolution_*`, `inner_product_*`, `matmul`, GPU",
        when=(
            "a bias or its gradient with gaps (`ocl:ref`, except for some of `matmul`; machine "
            "code could not be checked)"
        ),
        wrong="its elements are assumed to be contiguous",
        instead="a dense bias, which `functional` copies automatically",
        met="refused",
        rows=PRODUCTS_WITH_BIAS,
        device="gpu",
        refuses=apart.takes_bias_apart,
        advice=BIAS_APART,
    ),
    Fault(
        "rms-norm-gradient-gpu",
        title="`layer_normalization_backward`, GPU",
        when=(
            "`rms_norm` without `use_global_stats` (`ocl:ref`, which the simulated Arc, DG1 and "
            "Tiger Lake select, and `ocl:vectorized` of Xe-HPC and Xe2)"
        ),
        wrong=(
            "the mean of `scale * diff_dst` is subtracted from `diff_src`, as if the forward pass "
            "had subtracted a mean"
        ),
        instead="`use_global_stats` with the variance of the forward pass, as `functional` uses",
        met="warned",
        rows=("layer_normalization_backward",),
        device="gpu",
        warns=rules.rms_without_stats,
        outputs=("diff_src",),
        advice=(
            "diff_src is wrong on GPUs with rms_norm unless use_global_stats is set: oneDNN "
            "subtracts a mean that the forward pass did not subtract"
        ),
    ),
    Fault(
        "sum-shifted-factors-gpu",
        title="`sum`, GPU",
        when=(
            "factors that differ (`ocl:many_inputs`; the simulated Arc and Tiger Lake select "
            "another implementation)"
        ),
        wrong="each input is multiplied by the factor of the input before it",
        instead="`binary` additions with scales, as `functional` uses",
        met="warned",
        rows=("sum",),
        device="gpu",
        warns=rules.shifted_factors,
        outputs=("dst",),
        advice=(
            "inputs are multiplied by the factors of their predecessors; add with binary primitives"
        ),
    ),
    Fault(
        "matmul-blocked-twice-gpu",
        title="`matmul`, GPU",
        when=(
            "weights with two blocks along K, as `BA16a16b4a` (`ocl:ref`; the simulated Arc and "
            "Tiger Lake select it)"
        ),
        wrong="values, in part read past the end of the weights",
        instead="row-major weights, or `any`",
        met="refused",
        rows=("matmul",),
        device="gpu",
        refuses=rules.blocked_twice,
        advice="weights must not have two blocks along one axis on GPUs; use row-major or any",
    ),
    Fault(
        "lrn-padding-gpu",
        title="`lrn_forward`, `lrn_backward`, GPU",
        when=(
            "a blocked layout, channels not a multiple of the block (`ocl:ref`; the simulated Arc "
            "and Tiger Lake select it)"
        ),
        wrong="the padding of the result is not zero",
        instead="a plain layout",
        met="warned",
        rows=("lrn_forward", "lrn_backward"),
        device="gpu",
        warns=rules.unwritten_padding,
        outputs=("dst", "diff_src"),
        advice="the padding of a blocked result is not written; use a plain layout",
    ),
    Fault(
        "prelu-nothing-gpu",
        title="`prelu_forward`, GPU",
        when="a tensor without elements (`ocl:ref`; the simulated Arc and Tiger Lake select it)",
        wrong="a kernel is launched all the same, which may end the process",
        instead="nothing is executed, which the binding ensures",
        met="rerouted",
        rows=("prelu_forward",),
        device="gpu",
    ),
    Fault(
        "select-spread-condition-gpu",
        title="`binary` (`select`) and partitions with `Select`, GPU",
        when=(
            "a condition in another shape or layout than `dst`, all else like `dst` or one "
            "number (`ocl:xe`, `ocl:simple`; the simulated Arc selects them)"
        ),
        wrong="reads the condition with the strides of the result, past its end",
        instead="a condition with the shape and layout of `dst`, as `functional` uses",
        met="refused",
        rows=("binary",),
        device="gpu",
        refuses=rules.condition_elsewhere,
        partition=rules.spread_condition,
        advice="the condition must have the shape and layout of dst on GPUs",
    ),
)

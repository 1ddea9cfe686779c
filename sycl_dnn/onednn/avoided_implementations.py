# SPDX-License-Identifier: Apache-2.0
"""CPU implementations that are skipped because they crash, or because others are correct."""

from __future__ import annotations

from sycl_dnn.onednn import avoidance as rules
from sycl_dnn.onednn import fault
from sycl_dnn.onednn.fault import Fault

FAULTS: tuple[Fault, ...] = (
    Fault(
        "lrn-narrow-window",
        title="`lrn_backward`",
        when="`lrn_jit`, channels last or one channel, `local_size` 1 or 2",
        wrong="creating the primitive ends the process",
        instead="`ref`",
        met="rerouted",
        rows=("lrn_backward",),
        avoids=rules.narrow_window,
    ),
    Fault(
        "conv-narrow-strided-weights",
        title="`convolution_backward_weights`, `deconvolution_backward_weights`",
        when=(
            "`jit_1x1`, strides, fewer input channels (of a group; of transposed convolutions "
            "output channels) than a register holds: 8 with AVX2, 16 with AVX-512"
        ),
        wrong=(
            "`diff_weights` contains products with uninitialized memory, or the process ends or "
            "hangs (upstream issue 6035; AVX-512 by its definition, not tried)"
        ),
        instead="another implementation; graphs refuse the operation",
        met="rerouted",
        rows=("convolution_backward_weights", "deconvolution_backward_weights"),
        avoids=rules.copied_narrow_channels,
        partition=fault.narrow_strided_weights,
    ),
    Fault(
        "layer-norm-long-rows",
        title="`layer_normalization_forward`, `_backward`",
        when="`jit:uni`, rows of more than 2**22 elements",
        wrong="the generated code is unrolled over the whole row: 11 s and 1.6 GB for 2**26",
        instead="another implementation",
        met="rerouted",
        rows=("layer_normalization_forward", "layer_normalization_backward"),
        avoids=rules.long_rows,
    ),
    Fault(
        "post-op-operands",
        title="`binary`, `matmul`, `softmax_forward`",
        when=(
            "binary post-op along some axes, it or the result not row-major (or per channel of "
            "images of one pixel, or 8-bit results of `binary`); `ref` of `softmax` along a dense "
            "last axis, also with an operand of every element"
        ),
        wrong="operands are read as if the result were row-major: values, or the process ends",
        instead="another implementation; without one, refused: use a separate `binary`",
        met="rerouted",
        rows=("binary", "matmul", "softmax_forward"),
        avoids=rules.finds_operands_elsewhere,
        post_ops=rules.misplaced,
        partition=rules.softmax_of_one_pixel,
    ),
    Fault(
        "layer-norm-post-op-operands",
        title="`layer_normalization_forward`",
        when=(
            "`jit:uni`, `simple:any`, binary post-op along some axes, rows not in row-major order "
            "(or shape (N, 1, C))"
        ),
        wrong="operands are read as if the rows were in order: values, or the process ends",
        instead="`ref:any`",
        met="rerouted",
        rows=("layer_normalization_forward",),
        avoids=rules.rows_find_operands_elsewhere,
        post_ops=rules.misplaced_in_rows,
    ),
    Fault(
        "prelu-slopes-between",
        title="`prelu_forward`, `prelu_backward`",
        when="`jit_uni`, one slope per channel, a spatial axis outside of the channels (`adbc`)",
        wrong="slopes of other channels are used",
        instead="`ref:any`",
        met="rerouted",
        rows=("prelu_forward", "prelu_backward"),
        avoids=rules.slopes_elsewhere,
    ),
    Fault(
        "prelu-slopes-of-rows",
        title="`prelu_backward`",
        when="`ref:any`, images (N, C, H, W) with slopes (1, C, H, 1), also of one channel",
        wrong="nothing is written",
        instead="no other implementation takes them: slopes (1, C, H, W)",
        met="rerouted",
        rows=("prelu_backward",),
        avoids=rules.slopes_of_rows,
    ),
    Fault(
        "matmul-lone-batch",
        title="`matmul`",
        when=(
            "`brg_matmul`, a batch axis of length 1 whose stride is smaller than the other axes "
            "extend (weights (1, B, K, N) as `dabc`)"
        ),
        wrong="the stride of that axis is used as that of the rows",
        instead="the stride of a dense array, as memory over arrays has; another implementation",
        met="rerouted",
        rows=("matmul",),
        avoids=rules.strided_lone_batch,
    ),
    Fault(
        "matmul-mask-of-batches",
        title="`matmul`",
        when=(
            "`brg_matmul` in AMX tiles (bf16, int8), a result of four axes, binary post-op by an "
            "operand (1, 1, M, N), as masks of attention are"
        ),
        wrong="elements of other rows of the operand are used",
        instead="another implementation; three axes or an operand (1, B, M, N) are right",
        met="rerouted",
        rows=("matmul",),
        avoids=rules.mask_of_two_batch_axes,
        partition=rules.mask_operation_of_two_batch_axes,
    ),
    Fault(
        "deconv-gaps",
        title="`deconvolution_forward`",
        when=(
            "`brg_deconv` in AMX tiles (bf16, int8), a stride larger than the kernel, which leaves "
            "elements between the windows"
        ),
        wrong="those elements are 0, without bias and post-ops",
        instead="another implementation",
        met="rerouted",
        rows=("deconvolution_forward",),
        avoids=rules.gaps_between_windows,
    ),
    Fault(
        "int8-cells-in-tiles",
        title="`lstm_forward`, `gru_forward`",
        when="`brgemm` in AMX tiles, signed int8 (s8) sequences",
        wrong="all results",
        instead="another implementation; u8 sequences are right",
        met="rerouted",
        rows=("lstm_forward", "gru_forward"),
        avoids=rules.signed_cells_in_tiles,
    ),
    Fault(
        "binary-lone-axis",
        title="`binary`",
        when=(
            "`jit:uni`, a permuted first operand with an axis of length 1 whose stride is larger "
            "than the previous one's, a second one that broadcasts"
        ),
        wrong=(
            "nothing is written; oneDNN's primitive cache then returns the same primitive for "
            "row-major tensors of that shape"
        ),
        instead="the strides of a dense array, as memory over arrays has; `ref:any`",
        met="rerouted",
        rows=("binary",),
        avoids=rules.spread_over_no_order,
        until="3.14.0",
    ),
)

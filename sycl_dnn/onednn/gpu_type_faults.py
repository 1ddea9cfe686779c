# SPDX-License-Identifier: Apache-2.0
"""Faults of oneDNN's GPU kernels that depend on data types; observed as in ``gpu_faults``."""

from __future__ import annotations

from sycl_dnn.onednn import fault as rules
from sycl_dnn.onednn.fault import Fault

FAULTS: tuple[Fault, ...] = (
    Fault(
        "lstm-bf16-cell-gpu",
        title="`lstm_forward`, GPU",
        when="bf16 with a bf16 `dst_iter_c`",
        wrong="the kernel does not compile (seen on simulated GPUs)",
        instead="f32 cell state",
        met="left",
        rows=("lstm_forward",),
        device="gpu",
    ),
    Fault(
        "lstm-integers-gpu",
        title="`lstm_forward`, GPU",
        when=(
            "8-bit integers (`ocl:simple`; the simulated Arc, DG1 and Tiger Lake select it and "
            "request the same from machine code; fixed in oneDNN's sources after 3.13)"
        ),
        wrong=(
            "values: the two types of its products are swapped, so bytes of negative "
            "weights count 256 too much, and states of 128 or more 256 too little"
        ),
        instead="floats",
        met="refused",
        rows=("lstm_forward",),
        device="gpu",
        refuses=rules.integer_cell,
        advice="GPUs read 8-bit weights as unsigned and states as signed; use floats, or a CPU",
    ),
    Fault(
        "rnn-weights-of-integers-gpu",
        title="`reorder` to 8-bit weights of an LSTM, GPU",
        when="from s8 (`cross_engine::rnn`)",
        wrong="the kernel does not compile",
        instead="from f32",
        met="left",
        rows=("reorder",),
        device="gpu",
    ),
    Fault(
        "half-bytes-gpu",
        title="`concat`, `resampling_*`, `shuffle_*`, GPU",
        when=(
            "4-bit tensors (`ocl:simple:reusable`, `ocl:ref`, `reorder-based`; the simulated Arc "
            "and Tiger Lake select them)"
        ),
        wrong=(
            "counts one byte per element and writes past the end, or has no kernel; `shuffle` "
            "ends the process on the executing GPU"
        ),
        instead="s8 or u8",
        met="refused",
        rows=(
            "concat",
            "resampling_forward",
            "resampling_backward",
            "shuffle_forward",
            "shuffle_backward",
        ),
        device="gpu",
        refuses=rules.half_bytes,
        advice="elements must have whole bytes on GPUs; use s8 or u8",
    ),
    Fault(
        "layer-norm-narrow-statistics-gpu",
        title="`layer_normalization_*`, GPU",
        when=(
            "`stat` of f16 or bf16 (`ocl:reusable:ref`; the simulated Arc selects it; CPUs refuse "
            "it, as the guide says)"
        ),
        wrong="mean and variance are read and written as f32, past the end of their memory",
        instead="`stat` of f32",
        met="refused",
        rows=("layer_normalization_forward", "layer_normalization_backward"),
        device="gpu",
        refuses=rules.narrow_statistics,
        advice="stat must be f32",
    ),
    Fault(
        "matmul-found-scales-gpu",
        title="`matmul`, GPU",
        when=(
            "`dst` scales computed by oneDNN (`dynamic_mx`, `dynamic_fp`), float8 results "
            "(`ocl:ref`; the simulated Arc and Tiger Lake select it)"
        ),
        wrong=(
            "values of a group that still exceed the type's maximum after scaling are NaN in e4m3, "
            "inf in e5m2, as on CPUs; in e4m3 with MX those from 464 to 512 times the scale"
        ),
        instead="scales that you provide; or a float32 result, then clipped and converted",
        met="warned",
        rows=("matmul",),
        device="gpu",
        warns=rules.found_scales,
        outputs=("dst",),
        advice=(
            "with scales computed by oneDNN, the largest values of a float8 result become NaN or "
            "infinity instead of the type's maximum; write float32, clip and convert it, or "
            "provide scales"
        ),
    ),
    Fault(
        "conv-sum-type-gpu",
        title="`convolution_forward`, GPU",
        when=(
            "a `sum` post-op with its own data type (`ocl:ref`; the simulated Arc and Tiger "
            "Lake select machine code)"
        ),
        wrong="the summand is read as the type of `dst`",
        instead="a `binary_add` post-op",
        met="warned",
        rows=("convolution_forward",),
        device="gpu",
        warns=rules.sum_of_other_type,
        outputs=("dst",),
        advice="the data type of a sum post-op is ignored; add with a binary post-op",
    ),
    Fault(
        "doubles-in-float-gpu",
        title="all but convolutions, products, pools, `softmax_forward`, and copies, GPU",
        when=(
            "f64, and these with a bias or post-ops (`ocl:xe`, `ocl:ref`, ...; oneDNN's kernels "
            "in OpenCL C for GPUs with doubles; seen on the executing GPU only)"
        ),
        wrong="computed with the accuracy of f32 (relative errors of 3e-8 to 8e-8)",
        instead="dpnp's own functions",
        met="warned",
        rows=rules.INEXACT_IN_DOUBLES,
        device="gpu",
        warns=rules.doubles_in_float,
        outputs=("dst", "diff_src", "diff_weights"),
        advice=(
            "GPUs compute f64 with the accuracy of f32 in it; use dpnp's functions, or convert "
            "with astype('float32')"
        ),
    ),
)

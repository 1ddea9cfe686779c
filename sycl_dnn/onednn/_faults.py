# SPDX-License-Identifier: Apache-2.0
"""Warn where oneDNN 3.13 is known to compute something wrong.

Each fault was found against float64 references on the CPU; docs/onednn_in_python.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn import _core
from sycl_dnn._warn import warn
from sycl_dnn.errors import OneDnnFaultWarning

_LEFT_TO_RIGHT = _core.rnn_direction.unidirectional_left2right
_RMS = _core.normalization_flags.rms_norm
_GLOBAL = _core.normalization_flags.use_global_stats


def _follow_each_other(desc: Any) -> bool:
    """Whether a step begins one row behind the last row of the step before."""
    steps, samples, _ = desc.dims
    return steps == 1 or desc.strides[0] == samples * desc.strides[1]


def _no_initial_state(pd: Any) -> bool:
    p = pd.parameters
    return p["direction"] is _LEFT_TO_RIGHT and p["src_iter"] is None


def _strided_source(pd: Any) -> bool:
    # Steps of dst_layer decide whether those of src_layer are multiplied as one matrix.
    merged = _follow_each_other(pd.dst_layer_desc) and pd.impl_info.startswith("ref")
    left_to_right = pd.parameters["direction"] is _LEFT_TO_RIGHT
    return left_to_right and merged and not _follow_each_other(pd.src_layer_desc)


def _rms_without_stats(pd: Any) -> bool:
    return bool(pd.flags & _RMS) and not pd.flags & _GLOBAL


def _row_major_pointwise(pd: Any) -> bool:
    weights = pd.weights_desc
    spatial = weights.dims[2:]
    ungrouped = weights.ndims == pd.src_desc.ndims
    if not (ungrouped and set(spatial) == {1} and weights.is_plain):
        return False
    return weights.strides[0] > weights.strides[1] and "ncsp" in pd.impl_info


def _doubled(pd: Any) -> bool:
    is_signed = pd.src_desc.data_type is _core.data_type.s8
    return is_signed and pd.impl_info.endswith("brgconv_strided:avx512_core")


def _other_order(pd: Any) -> bool:
    """Whether weights as a matrix have their rows in another order than columns of the source."""
    src, weights = pd.src_desc, pd.weights_desc
    if not (src.is_plain and weights.is_plain) or "ref" in pd.impl_info:
        return False
    axes = [axis for axis in range(1, src.ndims) if src.dims[axis] > 1]
    first, second = (sorted(axes, key=lambda a: -d.strides[a]) for d in (src, weights))
    return first != second


def _odd_bf16_channels(pd: Any) -> bool:
    src = pd.src_desc
    is_bf16 = src.data_type is _core.data_type.bf16
    return is_bf16 and src.dims[1] % 16 != 0 and "jit" in pd.impl_info


_STATE = (
    _no_initial_state,
    "diff_weights_iter is wrong without src_iter: the first output stands in for the zero initial "
    "state; give a src_iter (and src_iter_c) of zeros",
)
_SOURCE = (
    _strided_source,
    "diff_weights_layer is wrong when steps of src_layer do not follow each other (batch first, or "
    "a part of an array) but those of dst_layer do; reorder src_layer to a row-major one. For one "
    "sample oneDNN's cache then takes the wrong primitive for dense layers, too",
)
_ATTENTION = (
    lambda pd: True,
    "the gradients are not those of the forward pass (diff_augru_attention is off even where the "
    "attention is 0, the others where it is not)",
)

#: Row -> what makes it wrong and what to do about it.
FAULTS: dict[str, tuple[tuple[Callable[[Any], bool], str], ...]] = {
    "vanilla_rnn_backward": (_STATE, _SOURCE),
    "lstm_backward": (_STATE, _SOURCE),
    "gru_backward": (_SOURCE,),
    "lbr_gru_backward": (_SOURCE,),
    "augru_backward": (_ATTENTION,),
    "lbr_augru_backward": (_ATTENTION,),
    "inner_product_forward": (
        (
            _other_order,
            "weights are read in the order of the source's axes, channels last, and lie in another "
            "one; lay them out like the source (`acdb`), not as (I, *S, O)",
        ),
    ),
    "layer_normalization_backward": (
        (
            _rms_without_stats,
            "diff_src is wrong with rms_norm unless use_global_stats is set: a mean is subtracted "
            "that the forward pass did not subtract",
        ),
    ),
    "deconvolution_forward": (
        (
            _row_major_pointwise,
            "a 1x1 kernel with row-major weights (O, I) is read as (I, O); ask for weights `any`",
        ),
        (
            _doubled,
            "an s8 source with strides gives twice the values on CPUs with AVX-512 but no VNNI; "
            "take a u8 source",
        ),
    ),
    "lrn_backward": (
        (
            _odd_bf16_channels,
            "small bf16 gradients are wrong where diff_dst is 0 unless the number of channels is "
            "a multiple of 16",
        ),
    ),
}


def check(pd: Any) -> None:
    """Warn once per place in the program if ``pd`` meets a known fault on the CPU."""
    if pd.engine.kind is not _core.engine_kind.cpu:
        return
    for meets, sentence in FAULTS[pd.name]:
        if meets(pd):
            text = f"{pd.name} ({pd.impl_info}): known fault of oneDNN: {sentence}"
            warn(text, OneDnnFaultWarning)


_core._watch(set(FAULTS), check)

# SPDX-License-Identifier: Apache-2.0
"""When generated kernels replace oneDNN's primitives: one table, from CPU measurements."""

from __future__ import annotations

from dataclasses import dataclass

from sycl_dnn.kernels.index_range import MAX_SPAN
from sycl_dnn.onednn.fault import cpu_has_avx512
from sycl_dnn.trace import layout
from sycl_dnn.trace.capabilities import multiplies
from sycl_dnn.trace.values import Tensor

#: Supported element dtypes.
DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Rule:
    """The size above which a kernel is used, by the layout of (N, C, *S)."""

    #: Size of the tensor in bytes, by layout; None: never.
    row_major: int | None
    channels_last: int | None
    #: Minimum number of contiguous positions in row-major images.
    positions: int = 16


#: By family. Below these sizes a launch costs more than it saves.
RULES = {
    "max_pool": Rule(row_major=1 << 18, channels_last=1 << 18),
    "resize": Rule(row_major=None, channels_last=1 << 16),
    "depthwise": Rule(row_major=None, channels_last=1 << 13),
}


def is_missing(x: Tensor) -> bool:
    """Whether the device supports kernels for a dtype, but oneDNN has no primitives."""
    return x.dtype in DTYPES and not multiplies(x.trace.engine, x.dtype)


def beats_primitives(x: Tensor) -> bool:
    """Whether window and resizing kernels should replace oneDNN's primitives.

    They are faster on CPUs without AVX-512, except for inference, where the compiler fuses
    primitives and quantizes them.
    """
    if x.trace.policy.kernels == "always" or is_missing(x):
        return True
    is_joined = x.trace.is_compiled and not x.trace.training
    return not (is_joined or cpu_has_avx512())


def chosen(family: str, x: Tensor, *, any_channels: bool = False) -> str | None:
    """Return the layout in which a family's kernel reads ``x``; None for oneDNN's primitive.

    ``family``: a key of ``RULES``; ``x``: tensor (N, C, *S); ``any_channels``: whether
    channels-last kernels take any number of channels, not only multiples of 8.
    """
    mode = x.trace.policy.kernels
    is_supported = x.dtype in DTYPES and 0 < x.size < MAX_SPAN
    memory_layout = _layout(x, any_channels) if is_supported else None
    if memory_layout is None or mode == "never" or mode == "always":
        return None if mode == "never" else memory_layout
    if not x.trace.is_on_cpu:
        return None  # performance on GPUs is unknown
    rule = RULES[family]
    least = rule.row_major if memory_layout == "row_major" else rule.channels_last
    if least is None or x.desc.get_size() < least:
        return None
    if memory_layout == "row_major" and x.size // (x.shape[0] * x.shape[1]) < rule.positions:
        return None
    return memory_layout


def _layout(x: Tensor, any_channels: bool) -> str | None:
    if x.ndim < 2:
        return None
    is_row_major = x.desc == layout.row_major(x.shape, x.dtype)
    n_positions = x.size // (x.shape[0] * x.shape[1])
    if is_row_major and n_positions > 1:
        return "row_major"
    is_columns = is_row_major or x.desc == layout.channels_last(x.shape, x.dtype)
    return "channels_last" if is_columns and (any_channels or x.shape[1] % 8 == 0) else None

# SPDX-License-Identifier: Apache-2.0
"""When kernels replace oneDNN's primitives: one table, from measurements on a CPU."""

from __future__ import annotations

from dataclasses import dataclass

from sycl_dnn import _core
from sycl_dnn.onednn.fault import cpu_has_avx512
from sycl_dnn.trace import layout
from sycl_dnn.trace.capabilities import multiplies
from sycl_dnn.trace.values import Tensor

#: The dtypes of elements that kernels support.
DTYPES = ("float32", "bfloat16", "float16")
#: Kernels count elements in 32 bits.
_MOST = 1 << 31


@dataclass(frozen=True)
class Rule:
    """The size from which a kernel is used, by the layout of (N, C, *S)."""

    #: Bytes of the tensor, by layout; None: never.
    row_major: int | None
    channels_last: int | None
    #: Positions of an image that are contiguous in row-major memory.
    positions: int = 16


#: By family. Below these sizes a launch costs more than the passes that it saves.
RULES = {
    "batch_norm_training": Rule(row_major=1 << 18, channels_last=1 << 20),
    "group_norm": Rule(row_major=1 << 18, channels_last=1 << 18),
    "average_of_positions": Rule(row_major=1 << 18, channels_last=1 << 18),
    "activation": Rule(row_major=1 << 19, channels_last=1 << 19),
    "max_pool": Rule(row_major=1 << 18, channels_last=1 << 18),
    "resize": Rule(row_major=None, channels_last=1 << 16),
    "batch_norm_inference": Rule(row_major=1 << 19, channels_last=1 << 19),
}


def is_missing(x: Tensor) -> bool:
    """Whether the device has kernels for a dtype, but oneDNN no primitives."""
    return x.dtype in DTYPES and not multiplies(x.trace.engine, x.dtype)


def beats_primitives(x: Tensor) -> bool:
    """Whether kernels of windows and resizing are to run where oneDNN has primitives.

    They are faster on CPUs without AVX-512. For inference, compiled functions join primitives with
    their neighbours and lower them to integers.
    """
    if x.trace.policy.kernels == "always" or is_missing(x):
        return True
    is_joined = x.trace.is_compiled and not x.trace.training
    return not (is_joined or cpu_has_avx512())


def is_chosen(family: str, x: Tensor) -> bool:
    """Whether the kernel of a family accepts a dense tensor of any shape."""
    mode = x.trace.policy.kernels
    if x.dtype not in DTYPES or not 0 < x.size < _MOST or mode == "never":
        return False
    least = RULES[family].row_major
    if mode == "always" or least is None:
        return mode == "always"
    is_cpu = x.trace.engine.kind is _core.engine_kind.cpu
    return is_cpu and x.desc.get_size() >= least


def chosen(family: str, x: Tensor) -> str | None:
    """Return the layout that the kernel of a family reads ``x`` in; None for oneDNN's primitive.

    Parameters
    ----------
    family : str
        A key of ``RULES``.
    x : Tensor (N, C, *S)
    """
    mode = x.trace.policy.kernels
    found = _layout(x) if x.dtype in DTYPES and 0 < x.size < _MOST else None
    if found is None or mode == "never" or mode == "always":
        return None if mode == "never" else found
    if x.trace.engine.kind is not _core.engine_kind.cpu:
        return None  # speeds on GPUs are unknown
    rule = RULES[family]
    least = rule.row_major if found == "row_major" else rule.channels_last
    if least is None or x.desc.get_size() < least:
        return None
    if found == "row_major" and x.size // (x.shape[0] * x.shape[1]) < rule.positions:
        return None
    return found


def _layout(x: Tensor) -> str | None:
    if x.desc is None or x.ndim < 2:
        return None
    is_row_major = x.desc == layout.row_major(x.shape, x.dtype)
    n_positions = x.size // (x.shape[0] * x.shape[1])
    if is_row_major and n_positions > 1:
        return "row_major"
    is_columns = is_row_major or x.desc == layout.channels_last(x.shape, x.dtype)
    return "channels_last" if is_columns and x.shape[1] % 8 == 0 else None

# SPDX-License-Identifier: Apache-2.0
"""Host copies and conversions of 16-bit floats that take less time than oneDNN's.

On CPUs without native support, oneDNN's reorder takes 50 ns per element, a hundred times the
memory-bound time. Functions that compute in float32 there convert with these copies. Elsewhere it
moves single elements between layouts, which takes two to three times as long for each thread.
"""

from __future__ import annotations

import math
from itertools import pairwise

from sycl_dnn import _core
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import policy

#: The implementations that they replace, the second one for some layouts.
_REFERENCE, _SINGLE = "simple:any", "jit:uni"
#: Elements of both innermost axes, and of an array, from which layouts are changed in blocks.
_BLOCK, _MIN_ELEMENTS = 8, 1 << 14
#: Size, source stride and destination stride of an axis.
_Axis = tuple[int, ...]


def host_copy(pd: _core.PrimitiveDesc) -> _core.Kernel | None:
    """Return a kernel equivalent to a reorder; None if oneDNN's reorder should run.

    ``pd``: of any primitive.
    """
    mode = policy.current().kernels
    if pd.name != "reorder" or mode == "never" or pd.engine.kind is not _core.engine_kind.cpu:
        return None
    copy = copy_of(pd)
    if copy is None or copy[:2] == ("float32", "float32"):
        return None
    is_slow = pd.impl_info == _REFERENCE or (
        pd.impl_info == _SINGLE and _is_turned(*copy) and _has_two_processors(pd)
    )
    return _core.Kernel.copy(*copy) if is_slow or mode == "always" else None


def copy_of(pd: _core.PrimitiveDesc) -> tuple[str, str, list[_Axis]] | None:
    """Return types and axes of a reorder that the host can do; else None."""
    src, dst = pd.src_desc, pd.dst_desc
    is_supported = _is_plain(src) and _is_plain(dst) and not pd.primitive_attr.calls
    source, target = (dtypes.NAMES.get(desc.data_type, "") for desc in (src, dst))
    if not is_supported or not _core.Kernel.can_copy(source, target):
        return None
    return source, target, _merged(src, dst)


def _is_turned(source: str, target: str, axes: list[_Axis]) -> bool:
    """Whether a copy moves 16-bit elements between layouts with long innermost axes."""
    is_moved = source == target != "float32" and axes[-1][2] == 1 != axes[-1][1]
    dense = max((size for size, step, _ in axes if step == 1), default=0)
    is_long = is_moved and min(axes[-1][0], dense) >= _BLOCK
    return is_long and math.prod(size for size, *_ in axes) >= _MIN_ELEMENTS


def _has_two_processors(pd: _core.PrimitiveDesc) -> bool:
    """Whether oneDNN has no more threads than these copies."""
    return bool(pd.engine.sycl_device.max_compute_units <= 2)


def _is_plain(desc: _core.MemoryDesc) -> bool:
    is_known = _core.RUNTIME_DIM_VAL not in (*desc.dims, *desc.strides)
    return desc.is_plain and is_known and math.prod(desc.dims) > 0


def _merged(src: _core.MemoryDesc, dst: _core.MemoryDesc) -> list[_Axis]:
    """Return the axes in destination order, merging contiguous ones."""
    all_axes = zip(dst.dims, src.strides, dst.strides, strict=True)
    axes: list[_Axis] = sorted((a for a in all_axes if a[0] > 1), key=lambda a: -a[2])
    merged = axes[:1]
    for (_, *outer), axis in pairwise(axes):
        if outer == [axis[0] * axis[1], axis[0] * axis[2]]:
            merged[-1] = (merged[-1][0] * axis[0], *axis[1:])
        else:
            merged.append(axis)
    return merged

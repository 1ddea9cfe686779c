# SPDX-License-Identifier: Apache-2.0
"""Host conversions of 16-bit floats where oneDNN has only its reference implementation.

On CPUs without native support, oneDNN's reorder takes 50 ns per element, a hundred times the
memory-bound time. Functions that compute in float32 there convert with these copies.
"""

from __future__ import annotations

import math
from itertools import pairwise

from sycl_dnn import _core
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import policy

#: The implementation that they replace.
_REFERENCE = "simple:any"
#: Size, source stride and destination stride of an axis.
_Axis = tuple[int, ...]


def host_copy(pd: _core.PrimitiveDesc) -> _core.Kernel | None:
    """Return a kernel equivalent to a reorder; None if oneDNN's reorder should run.

    Parameters
    ----------
    pd : PrimitiveDesc
        Of any primitive.
    """
    copy = copy_of(pd) if pd.name == "reorder" and _is_replaced(pd) else None
    if copy is None or copy[:2] == ("float32", "float32"):
        return None
    return _core.Kernel.copy(*copy)


def copy_of(pd: _core.PrimitiveDesc) -> tuple[str, str, list[_Axis]] | None:
    """Return types and axes of a reorder that the host can do; else None."""
    src, dst = pd.src_desc, pd.dst_desc
    is_supported = _is_plain(src) and _is_plain(dst) and not pd.primitive_attr.calls
    source, target = (dtypes.NAMES.get(desc.data_type, "") for desc in (src, dst))
    if not is_supported or not _core.Kernel.can_copy(source, target):
        return None
    return source, target, _merged(src, dst)


def _is_replaced(pd: _core.PrimitiveDesc) -> bool:
    """Whether the reorder is slow, or should always be replaced."""
    mode = policy.current().kernels
    if mode == "never" or pd.engine.kind is not _core.engine_kind.cpu:
        return False
    return mode == "always" or pd.impl_info == _REFERENCE


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

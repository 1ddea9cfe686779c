# SPDX-License-Identifier: Apache-2.0
"""Fault rules for tensors with gaps and tensors in different layouts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sycl_dnn import _core

_OVERWRITE = _core.rnn_flags.diff_weights_overwrite
#: Number of axes over which the reference implementation of ``eltwise`` iterates.
_LOOPS = 5


def is_whole(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements are contiguous, in any axis order, without repetition."""
    return 0 in shape or _are_steps(sorted(zip(strides, shape, strict=True)))


def _are_steps(axes: Sequence[tuple[int, int]]) -> bool:
    step = 1
    for stride, n in axes:
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def is_row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements are contiguous in row-major order."""
    return 0 in shape or _are_steps([*zip(strides, shape, strict=True)][::-1])


def has_gaps(desc: _core.MemoryDesc | None) -> bool:
    """Whether a plain tensor has gaps between its elements, or repeats some."""
    return desc is not None and desc.is_plain and not is_whole(desc.dims, desc.strides)


def strides_of_axes(desc: _core.MemoryDesc) -> list[int]:
    """Return the strides of the axes of more than one element."""
    return [by for n, by in zip(desc.dims, desc.strides, strict=True) if n > 1]


def takes_bias_apart(pd: Any) -> bool:
    """Match an implementation that treats a bias with gaps as dense."""
    parameters = pd.parameters
    if not any(has_gaps(parameters.get(name)) for name in ("bias", "diff_bias")):
        return False
    return pd.engine.kind is not _core.engine_kind.cpu or not pd.impl_info.endswith("ref:any")


def eltwise_of_six_axes(pd: Any) -> bool:
    """Match tensors that the reference implementation traverses with five loops: all but dense."""
    descs = [pd.src_desc, pd.diff_src_desc, pd.parameters.get("data")]
    present = [d for d in descs if d is not None]
    dims = present[0].dims
    if len(dims) <= _LOOPS or 0 in dims or not pd.impl_info.startswith("ref"):
        return False
    alike = all(d == present[0] for d in present)
    is_dense = present[0].padded_dims == dims and not has_gaps(present[0])
    return not (alike and is_dense) or len(pd.primitive_attr.get_post_ops()) > 0


def eltwise_over_gaps(pd: Any) -> bool:
    """Match an element-wise kernel that assumes dense arrays."""
    descs = (pd.src_desc, pd.dst_desc, pd.diff_src_desc, pd.diff_dst_desc)
    return pd.impl_info.startswith(("ocl:xe", "ocl:ref")) and any(map(has_gaps, descs))


def concat_over_gaps(pd: Any) -> bool:
    """Match a concatenation whose parts are not dense in its result."""
    dst, axis = pd.dst_desc, pd.parameters["concat_dimension"]
    if not pd.impl_info.startswith("ocl:simple:reusable") or not dst.is_plain or 0 in dst.dims:
        return False
    pairs = zip(dst.dims, dst.strides, strict=True)
    return dst.strides[axis] != math.prod(n for n, by in pairs if by < dst.strides[axis])


def copies_sixteen_apart(pd: Any) -> bool:
    """Match a copy of non-contiguous rows of 16 elements."""
    if not pd.impl_info.startswith("ocl:custom"):
        return False
    plain = [d for d in (pd.src_desc, pd.dst_desc) if d.is_plain and d.dims and 0 not in d.dims]
    return any(min(strides_of_axes(d), default=1) > 1 for d in plain)


def overwritten_gaps(pd: Any) -> bool:
    """Match overwritten gradients of weights that are not dense."""
    weights = (pd.diff_weights_layer_desc, pd.diff_weights_iter_desc)
    overwrites = pd.parameters["flags"] is _OVERWRITE
    return overwrites and any(map(has_gaps, weights))


def lie_unlike(pd: Any) -> bool:
    """Match tensors with gaps, or in different layouts."""
    descs = [pd.src_desc, pd.dst_desc, pd.diff_src_desc, pd.diff_dst_desc]
    plain = [d for d in descs if d is not None and d.is_plain and 0 not in d.dims]
    return any(map(has_gaps, plain)) or len({tuple(strides_of_axes(d)) for d in plain}) > 1


def lie_unlike_on_gpu(pd: Any) -> bool:
    """Match the same on GPUs, where only one softmax kernel is affected."""
    if pd.name == "softmax_backward" and not pd.impl_info.startswith("ocl:simple"):
        return False
    return lie_unlike(pd)


def reduced_gaps(pd: Any) -> bool:
    """Match a reduction of a source with gaps."""
    return has_gaps(pd.src_desc)


def dense_layer_apart(pd: Any) -> bool:
    """Match a result of inner_product that is not row-major."""
    dst = pd.dst_desc
    return dst.is_plain and not is_row_major(dst.dims, dst.strides)


def resized_gradient_apart(pd: Any) -> bool:
    """Match a diff_src in a different layout than diff_dst."""
    return pd.impl_info.startswith("ocl:vectorized") and lie_unlike(pd)


def cell_apart(pd: Any) -> bool:
    """Match a bias with gaps, or states and weights whose innermost axis is not contiguous."""
    names = ("src_layer", "weights_layer", "weights_iter")
    present = [pd.parameters[n] for n in names if pd.parameters[n] is not None]
    steps = [min(strides_of_axes(d), default=1) for d in present if d.is_plain and 0 not in d.dims]
    return has_gaps(pd.parameters["bias"]) or any(step > 1 for step in steps)


def softmax_gradient_apart(pd: Any) -> bool:
    """Match a gradient along a dense last axis that is written in another tensor's layout."""
    inner = math.prod(pd.diff_src_desc.dims[pd.axis + 1 :])
    return pd.impl_info.startswith("ref") and inner == 1 and lie_unlike(pd)


def pooled_gradient_apart(pd: Any) -> bool:
    """Match gradients with gaps, which the reference clears only partially."""
    return pd.impl_info.startswith("ref") and has_gaps(pd.diff_src_desc)

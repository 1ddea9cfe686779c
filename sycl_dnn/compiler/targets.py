# SPDX-License-Identifier: Apache-2.0
"""Arrays that callers give for the results of compiled functions."""

from __future__ import annotations

from typing import Any

from sycl_dnn.call import nesting
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.arguments import Collected
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.outputs import Target, check_strides, sharing
from sycl_dnn.dispatch.tensor import Tensor


def targets_of(
    name: str, leaves: list[Tensor], out: Any, given: Collected
) -> dict[int, Target] | None:
    """Return what results shall be written to, by their number; None without ``out``.

    Raises
    ------
    ValueError
        ``out`` has another number of arrays, or one has another shape, dtype or kind of strides.
    """
    if out is None:
        return None
    outs = nesting.arrays_of(out)
    if len(outs) != len(leaves):
        raise ValueError(f"{name}: out must have {len(leaves)} arrays, got {len(outs)}")
    pairs = enumerate(zip(leaves, outs, strict=True))
    return {i: _target(name, tensor, array, given) for i, (tensor, array) in pairs}


def _target(name: str, tensor: Tensor, out: Any, given: Collected) -> Target:
    check_strides(name, out)
    dtype = out.dtype if isinstance(out, Array) else out.dtype.name
    if out.shape != tensor.shape or dtype != tensor.dtype:
        raise ValueError(
            f"{name}: out must have shape {tensor.shape} and dtype {tensor.dtype}, got "
            f"{out.shape} and {dtype}"
        )
    array = out.get_array()
    desc = layout.strided(tensor.shape, tensor.dtype, array.strides)
    return Target(desc, *sharing(array, given.arrays))

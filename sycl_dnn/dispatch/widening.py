# SPDX-License-Identifier: Apache-2.0
"""A primitive's parameters in float32, for engines that lack a narrower type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sycl_dnn import _core
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.record import Out
from sycl_dnn.onednn import dtypes

NARROW = ("float16", "bfloat16", "float8_e5m2", "float8_e4m3")


def wide(value: Any) -> Any:
    """Return a descriptor of float32 in the layout of a narrower one; what is neither as it is."""
    if not isinstance(value, _core.MemoryDesc) or dtypes.NAMES.get(value.data_type) not in NARROW:
        return value
    if not value.is_plain:
        return layout.any_layout(value.dims, "float32")
    return layout.strided(value.dims, "float32", value.strides)


def wide_out(out: Out) -> Out:
    """Return a wanted result in float32 where it is narrower."""
    dtype = "float32" if out.dtype in NARROW else out.dtype
    return Out(out.shape, dtype, wide(out.layout))


def wide_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters or layouts with their descriptors in float32."""
    return {name: wide(value) for name, value in given.items()}


def wide_post_ops(attr: _core.PrimitiveAttr | None) -> _core.PrimitiveAttr | None:
    """Return the attribute with the tensors of its post-ops in float32."""
    if attr is None or not (given := attr.get("set_post_ops")):
        return attr
    made, post_ops = attr.copy(), _core.PostOps()
    for method, arguments in given[-1][0].calls:
        getattr(post_ops, method)(*map(wide, arguments))
    made.set_post_ops(post_ops)
    return made

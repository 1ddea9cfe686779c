# SPDX-License-Identifier: Apache-2.0
"""Descriptors of recorded primitives: derived from tensors, widened, checked."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from sycl_dnn import _core
from sycl_dnn.errors import Unimplemented
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.apart import has_gaps
from sycl_dnn.onednn.fault import doubles_in_float
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Layout, Out, describe
from sycl_dnn.trace.values import Tensor

#: Parameters of a row that describe an execution argument of another name.
_DESCRIBES = {"src0": "src_0", "src1": "src_1", "src2": "src_2"}

#: Words of the names of oneDNN's implementations of convolutions that may be faster than its first
#: choice: of depthwise ones, and of others in AVX2.
DEPTHWISE, DIRECT = PREFERRED = "jit_dw", "jit:avx2"


def parameters_of(
    row: str,
    inputs: Mapping[str, Tensor],
    outputs: Mapping[str, Out],
    requested: Mapping[str, Layout],
    params: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the parameters of a row with its layouts; arguments as ``Trace.primitive``'s."""
    requested = {**_dense_bias(inputs), **requested}
    descs = {
        name: describe(t.shape, t.dtype, requested[name]) if name in requested else t.desc
        for name, t in inputs.items()
    }
    descs |= {name: out.desc() for name, out in outputs.items()}
    if "convolution" in row:
        descs |= _of_one_axis(row, descs)
    parameters = dict(params)
    for parameter in _parameters(row):
        name = _DESCRIBES.get(parameter, parameter)
        if parameter == "srcs":
            parameters["srcs"] = [d for n, d in descs.items() if n.startswith("multiple_src")]
        elif parameter not in parameters and name in descs:
            parameters[parameter] = descs[name]
    return parameters


#: The images of a convolution.
_IMAGES = ("src", "dst", "diff_src", "diff_dst")


def _of_one_axis(row: str, descs: Mapping[str, Any]) -> dict[str, Any]:
    """Leave the layout of images of one channel, or of one pixel, to oneDNN.

    oneDNN takes it for row-major, which does not fit channels-last images on the other side, so
    that only the reference implementation remains, 100 times as slow.
    """
    images = {n: descs[n] for n in _IMAGES if n in descs and descs[n].is_plain}
    single = [n for n, desc in images.items() if desc.dims[1] == 1 or math.prod(desc.dims[2:]) == 1]
    if len(single) in (0, len(images)):
        return {}
    if row.endswith("_weights"):
        single = list(images)  # one layout for both, whichever the implementation has
    return {
        name: layout.any_layout(images[name].dims, dtypes.NAMES[images[name].data_type])
        for name in single
    }


def _dense_bias(inputs: Mapping[str, Tensor]) -> dict[str, Layout]:
    """Request a dense copy of a bias that is a view with gaps: oneDNN ignores its strides."""
    bias = inputs.get("bias")
    if bias is None or not has_gaps(bias.desc):
        return {}
    return {"bias": "row_major"}


@functools.cache
def _parameters(row: str) -> tuple[str, ...]:
    return tuple(_core.ROWS[row][0].split())


def refuse_inexact(pd: _core.PrimitiveDesc) -> None:
    """Refuse float64 where a GPU computes it with the accuracy of float32."""
    if pd.engine.kind is _core.engine_kind.gpu and doubles_in_float(pd):
        raise Unimplemented(
            f"{pd.name}: on this GPU oneDNN computes float64 with the accuracy of float32 "
            f"({pd.impl_info})"
        )


# --- A primitive's parameters in float32, for engines that lack a narrower type

NARROW = ("float16", "bfloat16", "float8_e5m2", "float8_e4m3")


def wide(value: Any) -> Any:
    """Return a descriptor of float32 in the layout of a narrower one; all else unchanged."""
    if not isinstance(value, _core.MemoryDesc) or dtypes.NAMES.get(value.data_type) not in NARROW:
        return value
    if not value.is_plain:
        return layout.any_layout(value.dims, "float32")
    return layout.strided(value.dims, "float32", value.strides)


def wide_out(out: Out) -> Out:
    """Return a requested result in float32 if it is narrower."""
    dtype = "float32" if out.dtype in NARROW else out.dtype
    return Out(out.shape, dtype, wide(out.layout))


def wide_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters or layouts with their descriptors in float32."""
    return {name: wide(value) for name, value in values.items()}


def wide_post_ops(attr: _core.PrimitiveAttr | None) -> _core.PrimitiveAttr | None:
    """Return the attribute with the tensors of its post-ops in float32."""
    if attr is None or not (calls := attr.get("set_post_ops")):
        return attr
    widened, post_ops = attr.copy(), _core.PostOps()
    for method, arguments in calls[-1][0].calls:
        getattr(post_ops, method)(*map(wide, arguments))
    widened.set_post_ops(post_ops)
    return widened

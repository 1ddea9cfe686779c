# SPDX-License-Identifier: Apache-2.0
"""Operations as calls of ``sycl_dnn.functional``: from a node to a function over its arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    from sycl_dnn.graph.node import Node

#: By name; a list for several of one name.
Arrays = dict[str, Any]


def _functional() -> Any:
    from sycl_dnn import functional

    return functional


def reciprocal(node: Node) -> Callable[[Arrays], list[Any]]:
    """Divide 1 by it."""
    return lambda a: [_functional().div(1.0, a["src"])]


def pow(node: Node) -> Callable[[Arrays], list[Any]]:
    """As the power of the functional layer."""
    beta = node.attributes["beta"]
    return lambda a: [_functional().pow(a["src"], beta)]


def type_cast(node: Node) -> Callable[[Arrays], list[Any]]:
    """As the functional layer converts."""
    wanted = dtypes.LONG[node.outputs[0].dtype]
    return lambda a: [_functional().astype(a["src"], wanted)]


#: Operations of two operands, one of which may be a number of the host.
OF_NUMBERS = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div"}


def with_number(node: Node) -> Callable[[Arrays], list[Any]]:
    """As the functional layer computes with Python's numbers."""
    name = OF_NUMBERS[node.operation.name]
    return lambda a: [getattr(_functional(), name)(*(a[n] for n in node.inputs))]


def bias_add_backward(node: Node) -> Callable[[Arrays], list[Any]]:
    """Sum over all axes but that of the channels."""

    def run(arrays: Arrays) -> list[Any]:
        diff = arrays["diff_dst"]
        channel = 1 if node.attributes["data_format"] == "NCX" else len(diff.shape) - 1
        axes = [i for i in range(len(diff.shape)) if i != channel]
        return [_functional().sum(diff, dim=axes)]

    return run


def align_corners(node: Node) -> Callable[[Arrays], list[Any]]:
    """Interpolate with the corners of both images in one place."""
    a = node.attributes
    last = a["data_format"] == "NXC"

    def run(arrays: Arrays) -> list[Any]:
        src = arrays["src"]
        n = len(src.shape)
        if last:
            src = src.transpose((0, n - 1, *range(1, n - 1)))
        mode = {3: "linear", 4: "bilinear", 5: "trilinear"}[n]
        sizes = a.get("sizes") or tuple(
            int(d * s) for d, s in zip(src.shape[2:], a["scales"], strict=True)
        )
        made = _functional().interpolate(src, size=sizes, mode=mode, align_corners=True)
        return [made.transpose((0, *range(2, n), 1)) if last else made]

    return run


def _per(node: Node) -> tuple[int | None, int | None]:
    """Return the axis of scales and how many neighbours along it share one."""
    a = node.attributes
    if a["qtype"] == "per_group":
        shape = a["group_shape"]
        return (axis := max(range(len(shape)), key=lambda i: shape[i])), shape[axis]
    return (a["axis"] if a["qtype"] == "per_channel" else None), None


def _scales(node: Node, arrays: Arrays, queue: Any) -> tuple[Any, Any]:
    """Return scales and zero points as arrays, without an axis if there is one."""
    a, zps = node.attributes, arrays.get("zps")
    scales = arrays.get("scales")
    if scales is None:
        scales = dpnp.asarray(a["scales"], dtype="f4", sycl_queue=queue)
        zps = dpnp.asarray(a["zps"], dtype="i4", sycl_queue=queue) if a.get("zps") else None
    if zps is not None:
        zps = dpnp.broadcast_to(zps.astype("i4"), scales.shape)
    if a["qtype"] == "per_tensor":
        scales, zps = scales.reshape(()), None if zps is None else zps.reshape(())
    return scales.astype("float32"), zps


def quantize(node: Node) -> Callable[[Arrays], list[Any]]:
    """As the functional layer does; float8 by a division."""
    wanted = dtypes.LONG[node.outputs[0].dtype]

    def run(arrays: Arrays) -> list[Any]:
        src = arrays["src"]
        scales, zps = _scales(node, arrays, src.sycl_queue)
        axis, _ = _per(node)
        if wanted.startswith("float8"):
            shape = [-1 if i == axis else 1 for i in range(len(src.shape))]
            return [_functional().astype(src / scales.reshape(shape), wanted)]
        return [_functional().quantize(src, scales, zps, wanted, axis).data]

    return run


def dequantize(node: Node) -> Callable[[Arrays], list[Any]]:
    """As the functional layer does; float8 by a product."""

    def run(arrays: Arrays) -> list[Any]:
        from sycl_dnn.functional.quantized_tensor import QuantizedTensor

        src = arrays["src"]
        scales, zps = _scales(node, arrays, src.sycl_queue)
        axis, group = _per(node)
        if src.dtype in ("float8_e4m3", "float8_e5m2"):
            shape = [-1 if i == axis else 1 for i in range(len(src.shape))]
            return [src.astype("float32") * scales.reshape(shape)]
        return [_functional().dequantize(QuantizedTensor(src, scales, zps, axis, group))]

    return run

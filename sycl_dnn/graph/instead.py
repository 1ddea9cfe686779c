# SPDX-License-Identifier: Apache-2.0
"""What runs in place of an operation that oneDNN does not take as a partition by itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import dpnp

from sycl_dnn.errors import Unimplemented
from sycl_dnn.graph import dtypes
from sycl_dnn.graph.nodes import low_level
from sycl_dnn.graph.tensor import element_strides

if TYPE_CHECKING:
    from sycl_dnn.graph.node import Node
    from sycl_dnn.graph.plan import Plan

__all__ = ["REASONS", "Way", "in_layout", "low_level", "way"]

Arrays = dict[str, Any]


class Way(NamedTuple):
    """A function from the arrays of the inputs by name to those of the outputs, and why."""

    run: Callable[[Arrays], list[Any]]
    reason: str


def _functional() -> Any:
    from sycl_dnn import functional

    return functional


def _reciprocal(node: Node) -> Callable[[Arrays], list[Any]]:
    return lambda a: [_functional().div(1.0, a["src"])]


def _pow(node: Node) -> Callable[[Arrays], list[Any]]:
    beta = node.attributes["beta"]
    return lambda a: [_functional().pow(a["src"], beta)]


def _bias_add_backward(node: Node) -> Callable[[Arrays], list[Any]]:
    def run(arrays: Arrays) -> list[Any]:
        diff = arrays["diff_dst"]
        channel = 1 if node.attributes["data_format"] == "NCX" else len(diff.shape) - 1
        axes = [i for i in range(len(diff.shape)) if i != channel]
        return [_functional().sum(diff, dim=axes)]

    return run


def _align_corners(node: Node) -> Callable[[Arrays], list[Any]]:
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


def _quantize(node: Node) -> Callable[[Arrays], list[Any]]:
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


def _dequantize(node: Node) -> Callable[[Arrays], list[Any]]:
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


@functools.lru_cache(64)
def _dropout_of_ones(shape: tuple[int, ...], queue: Any) -> Any:
    from sycl_dnn.graph.builder import Graph

    graph = Graph("cpu" if queue.sycl_device.is_cpu else "gpu")
    ones = graph.leaky_relu(graph.input(shape), alpha=1.0)
    graph.dropout(ones, graph.scalar("s64"), graph.scalar("s64"), graph.scalar("f32"))
    return graph.compile(queue)


def dropout_mask(src: Any, seed: int, offset: int, probability: float) -> Any:
    """Return 1 where dropout keeps an element, else 0; that depends on its place alone."""
    queue = src.sycl_queue
    ones = dpnp.ones(src.shape, dtype="f4", sycl_queue=queue)
    return _dropout_of_ones(tuple(src.shape), queue)(ones, seed, offset, probability) != 0


#: Why, and what runs, by operation.
_WAYS: dict[str, tuple[Callable[[Node], Callable[[Arrays], list[Any]]], str]] = {
    "reciprocal": (_reciprocal, "a partition only in front of a Multiply; runs as a division"),
    "pow": (_pow, "no pattern of oneDNN's takes it; runs as the eltwise primitive"),
    "bias_add_backward": (
        _bias_add_backward,
        "a partition only behind ConvolutionBackwardWeights; runs as the reduction primitive",
    ),
}
#: What runs where oneDNN refuses to compile a partition of the operation.
_REFUSED = {
    "quantize": _quantize,
    "dynamic_quantize": _quantize,
    "dequantize": _dequantize,
    "dynamic_dequantize": _dequantize,
}
_REFUSED_REASON = "oneDNN has no reorder with these scales and zero points; runs in sycl_dnn"
#: For the documentation: what is never a partition by itself, and why.
REASONS = {name: reason for name, (_, reason) in _WAYS.items()} | {
    "dropout": "a partition only behind an elementwise operation or MatMul; runs behind LeakyReLU "
    "with slope 1, which changes nothing",
    "end": "a mark; nothing runs",
    "wildcard": "your function runs",
    "quantize": _REFUSED_REASON,
    "interpolate": "align_corners is not in oneDNN; runs as gathers of dpnp",
}


def way(node: Node, plan: Plan, problem: Exception | None = None) -> Way:
    """Return what runs instead of a node.

    Raises
    ------
    Unimplemented
        Nothing else computes it either.
    """
    name = node.operation.name
    if node.function is not None:
        return Way(_wildcard(node), REASONS["wildcard"])
    if name in _WAYS:
        make, reason = _WAYS[name]
        return Way(make(node), reason)
    if name == "dropout" and not _has_f16(node):
        return Way(_behind_identity(node, plan), REASONS["dropout"])
    if node.attributes.get("coordinate_transformation_mode") == "align_corners" and (
        name == "interpolate" and node.attributes["mode"] != "nearest"
    ):
        return Way(_align_corners(node), REASONS["interpolate"])
    if name in _REFUSED:
        return Way(_REFUSED[name](node), _REFUSED_REASON)
    if _has_f16(node):
        return Way(_in_f32(node, plan), "this device has no instructions for f16; runs in f32")
    raise Unimplemented(
        f"{name}: oneDNN must support the operation with these tensors and attributes, got "
        f"{[(v.dtype, plan.shapes[v.id]) for v in node.values]}, {node.attributes}"
        + (f": {problem}" if problem else "")
    )


def _has_f16(node: Node) -> bool:
    return any(v.dtype == "f16" for v in (*node.values, *node.outputs))


def _wildcard(node: Node) -> Callable[[Arrays], list[Any]]:
    def run(arrays: Arrays) -> list[Any]:
        made = node.function(*arrays["src"])
        return list(made) if isinstance(made, (list, tuple)) else [made]

    return run


def _rebuilt(node: Node, plan: Plan, dtype_of: Callable[[str], str], wrap: Any) -> Any:
    """Return a compiled graph of this one operation, with other data types or more around it."""
    from sycl_dnn.graph.builder import Graph

    graph = Graph(plan.engine)
    given: dict[str, Any] = {}
    for name, value in node.inputs.items():
        several = value if isinstance(value, list) else [value]
        made = []
        for number, one in enumerate(several):
            kind, label = dtype_of(one.dtype), f"{name}{number or ''}"
            if one.property == "host_scalar":
                made.append(graph.scalar(kind, name=label))
            else:
                made.append(graph.input(plan.shapes[one.id], kind, name=label))
        given[name] = made if isinstance(value, list) else made[0]
    given |= node.attributes
    if node.operation.chosen_dtypes:
        asked = dtype_of(node.outputs[0].dtype)
        default = node.operation.outputs[0].dtype
        if default is None or asked != dtype_of(node.inputs[default].dtype):
            given["dtype"] = asked
    made = wrap(graph, node.operation, given)
    for value in made if isinstance(made, tuple) else (made,):
        graph.output(value)
    return graph.compile(plan.owner.queue)


def _flat(arrays: Arrays) -> list[Any]:
    found: list[Any] = []
    for given in arrays.values():
        found += given if isinstance(given, list) else [given]
    return found


def _as_list(made: Any) -> list[Any]:
    return list(made) if isinstance(made, tuple) else [made]


def _behind_identity(node: Node, plan: Plan) -> Callable[[Arrays], list[Any]]:
    def wrap(graph: Any, row: Any, given: dict[str, Any]) -> Any:
        given["src"] = graph.leaky_relu(given["src"], alpha=1.0)
        return graph.add_operation(row, given)

    compiled = _rebuilt(node, plan, lambda dtype: dtype, wrap)
    return lambda arrays: _as_list(compiled(*_flat(arrays)))


def _in_f32(node: Node, plan: Plan) -> Callable[[Arrays], list[Any]]:
    if node.operation.name == "type_cast":
        wanted = dtypes.LONG[node.outputs[0].dtype]
        return lambda arrays: [arrays["src"].astype(wanted)]

    def wide(dtype: str) -> str:
        return "f32" if dtype == "f16" else dtype

    compiled = _rebuilt(node, plan, wide, lambda graph, row, given: graph.add_operation(row, given))

    def run(arrays: Arrays) -> list[Any]:
        made = compiled(*[_widened(a) for a in _flat(arrays)])
        return [
            a.astype("float16") if v.dtype == "f16" else a
            for v, a in zip(node.outputs, _as_list(made), strict=True)
        ]

    return run


def _widened(array: Any) -> Any:
    return array.astype("float32") if getattr(array, "dtype", None) == "float16" else array


def in_layout(array: Any, wanted: Any, queue: Any) -> Any:
    """Return an array as a result of the graph: right dtype, shape and strides, or an error."""
    dtype = wanted.data_type.name
    if not hasattr(array, "get_array"):
        array = dpnp.asarray(array, sycl_queue=queue)
    if dtypes.of_array(array, "graph") != dtype:
        array = _functional().astype(array, dtypes.LONG[dtype])
    if tuple(array.shape) != wanted.dims:
        raise ValueError(f"graph: a result must have shape {wanted.dims}, got {array.shape}")
    strides = element_strides(array)
    if any(n > 1 and a != b for n, a, b in zip(wanted.dims, strides, wanted.strides, strict=True)):
        array = array.copy() if isinstance(array, dpnp.ndarray) else _dense(array)
        if element_strides(array) != wanted.strides and isinstance(array, dpnp.ndarray):
            array = dpnp.ascontiguousarray(array)
    return array


def _dense(array: Any) -> Any:
    return type(array)(dpnp.ascontiguousarray(array.data), array.dtype)

# SPDX-License-Identifier: Apache-2.0
"""Fallbacks for operations that oneDNN does not accept as separate partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import dpnp

from sycl_dnn import _core
from sycl_dnn import functional as F
from sycl_dnn.errors import InvalidArguments, Unimplemented
from sycl_dnn.functional.quantized.quantize import QuantizedTensor
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.fault import is_one_pixel
from sycl_dnn.trace import policy, profile_notes
from sycl_dnn.trace.capabilities import multiplies

if TYPE_CHECKING:
    from sycl_dnn.graph.nodes import Node
    from sycl_dnn.graph.partition_plan import Plan


#: Input arrays by name; lists for repeated inputs.
Arrays = dict[str, Any]


def reciprocal(node: Node) -> Callable[[Arrays], list[Any]]:
    """Compute ``1 / src``."""
    return lambda a: [F.div(1.0, a["src"])]


def pow(node: Node) -> Callable[[Arrays], list[Any]]:
    """Use ``functional.pow``."""
    beta = node.attributes["beta"]
    return lambda a: [F.pow(a["src"], beta)]


def type_cast(node: Node) -> Callable[[Arrays], list[Any]]:
    """Use ``functional.astype``."""
    expected = dtypes.LONG[node.outputs[0].dtype]
    return lambda a: [F.astype(a["src"], expected)]


def select(node: Node) -> Callable[[Arrays], list[Any]]:
    """Use ``functional.where``."""
    return lambda a: [F.where(a["cond"], a["src_0"], a["src_1"])]


#: Binary operations whose operands may include a host scalar, by functional name.
OF_NUMBERS = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div"}


def with_number(node: Node) -> Callable[[Arrays], list[Any]]:
    """Compute with a Python number."""
    name = OF_NUMBERS[node.operation.name]
    return lambda a: [getattr(F, name)(*(a[n] for n in node.inputs))]


def bias_add_backward(node: Node) -> Callable[[Arrays], list[Any]]:
    """Sum over all axes except the channel axis."""

    def run(arrays: Arrays) -> list[Any]:
        diff = arrays["diff_dst"]
        channel = 1 if node.attributes["data_format"] == "NCX" else len(diff.shape) - 1
        axes = [i for i in range(len(diff.shape)) if i != channel]
        return [F.sum(diff, dim=axes)]

    return run


def align_corners(node: Node) -> Callable[[Arrays], list[Any]]:
    """Interpolate with aligned corners."""
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
        result = F.interpolate(src, size=sizes, mode=mode, align_corners=True)
        return [result.transpose((0, *range(2, n), 1)) if last else result]

    return run


def spread_pixel(node: Node, plan: Plan) -> Callable[[Arrays], list[Any]]:
    """Broadcast the single pixel of each image."""
    shape = plan.shapes[node.outputs[0].id]
    return lambda a: [F.broadcast_to(a["src"], shape)]


def gathered_pixel(node: Node, plan: Plan) -> Callable[[Arrays], list[Any]]:
    """Sum the gradients of the single pixel of each image."""

    def run(arrays: Arrays) -> list[Any]:
        n = len(arrays["diff_dst"].shape)
        axes = list(range(1, n - 1) if node.attributes["data_format"] == "NXC" else range(2, n))
        return [F.sum(arrays["diff_dst"], dim=axes, keepdim=True)]

    return run


def _per(node: Node) -> tuple[int | None, int | None]:
    """Return the axis of the scales, and the group size along it."""
    a = node.attributes
    if a["qtype"] == "per_group":
        shape = a.get("group_shape")
        if not shape:
            raise InvalidArguments(
                f"{node.operation.name}: group_shape must be given with qtype 'per_group', "
                f"got {shape}"
            )
        return (axis := max(range(len(shape)), key=lambda i: shape[i])), shape[axis]
    return (a["axis"] if a["qtype"] == "per_channel" else None), None


def _scales(node: Node, arrays: Arrays, queue: Any) -> tuple[Any, Any]:
    """Return scales and zero points as arrays; single values become 0-d."""
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
    """Use ``functional.quantize``; float8 is divided by the scale."""
    expected = dtypes.LONG[node.outputs[0].dtype]

    def run(arrays: Arrays) -> list[Any]:
        src = arrays["src"]
        scales, zps = _scales(node, arrays, src.sycl_queue)
        axis, _ = _per(node)
        if expected.startswith("float8"):
            shape = [-1 if i == axis else 1 for i in range(len(src.shape))]
            return [F.astype(src / scales.reshape(shape), expected)]
        return [F.quantize(src, scales, zps, expected, axis).data]

    return run


def dequantize(node: Node) -> Callable[[Arrays], list[Any]]:
    """Use ``functional.dequantize``; float8 is multiplied by the scale."""
    axis, group = _per(node)

    def run(arrays: Arrays) -> list[Any]:
        src = arrays["src"]
        scales, zps = _scales(node, arrays, src.sycl_queue)
        if src.dtype in ("float8_e4m3", "float8_e5m2"):
            shape = [-1 if i == axis else 1 for i in range(len(src.shape))]
            return [src.astype("float32") * scales.reshape(shape)]
        return [F.dequantize(QuantizedTensor(src, scales, zps, axis, group))]

    return run


#: Reductions over axes, by the last part of the operation's name.
_REDUCTIONS: dict[str, Callable[[Any, list[int], bool], Any]] = {
    "l1": lambda src, axes, keeps: F.sum(F.abs(src), axes, keeps),
    "l2": lambda src, axes, keeps: F.sqrt(F.sum(F.square(src), axes, keeps)),
    "max": F.amax,
    "mean": F.mean,
    "min": F.amin,
    "prod": F.prod,
    "sum": F.sum,
}


def reduction(node: Node) -> Callable[[Arrays], list[Any]]:
    """Use the function of the same name."""
    a, reduced = node.attributes, _REDUCTIONS[node.operation.name.removeprefix("reduce_")]
    return lambda arrays: [reduced(arrays["src"], list(a["axes"]), a["keep_dims"])]


class ArraysStep:
    """Operations that run through arrays instead of as a partition.

    reads, writes : ids of values
    run_arrays : takes arrays and numbers of the host by id, and returns those of ``writes``
    inner : the graph that computes them
    """

    __slots__ = ("inner", "nodes", "reads", "reason", "run_arrays", "writes")
    compiled: _core.CompiledPartition | None = None
    copied: tuple[int, ...] = ()

    def __init__(
        self, nodes: Sequence[Node], reads: Sequence[int], writes: Sequence[int],
        run_arrays: Callable[[dict[int, Any]], Sequence[Any]], reason: str, inner: Any = None,
    ) -> None:  # fmt: skip
        self.nodes, self.reads, self.writes = list(nodes), list(reads), list(writes)
        self.run_arrays, self.reason, self.inner = run_arrays, reason, inner

    def run(self, plan: Plan, tensors: dict[int, Any], stream: Any, kind: Any) -> None:
        """Submit."""
        arrays = {id: tensors[id].to_array() for id in self.reads}
        results = profile_notes.array_call(
            "graph." + "+".join(node.operation.name for node in self.nodes),
            lambda: self.run_arrays(arrays),
            profile_notes.arrays_in(arrays.values()),
            stream.sycl_queue,
        )
        for id, result in zip(self.writes, results, strict=True):
            tensors[id] = plan.adopt(plan.value(id), result)


# --- Operations that oneDNN accepts only after another operation


def copied_input(graph: Any, value: Any, plan: Plan, dtype: str | None = None) -> Any:
    """Add a value of a plan as an input to a fallback graph."""
    kind, label = dtype or value.dtype, f"v{value.id}"
    if value.property == "host_scalar":
        return graph.scalar(kind, name=label)
    return graph.input(plan.shapes[value.id], kind, name=label)


def behind_identity(node: Node, plan: Plan) -> Callable[[Arrays], list[Any]]:
    """Prepend a LeakyReLU with slope 1, which changes nothing."""
    graph = type(plan.graph)(plan.engine)
    inputs = {name: copied_input(graph, value, plan) for name, value in node.inputs.items()}
    inputs["src"] = graph.leaky_relu(inputs["src"], alpha=1.0)
    graph.output(graph.add_operation(node.operation, inputs | node.attributes))
    compiled = graph.compile(plan.queue)
    return lambda arrays: [compiled(*arrays.values())]


# --- f32 graphs for bf16 and f16 operations that the device does not support

#: Types that not every CPU supports.
_NARROW = ("bf16", "f16")


def lacking(nodes: Sequence[Node], plan: Plan) -> list[str]:
    """Return the types in these operations that the device does not support."""
    used = {v.dtype for node in nodes for v in (*node.values, *node.outputs)}
    return [k for k in _NARROW if k in used and not multiplies(plan.engine, dtypes.LONG[k])]


def _warn(nodes: Sequence[Node], kinds: str, plan: Plan) -> None:
    """Warn once that operations are computed in f32."""
    names = ", ".join(dict.fromkeys(node.operation.name for node in nodes))
    policy.warn_once(
        policy.FallbackWarning,
        ("graph", names, kinds),
        f"graph: {plan.engine.sycl_device.name} has no instructions for {kinds}; {names} computed "
        "in float32, with conversions (set_fallback('error') refuses)",
    )


def wide_step(nodes: Sequence[Node], writes: Sequence[int], plan: Plan) -> ArraysStep:
    """Return a group of operations as one f32 graph, with conversions around it.

    Intermediate values remain f32, as in a fused partition. ``writes`` are the ids of the values
    that are needed outside the group.

    Raises Unimplemented if oneDNN does not support the operation in f32 either, or the group only
    converts.
    """
    kinds = " and ".join(lacking(nodes, plan))
    produced = {v.id for node in nodes for v in node.outputs}
    provided = {v.id: v for node in nodes for v in node.values if v.id not in produced}
    graph = _wide_graph(nodes, list(provided.values()), writes, plan)
    inner = graph.compile(plan.queue)
    _warn(nodes, kinds, plan)

    def run(arrays: dict[int, Any]) -> Sequence[Any]:
        output = inner(*map(_widened, arrays.values()))
        return output if isinstance(output, tuple) else (output,)

    reason = f"this device has no instructions for {kinds}; runs in f32"
    return ArraysStep(nodes, list(provided), writes, run, reason, inner)


def _wide_graph(
    nodes: Sequence[Node], provided: Sequence[Any], writes: Sequence[int], plan: Plan
) -> Any:
    """Return a graph of the same operations in f32."""
    graph = type(plan.graph)(plan.engine)
    graph.set_fpmath_mode(*plan.graph.fpmath)
    result: dict[int, Any] = {}
    for value in provided:
        result[value.id] = copied_input(graph, value, plan, _wide(value.dtype))
    for node in nodes:
        results = _copied(graph, node, result)
        result |= {v.id: r for v, r in zip(node.outputs, results, strict=True)}
    for id in writes:
        if result[id].node is None:
            raise Unimplemented("graph: a conversion alone is none in f32")
        graph.output(result[id])
    return graph


def _copied(graph: Any, node: Node, result: dict[int, Any]) -> Sequence[Any]:
    """Copy an operation into a graph and return its results."""
    row = node.operation
    inputs: dict[str, Any] = {
        name: [result[v.id] for v in value] if isinstance(value, list) else result[value.id]
        for name, value in node.inputs.items()
    }
    wide_dtype = _wide(node.outputs[0].dtype)
    if row.name == "type_cast" and inputs["src"].dtype == wide_dtype:
        return (inputs["src"],)
    default = row.outputs[0].dtype
    if row.chosen_dtypes and (default is None or wide_dtype != inputs[default].dtype):
        inputs["dtype"] = wide_dtype
    results = graph.add_operation(row, inputs | node.attributes)
    return results if isinstance(results, tuple) else (results,)


def _wide(dtype: str) -> str:
    return "f32" if dtype in _NARROW else dtype


def _widened(array: Any) -> Any:
    """Convert narrow floating-point arrays to float32; return numbers unchanged."""
    if not hasattr(array, "shape") or dtypes.graph_name(array.dtype, "graph") not in _NARROW:
        return array
    return F.astype(array, "float32")


# --- Selection of a fallback


class Way(NamedTuple):
    """A function from input arrays to output arrays, and the reason for using it."""

    run: Callable[[Arrays], list[Any]]
    reason: str


#: Fallback and reason, by operation.
_WAYS: dict[str, tuple[Callable[[Node], Callable[[Arrays], list[Any]]], str]] = {
    "reciprocal": (reciprocal, "a partition only before a Multiply; runs as a division"),
    "pow": (pow, "no pattern of oneDNN's takes it; runs as the eltwise primitive"),
    "bias_add_backward": (
        bias_add_backward,
        "a partition only after ConvolutionBackwardWeights; runs as the reduction primitive",
    ),
}
#: Fallbacks for operations that oneDNN fails to compile as a partition.
_REFUSED = {
    "quantize": quantize,
    "dynamic_quantize": quantize,
    "dequantize": dequantize,
    "dynamic_dequantize": dequantize,
} | {f"reduce_{kind}": reduction for kind in _REDUCTIONS}
_OF_PIXELS = {"interpolate": spread_pixel, "interpolate_backward": gathered_pixel}
_SELECT_REASON = "GPUs read a condition as if it lay like the result; runs in sycl_dnn"
_PIXEL_REASON = "oneDNN writes elsewhere for images of one pixel; runs in sycl_dnn"
_REFUSED_REASON = "oneDNN has no primitive of these tensors and attributes; runs in sycl_dnn"
#: For the documentation: operations that never are separate partitions, and why.
REASONS = {name: reason for name, (_, reason) in _WAYS.items()} | {
    "dropout": "a partition only after an elementwise operation or MatMul; runs after LeakyReLU "
    "with slope 1, which changes nothing",
    "end": "a mark; nothing runs",
    "wildcard": "your function runs",
    "quantize": _REFUSED_REASON,
    "select": _SELECT_REASON,
    "interpolate": "align_corners is not in oneDNN; runs as gathers of dpnp",
}


def way(node: Node, plan: Plan, problem: Exception | None = None) -> Way:
    """Return the fallback for a node.

    Raises Unimplemented if there is no fallback.
    """
    name = node.operation.name
    if node.function is not None:
        return Way(_wildcard(node), REASONS["wildcard"])
    if name in _WAYS:
        make, reason = _WAYS[name]
        return Way(make(node), reason)
    if name == "dropout" and not lacking([node], plan):
        return Way(behind_identity(node, plan), REASONS["dropout"])
    if node.attributes.get("coordinate_transformation_mode") == "align_corners" and (
        name == "interpolate" and node.attributes["mode"] != "nearest"
    ):
        return Way(align_corners(node), REASONS["interpolate"])
    if name in _OF_PIXELS and is_one_pixel(
        plan.shapes[node.values[0].id], node.attributes["data_format"]
    ):
        return Way(_OF_PIXELS[name](node, plan), _PIXEL_REASON)
    if name == "select":
        return Way(select(node), _SELECT_REASON)
    if name in _REFUSED:
        return Way(_REFUSED[name](node), _REFUSED_REASON)
    if name in OF_NUMBERS and [v.property for v in node.values].count("host_scalar") == 1:
        return Way(with_number(node), "no partition takes a host's number here; runs in sycl_dnn")
    if name == "type_cast":
        return Way(type_cast(node), "oneDNN has no partition of these types; runs as a reorder")
    raise Unimplemented(
        f"{name}: oneDNN must support the operation with these tensors and attributes, got "
        f"{[(v.dtype, plan.shapes[v.id]) for v in node.values]}, {node.attributes}"
        + (f": {problem}" if problem else "")
    )


def lone_step(node: Node, plan: Plan, problem: Exception | None = None) -> ArraysStep:
    """Return an operation as its fallback; raises as ``way``."""
    run, reason = way(node, plan, problem)

    def run_arrays(arrays: dict[int, Any]) -> list[Any]:
        by_name = {
            name: [arrays[v.id] for v in value] if isinstance(value, list) else arrays[value.id]
            for name, value in node.inputs.items()
        }
        return run(by_name)

    reads, writes = ([v.id for v in values] for values in (node.values, node.outputs))
    return ArraysStep([node], reads, writes, run_arrays, reason)


def _wildcard(node: Node) -> Callable[[Arrays], list[Any]]:
    def run(arrays: Arrays) -> list[Any]:
        result = node.function(*arrays["src"])
        return list(result) if isinstance(result, (list, tuple)) else [result]

    return run

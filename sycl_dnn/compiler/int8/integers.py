# SPDX-License-Identifier: Apache-2.0
"""The quantization pass: integer products and convolutions, with integer values in between."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sycl_dnn import _core
from sycl_dnn import functional as F
from sycl_dnn._core import algorithm
from sycl_dnn.compiler.int8.ranges import Ranges, Scale, integer_candidates, scale_of
from sycl_dnn.compiler.rebuilding import kept_layouts, origin, rebuilt
from sycl_dnn.compiler.relayout import same_span
from sycl_dnn.lower.packed_weights import source_of_copy
from sycl_dnn.lower.step_graph import Graph, Node, Refusal, has_only_post_ops
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.fault import sum_of_other_type
from sycl_dnn.trace import layout
from sycl_dnn.trace.capabilities import saturates
from sycl_dnn.trace.pointwise import div
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Storage, Tensor
from sycl_dnn.trace.views import filled, reshape

#: By id of the node: its key among the ranges, and the node.
Products = dict[int, tuple[Any, Node]]
Found = dict[int, Storage]


def staying_scales(
    graph: Graph, products: Products, passing: Collection[int], ranges: Ranges, may_be_signed: bool
) -> dict[int, Scale]:
    """Return the scales of values that remain integers, by id of the storage.

    ``passing`` has the ids of nodes that can process integers unchanged.
    """
    keys = {id(node.dst.storage): key for key, node in products.values()}
    candidates: Found = {}
    for _, node in products.values():
        storage = node.dst.storage
        if _is_whole(node.dst) and graph.is_inner(storage):
            candidates[id(storage)] = storage
    _add_passed_on(graph, passing, candidates)
    while True:
        staying = {
            k: s
            for k, s in candidates.items()
            if _can_stay(graph, products, passing, s, candidates)
        }
        if len(staying) == len(candidates):
            break
        candidates = staying
    scales: dict[int, Scale] = {}
    for group in _groups(graph, passing, candidates):
        covered = [ranges.range(keys[i], "dst") for i in group if i in keys]
        low, high = min(low for low, _ in covered), max(high for _, high in covered)
        scale = scale_of(low, high, may_be_signed)
        scales |= dict.fromkeys(group, scale)
    return scales


def _is_whole(tensor: Tensor) -> bool:
    return not tensor.offset and same_span(tensor.desc, tensor.storage.desc)


def passes_on(node: Node) -> bool:
    """Whether a node can pass integers through: pooling and concatenation."""
    is_supported = node.row in ("pooling_forward", "concat")
    return is_supported and node.has_dst and has_only_post_ops(node.attr) and not len(node.post_ops)


def _input_tensors(node: Node) -> list[Tensor]:
    return list(node.inputs.values())


def _add_passed_on(graph: Graph, passing: Collection[int], candidates: Found) -> None:
    """Add values computed from integer candidates by passing nodes, in order to follow chains."""
    for node in graph.nodes:
        if id(node) not in passing:
            continue
        dst = node.dst.storage
        are_candidates = all(
            id(t.storage) in candidates and _is_whole(t) for t in _input_tensors(node)
        )
        if are_candidates and _is_whole(node.dst) and graph.is_inner(dst):
            candidates[id(dst)] = dst


def _groups(graph: Graph, passing: Collection[int], candidates: Found) -> list[list[int]]:
    """Group the ids of values that must share a scale."""
    group_of = {key: [key] for key in candidates}
    for node in graph.nodes:
        if id(node) not in passing or id(node.dst.storage) not in candidates:
            continue
        joined = group_of[id(node.dst.storage)]
        for tensor in _input_tensors(node):
            other = group_of[id(tensor.storage)]
            if other is not joined:
                joined += other
                for key in other:
                    group_of[key] = joined
    return list({id(group): group for group in group_of.values()}.values())


def _can_stay(
    graph: Graph, products: Products, passing: Collection[int], storage: Storage, candidates: Found
) -> bool:
    writer = graph.writers(storage)[0]
    if id(writer) in passing and any(
        id(t.storage) not in candidates for t in _input_tensors(writer)
    ):
        return False
    readers = graph.readers(storage)
    support = (_reads_integers(graph, products, passing, n, storage, candidates) for n in readers)
    return bool(readers) and all(support)


def _reads_integers(
    graph: Graph, products: Products, passing: Collection[int],
    node: Node, storage: Storage, candidates: Found,
) -> bool:  # fmt: skip
    """Whether a node can read integers from a storage."""
    names = [n for n, t in node.inputs.items() if t.storage is storage]
    if len(names) != 1 or not _is_whole(node.inputs[names[0]]):
        return False
    if id(node) in passing:
        return id(node.dst.storage) in candidates
    if id(node) not in products:
        return False
    return names == ["src"] or _adds_in_place(graph, node, storage, candidates)


def _adds_in_place(graph: Graph, node: Node, storage: Storage, candidates: Found) -> bool:
    """Whether a node can add in place to an integer residual without later readers."""
    if id(node.dst.storage) not in candidates:
        return False
    last = graph.place(node)
    if any(graph.place(n) > last for n in graph.readers(storage)):
        return False
    for index in range(len(node.post_ops)):
        name, args = node.post_ops[index]
        operand = node.inputs.get(f"attr_post_op_{index}_src_1")
        is_sum = name == "append_binary" and args[0] is algorithm.binary_add
        if not is_sum or operand is None or operand.storage is not storage:
            continue
        if operand.desc == node.dst.desc:
            return True
    return False


# --- The pass

#: Largest weight; without VNNI two products are added in 16 bits, and 2 * 255 * 64 still fits.
_LARGEST, _LARGEST_IN_PAIRS = 127.0, 64.0


class Quantizer:
    """A pass that converts products with constant weights to integers.

    A value between two such products remains in integers if all its readers support that: products,
    pooling, and in-place additions of residuals.
    """

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges

    def __call__(self, graph: Graph) -> None:
        """Rewrite the graph."""
        refused: set[int] = set()
        weights: dict[int, tuple[Any, list[Node]]] = {}
        while True:
            refused_id = _Rewriting(graph, self._ranges, refused, weights).run()
            if refused_id is None:
                graph.drop_dead()
                return
            refused.add(refused_id)


class _Rewriting:
    """One attempt: select the values that become integers, then rewrite nodes.

    ``refused`` has the ids of nodes that oneDNN refused in earlier attempts; ``weights`` has the
    weights recorded in those attempts.
    """

    def __init__(
        self,
        graph: Graph,
        ranges: Ranges,
        refused: set[int],
        weights: dict[int, tuple[Any, list[Node]]],
    ) -> None:
        self._graph = graph
        self._trace = graph.trace
        self._products: dict[int, tuple[Any, Node]] = {}
        for key, node in integer_candidates(graph).items():
            if ranges.knows(key) and id(node) not in refused:
                self._products[id(node)] = (key, node)
        #: Ids of nodes that can pass integers through.
        self._passing = {id(n) for n in graph.nodes if passes_on(n)} - refused
        self._weights_of = weights
        self._ranges = ranges
        # For int8 sources oneDNN would halve the weights itself, rounding a second time.
        self._is_exact = not saturates(graph.trace.engine)
        self._scales: dict[int, Scale] = {}
        #: Integer storages, by id of the storage they replace.
        self._narrow: dict[int, Storage] = {}
        self._copies: dict[Any, Tensor] = {}

    def run(self) -> int | None:
        """Rewrite; return the id of a node that oneDNN refuses, in which case nothing changes."""
        self._scales = staying_scales(
            self._graph, self._products, self._passing, self._ranges, self._is_exact
        )
        rewritten: list[tuple[Node, list[Node], Node]] = []
        for node in list(self._graph.nodes):
            if id(node) in self._products:
                key, _ = self._products[id(node)]
                new, node_copies = self._product(node, key)
            elif id(node) in self._passing and self._is_narrow(node.dst):
                new, node_copies = self._passed_on(node), []
            else:
                continue
            if new is None:
                return id(node)
            rewritten.append((node, node_copies, new))
        for old, copies, new in rewritten:
            self._graph.insert(copies, before=old)
            self._graph.replace([], new, at=old)
        return None

    def _is_narrow(self, tensor: Tensor) -> bool:
        return id(tensor.storage) in self._scales

    def _integers(self, tensor: Tensor) -> Tensor:
        """Return the integer view that replaces a tensor."""
        scale = self._scales[id(tensor.storage)]
        storage = self._narrow.get(id(tensor.storage))
        if storage is None:
            storage = Storage(layout.like(tensor.storage.desc, scale.dtype))
            self._narrow[id(tensor.storage)] = storage
        return _retyped_view(tensor, storage, scale.dtype)

    def _product(self, node: Node, key: Any) -> tuple[Node | None, list[Node]]:
        """Return an integer product, and the nodes that compute its operands."""
        graph, attr = self._graph, _core.PrimitiveAttr()
        src_scale = self._scales.get(id(node.inputs["src"].storage))
        src_scale = src_scale or scale_of(*self._ranges.range(key, "src"), self._is_exact)
        if id(node) not in self._weights_of:
            self._weights_of[id(node)] = graph.recorded(lambda: self._weights(node))
        (weights, scales), first = self._weights_of[id(node)]
        inputs, copies = graph.recorded(lambda: self._operands(node, src_scale))
        inputs["attr_scales_weights"] = scales
        src = inputs["src"]
        inputs |= self._scaled(attr, "src", src_scale)
        attr.set_scales_mask("weights", _output_mask(node, weights))
        dst = node.dst
        if self._is_narrow(dst):
            inputs |= self._scaled(attr, "dst", self._scales[id(dst.storage)])
            dst = self._integers(dst)
        dst = self._with_post_ops(node, attr, inputs, dst)
        changes = {"src": src.desc, "dst": dst.desc}
        changes["weights"] = layout.any_layout(weights.shape, "int8")
        changes |= {"bias": inputs["bias"].desc} if "bias" in inputs else {}
        pd = rebuilt(node, attr, kept_layouts(inputs, dst), **changes)
        if isinstance(pd, Refusal) or sum_of_other_type(pd):
            reason = pd if isinstance(pd, Refusal) else "another type of the residual"
            node.refused.append(f"integers: {reason}")
            return None, []
        packed, more = graph.recorded(lambda: self._trace.reorder(weights, pd.desc_of("weights")))
        inputs["weights"] = packed
        fused = [*node.fused, f"{src.dtype} x int8 -> {dst.dtype}"]
        new = node.with_pd(pd, inputs=inputs, outputs={"dst": dst}, fused=fused)
        return new, first + copies + more

    def _operands(self, node: Node, scale: Scale) -> dict[str, Tensor]:
        """Record source and bias; return them by execution argument."""
        src = node.inputs["src"]
        is_narrow = self._is_narrow(src)
        inputs = {"src": self._integers(src) if is_narrow else self._quantized(src, scale)}
        if "bias" in node.inputs:
            bias = origin(self._graph, node.inputs["bias"])
            inputs["bias"] = self._trace.convert(bias, "float32")
        return inputs

    def _quantized(self, src: Tensor, scale: Scale) -> Tensor:
        key = (id(src.storage), src.offset, src.desc, scale)
        if key not in self._copies:
            attr = _core.PrimitiveAttr()
            inputs = {"src": self._before_copy(src)} | self._scaled(attr, "dst", scale)
            out = {"dst": Out(src.shape, scale.dtype, src)}
            self._copies[key] = self._trace.primitive("reorder", inputs, out, attr=attr)["dst"]
        return self._copies[key]

    def _before_copy(self, tensor: Tensor) -> Tensor:
        """Return the source of a copy, since it is copied into integers anyway."""
        source = source_of_copy(self._graph, tensor)
        if source is None or not source.desc.is_plain:
            return tensor
        # A caller's array may be modified in between.
        is_safe = source.storage.argument is None or not self._trace.written
        return source if is_safe else tensor

    def _scaled(self, attr: Any, name: str, scale: Scale) -> dict[str, Tensor]:
        """Set scale and zero point of an argument; return their tensors."""
        attr.set_scales_mask(name, 0)
        tensors = {f"attr_scales_{name}": filled(self._trace, scale.scale, (1,))}
        if scale.zero:
            attr.set_zero_points_mask(name, 0)
            tensors[f"attr_zero_points_{name}"] = filled(self._trace, scale.zero, (1,), "int32")
        return tensors

    def _weights(self, node: Node) -> tuple[Tensor, Tensor]:
        """Return weights as int8, with one scale per output (O,)."""
        trace = self._trace
        wide = trace.convert(origin(self._graph, node.inputs["weights"]), "float32")
        axes = [a for a in range(wide.ndim) if not _output_mask(node, wide) >> a & 1]
        largest = F.amax(F.abs(wide), axes, True) if axes else F.abs(wide)
        limit = _LARGEST if self._is_exact else _LARGEST_IN_PAIRS
        scales = F.maximum(largest * (1 / limit), 1e-12)
        # A row-major copy, since later nodes read it in any shape.
        return trace.convert(div(wide, scales), "int8"), reshape(scales, (scales.size,))

    def _with_post_ops(self, node: Node, attr: Any, inputs: dict, dst: Tensor) -> Tensor:
        """Set the post-ops, including integer residuals; return the destination."""
        post_ops, at = _core.PostOps(), None
        for index in range(len(node.post_ops)):
            name, args = node.post_ops[index]
            operand = node.inputs.get(f"attr_post_op_{index}_src_1")
            if operand is not None and id(operand.storage) in self._scales:
                scale, at = self._scales[id(operand.storage)], operand
                kind = dtypes.DATA_TYPES[scale.dtype]
                post_ops.append_sum(scale.scale, scale.zero, kind)
                continue
            getattr(post_ops, name)(*args)
            for argument in ("src_1", "weights"):
                place = f"attr_post_op_{index}_{argument}"
                if place in node.inputs:
                    inputs[place] = node.inputs[place]
        if len(post_ops):
            attr.set_post_ops(post_ops)
        if at is None:
            return dst
        # The result overwrites the residual.
        storage = self._integers(at).storage
        self._narrow[id(node.dst.storage)] = storage
        return _retyped_view(node.dst, storage, dst.dtype)

    def _passed_on(self, node: Node) -> Node | None:
        """Return integer pooling or concatenation."""
        inputs = {n: self._integers(t) for n, t in node.inputs.items()}
        dst = self._integers(node.dst)
        changes: dict[str, Any] = {"dst": dst.desc}
        descs = [t.desc for t in inputs.values()]
        changes |= {"srcs": descs} if "srcs" in node.params else {"src": descs[0]}
        pd = rebuilt(node, node.attr, {}, **changes)
        if isinstance(pd, Refusal):
            node.refused.append(f"integers: {pd}")
            return None
        fused = [*node.fused, f"{dst.dtype} -> {dst.dtype}"]
        return node.with_pd(pd, inputs=inputs, outputs={"dst": dst}, fused=fused)


def _retyped_view(tensor: Tensor, storage: Storage, dtype: str) -> Tensor:
    """Return a whole tensor as a view of a storage with another dtype."""
    desc = layout.strided(tensor.desc.dims, dtype, tensor.desc.strides)
    return Tensor(tensor.trace, storage, desc, dtype, tensor.shape)


def _output_mask(node: Node, weights: Tensor) -> int:
    """Return the mask of weight axes that correspond to outputs."""
    if node.row == "matmul":
        return 1 << (weights.ndim - 1)
    return 3 if weights.ndim > node.dst.ndim else 1

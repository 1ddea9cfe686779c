# SPDX-License-Identifier: Apache-2.0
"""Small primitives as operations of a host task: products, means, and products with one row."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sycl_dnn import _core
from sycl_dnn._core import MemoryDesc, data_type
from sycl_dnn._core import algorithm as A
from sycl_dnn.compiler.constant_values import constant_ids
from sycl_dnn.compiler.rebuilding import PACKABLE, before_packing
from sycl_dnn.compiler.step_graph import Graph, Node, has_only_post_ops
from sycl_dnn.kernels.expression import COSTLY
from sycl_dnn.kernels.launching import launch_of, recipe_of
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import is_kernel
from sycl_dnn.trace.values import Tensor

#: Multiplications of a product of few and of more rows, and elements of other operations, up to
#: which one thread was faster than oneDNN on two, with its submission.
_MAX_OF_FEW_ROWS, _MAX_PRODUCT, _MAX_ELEMENTS = 300_000, 150_000, 1 << 16
_FEW_ROWS = 16
#: Elements of a kernel, times its functions such as exponentials and one, up to which one thread
#: computes them faster than a launch takes.
MAX_INTERPRETED = 1 << 11
#: Functions of a few instructions; of others, as many elements as of an interpreted kernel.
_CHEAP = frozenset((
    A.eltwise_abs, A.eltwise_clip, A.eltwise_clip_v2, A.eltwise_hardsigmoid, A.eltwise_hardswish,
    A.eltwise_linear, A.eltwise_relu, A.eltwise_sqrt, A.eltwise_square,
))  # fmt: skip
#: Columns below which weights are read row by row; as in csrc/program/host_sequence.cpp.
_FEW_COLUMNS = 16
#: Arguments of a post-op that adds the previous result.
_PLAIN_SUM = (1.0, 0, data_type.undef)


class Operation(NamedTuple):
    """What a node computes: ``data`` follows the arrays in ``_core.Kernel.sequence``."""

    kind: str
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    data: tuple[Any, ...]


def operation_of(graph: Graph, node: Node) -> Operation | None:
    """Return a node as an operation, where constant weights are yet to be packed; else None."""
    if is_kernel(node.primitive):
        return _interpreted(node)
    reader = _READERS.get(node.row)
    tensors = (*node.inputs.values(), *node.outputs.values())
    is_read = all(t.dtype == "float32" and not t.storage.scalar for t in tensors)
    if reader is None or not node.has_dst or not is_read:
        return None
    operation = reader(node)
    if operation is None or operation.kind != "product" or _has_constant_weights(graph, node):
        return operation
    return _with_plain_weights(graph, node, operation)


def _post_ops(node: Node) -> tuple[Tensor | None, tuple[Any, ...]] | None:
    """Return a node's summand and then its functions; None for other post-ops."""
    if not has_only_post_ops(node.attr):
        return None
    summand, functions = None, []
    for i in range(len(node.post_ops)):
        name, args = node.post_ops[i]
        if name == "append_eltwise" and _core.Kernel.can_apply(args[0]):
            functions.append(args)
            continue
        operand = node.inputs.get(f"attr_post_op_{i}_src_1", node.dst)
        is_sum = args[0] is A.binary_add if name == "append_binary" else args == _PLAIN_SUM
        if i or not is_sum or operand.desc != node.dst.desc:
            return None
        summand = operand
    n_costly = sum(algorithm not in _CHEAP for algorithm, *_ in functions)
    if n_costly and node.dst.size * (1 + n_costly) > MAX_INTERPRETED:
        return None
    return summand, tuple(functions)


# --- Products

#: Batches, rows of each, elements of a row, steps between batches and rows, elements before the
#: source that the first row begins, elements of a source.
_Window = tuple[int, int, int, int, int, int, int]


def _product(node: Node) -> Operation | None:
    window, post_ops = _WINDOWS[node.row](node), _post_ops(node)
    if window is None or post_ops is None:
        return None
    summand, functions = post_ops
    batches, rows, k, *steps = window
    n = node.dst.size // max(batches * rows, 1)
    most = _MAX_OF_FEW_ROWS if batches * rows <= _FEW_ROWS else _MAX_PRODUCT
    if not 0 < batches * rows * n * k <= most:
        return None
    bias = node.inputs.get("bias")
    if bias is not None and bias.size != n:
        return None
    inputs = (node.inputs["src"], node.inputs[PACKABLE], bias, summand)
    sizes = (batches, rows, n, k, *steps, rows * n, int(n < _FEW_COLUMNS))
    return Operation("product", inputs, (node.dst,), (sizes, functions))


def _matrix_window(node: Node) -> _Window | None:
    """Return the rows of a product of two matrices, which may have leading axes of size 1."""
    src, dst = node.inputs["src"].desc, node.dst.desc
    matrices = (src, node.inputs[PACKABLE].desc, dst)
    is_one = all(n == 1 for desc in matrices for n in desc.dims[:-2])
    if not (is_one and src.is_plain and dst.is_plain):
        return None
    if layout.canonical_strides(dst.dims, dst.strides) != layout.row_major_strides(dst.dims):
        return None
    (rows, k), (step, inner) = src.dims[-2:], src.strides[-2:]
    if k > 1 and inner != 1:
        return None
    return 1, rows, k, 0, step, 0, (rows - 1) * step + k


def _convolution_window(node: Node) -> _Window | None:
    """Return the windows of a convolution that slide along one axis of channels-last memory."""
    src, weights, dst = node.inputs["src"].desc, node.inputs[PACKABLE].desc, node.dst.desc
    if len(weights.dims) != len(src.dims) or not (_is_by_pixel(src) and _is_by_pixel(dst)):
        return None
    p, (batches, channels, *lengths), kernel = node.params, src.dims, weights.dims[2:]
    padding = list(zip(p["padding_l"], p["padding_r"], strict=True))
    sliding = [a for a, n in enumerate(lengths) if kernel[a] != n or padding[a] != (0, 0)]
    if not sliding:
        k, step = channels * math.prod(kernel), src.strides[0]
        is_dense = batches == 1 or dst.strides[0] == dst.dims[1]
        return (1, batches, k, 0, step, 0, (batches - 1) * step + k) if is_dense else None
    axis = sliding[0]
    if len(sliding) > 1 or any(p["dilates"]) or any(n > 1 for n in lengths[:axis]):
        return None
    inner = channels * math.prod(lengths[axis + 1 :])
    rows, step, lead = dst.dims[2 + axis], p["strides"][axis] * inner, padding[axis][0] * inner
    if batches > 1 and dst.strides[0] != rows * dst.dims[1]:
        return None
    return batches, rows, kernel[axis] * inner, src.strides[0], step, lead, lengths[axis] * inner


def _is_by_pixel(desc: MemoryDesc) -> bool:
    """Whether the channels of a pixel are adjacent, and the pixels dense."""
    if not desc.is_plain:
        return False
    dense = layout.channels_last_strides(desc.dims)
    axes = list(zip(desc.dims, desc.strides, dense, strict=True))[1:]
    return all(n == 1 or stride == step for n, stride, step in axes)


_WINDOWS: dict[str, Callable[[Node], _Window | None]] = {
    "matmul": _matrix_window,
    "convolution_forward": _convolution_window,
}


def _has_constant_weights(graph: Graph, node: Node) -> bool:
    return id(node.inputs[PACKABLE].storage) in constant_ids(graph)


def _with_plain_weights(graph: Graph, node: Node, product: Operation) -> Operation | None:
    """Return a product with weights that are read as they are; None if their layout is another."""
    source, (sizes, functions) = before_packing(graph, node.inputs[PACKABLE]), product.data
    if graph.n_writers(source.storage):
        return None
    src, _, *others = product.inputs
    for is_turned in (0, 1) if sizes[2] >= _FEW_COLUMNS else (1,):
        if _is_in_order(source, _axes_of_weights(node, is_turned)):
            data = ((*sizes[:-1], is_turned), functions)
            return product._replace(inputs=(src, source, *others), data=data)
    return None


def _is_in_order(tensor: Tensor, axes: Sequence[int]) -> bool:
    """Whether a tensor is dense with its axes in this order."""
    if not tensor.desc.is_plain:
        return False
    shape = tuple(tensor.desc.dims[a] for a in axes)
    strides = tuple(tensor.desc.strides[a] for a in axes)
    return layout.canonical_strides(shape, strides) == layout.row_major_strides(shape)


def _axes_of_weights(node: Node, is_turned: int) -> tuple[int, ...]:
    """Return the axes of the weights in the order of the host's matrix, transposed or not."""
    rank = len(node.inputs[PACKABLE].desc.dims)
    inner, out = ((rank - 2,), rank - 1) if node.row == "matmul" else ((*range(2, rank), 1), 0)
    return (out, *inner) if is_turned else (*inner, out)


def with_packed_weights(
    graph: Graph, node: Node, product: Operation
) -> tuple[Operation, list[Node]]:
    """Return a product whose constant weights are packed for the host, and the nodes for that."""
    if not _has_constant_weights(graph, node):
        return product, []
    trace, source = graph.trace, before_packing(graph, node.inputs[PACKABLE])
    src, _, *others = product.inputs
    axes = _axes_of_weights(node, product.data[0][-1])
    if _is_in_order(source, axes):
        return product._replace(inputs=(src, source, *others)), []

    def copy() -> Tensor:
        plain = trace.plain(source)
        shape = tuple(plain.shape[a] for a in axes)
        view = plain.view(shape, tuple(plain.strides[a] for a in axes))
        return trace.reorder(view, layout.row_major(shape, "float32"))

    packed, copies = graph.recorded(copy)
    return product._replace(inputs=(src, packed, *others)), copies


# --- Means, and products of rows with one row


def _mean(node: Node) -> Operation | None:
    src, p, post_ops = node.inputs["src"], node.params, _post_ops(node)
    is_mean = p["algorithm"] in (A.pooling_avg_include_padding, A.pooling_avg_exclude_padding)
    if not is_mean or post_ops is None or post_ops[0] is not None or src.size > _MAX_ELEMENTS:
        return None
    batches, channels, *lengths = src.desc.dims
    is_padded = any((*p["padding_l"], *p["padding_r"], *p["dilation"]))
    if is_padded or list(p["kernel"]) != lengths or any(n > 1 for n in node.dst.desc.dims[2:]):
        return None
    n_pixels = math.prod(lengths)
    is_dense = batches == 1 or src.desc.strides[0] == n_pixels * channels
    if not (is_dense and _is_by_pixel(src.desc) and _is_by_pixel(node.dst.desc)):
        return None
    return Operation("mean", (src,), (node.dst,), ((batches, n_pixels, channels), post_ops[1]))


def _scale(node: Node) -> Operation | None:
    src, factors, post_ops = node.inputs["src_0"], node.inputs["src_1"], _post_ops(node)
    is_product = node.params["algorithm"] is A.binary_mul and src.size <= _MAX_ELEMENTS
    if not is_product or post_ops is None or src.desc != node.dst.desc:
        return None
    sizes = _rows_of(src.desc, factors.desc)
    if sizes is None:
        return None
    return Operation("scale", (src, factors, post_ops[0]), (node.dst,), (sizes, post_ops[1]))


def _rows_of(src: MemoryDesc, factors: MemoryDesc) -> tuple[int, int, int] | None:
    """Return batches, rows and columns if one row of factors is for each batch; else None."""
    if not (layout.is_dense(src) and layout.is_dense(factors)):
        return None
    axes = zip(src.dims, src.strides, factors.dims, factors.strides, strict=True)
    axes_in_order = sorted((a for a in axes if a[0] > 1), key=lambda a: -a[1])
    read = [a for a in axes_in_order if a[2] > 1]
    if read != sorted(read, key=lambda a: -a[3]):
        return None
    groups: list[tuple[bool, int]] = []
    for n, _, m, _ in axes_in_order:
        is_read = m > 1
        size = groups.pop()[1] if groups and groups[-1][0] is is_read else 1
        groups.append((is_read, n * size))
    if [is_read for is_read, _ in groups] not in ([False, True], [True, False, True], [True]):
        return None
    batches, rows, columns = [1, 1, 1, *(n for _, n in groups)][-3:]
    return batches, rows, columns


_READERS: dict[str, Callable[[Node], Operation | None]] = {
    "matmul": _product,
    "convolution_forward": _product,
    "pooling_forward": _mean,
    "binary": _scale,
}


# --- Generated kernels of few elements


def _interpreted(node: Node) -> Operation | None:
    """Return a kernel as an operation; None if it is large, or cannot be interpreted."""
    launch, recipe = launch_of(node.primitive), recipe_of(node.primitive)
    if launch is None or recipe is None or not isinstance(recipe[0], bytes):
        return None
    module, _, numbers, n_groups, *_ = recipe
    n_costly = sum(term.operation in COSTLY for term in launch.form.expression.terms)
    # Element-wise kernels do not say it: they compute each result once, whatever they gather from.
    n_elements = node.primitive.n_visited or sum(t.size for t in node.outputs.values())
    if n_elements * (1 + n_costly) > MAX_INTERPRETED or not _can_interpret(module):
        return None
    data = (module, numbers, n_groups)
    return Operation("kernel", (*node.inputs.values(),), (*node.outputs.values(),), data)


@functools.lru_cache(maxsize=1024)
def _can_interpret(module: bytes) -> bool:
    return _core.Kernel.can_interpret(module)

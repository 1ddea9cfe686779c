# SPDX-License-Identifier: Apache-2.0
"""Small products and convolutions as operations of a host task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from sycl_dnn._core import MemoryDesc, cpu_isa, get_effective_cpu_isa
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.host_post_ops import Operation, with_post_ops
from sycl_dnn.lower.packed_weights import (
    PACKABLE,
    REGISTER,
    before_packing,
    in_order,
    in_registers,
)
from sycl_dnn.lower.step_graph import Graph, Node, has_only_post_ops
from sycl_dnn.trace import functions, layout
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow, reshape, transpose

#: Multiplications of a product up to which one thread was faster than oneDNN on two, with its
#: submission.
_MAX_PRODUCT = 1_200_000
#: The same for depthwise convolutions, whose numbers are read for a few of them each.
_MAX_DEPTHWISE = 150_000
#: Most elements of the window of a transposed convolution, which are copied one by one.
_MAX_TAPS = 36
#: The same for products of few rows, which read their weights from memory.
_MAX_OF_FEW_ROWS, _FEW_ROWS = 300_000, 3
#: Columns below which weights are read row by row if there are few rows; as in
#: csrc/program/host_weights.hpp.
_FEW_COLUMNS, _ROWS_FOR_COPIES = REGISTER, 8
#: Most factor of these limits for several matrices that are copied in each call; numbers of a
#: product's sizes before those of batches.
_FACTOR_OF_COPIED, _SIZES = 4, 10
#: Elements that copies read and write at most.
MAX_COPIED = 1 << 14
#: Position of the steps of the weights along their inner and outer axis among the sizes.
_STEPS = {"product": 6, "convolution": 21, "depthwise": 21, "narrow": 21, "transposed": 21}
#: Results that a register of oneDNN has for each pixel, however few channels there are; and how
#: many times fewer multiplications are worth another order of them.
_LANES, _GAIN = 16, 2
_UNPACKED = (0, 0)
#: Steps of weights with 0 in the columns that they lack, as in csrc/program/host_weights.hpp.
_IN_REGISTERS = (REGISTER, -1)


def product_of(graph: Graph, node: Node, factor: int) -> Operation | None:
    """Return a product or convolution as an operation, some weights yet to be packed."""
    is_packable = _has_packable_weights(graph, node)
    if not is_packable:  # others may be copied in each call
        factor = min(factor, _FACTOR_OF_COPIED) if has_fast_loops() and _are_several(node) else 1
    found = _narrow(graph, node) if is_packable and node.row != "matmul" else None
    if found is None:
        found = _matrix(node, factor) if node.row == "matmul" else _convolution(node, factor)
    bias = node.inputs.get("bias")
    if found is None:
        return None
    kind, n, sizes = found
    if bias is not None and bias.size != n:
        return None
    operation = with_post_ops(node, kind, (node.inputs["src"], node.inputs[PACKABLE], bias), sizes)
    if operation is None or _mixes_planes(operation):
        return None
    operation = _with_steps_of_operands(node, operation)
    if is_packable:
        return operation
    in_place = _with_plain_weights(graph, node, operation)
    if in_place is not None or not _is_copyable(graph, node):
        return in_place
    return _with_steps(operation, before_packing(graph, node.inputs[PACKABLE]), _UNPACKED)


#: Kind, columns of the result, and sizes without the steps of the weights.
_Found = tuple[str, int, tuple[int, ...]]


def _with_steps_of_operands(node: Node, operation: Operation) -> Operation:
    """Return a product of batches with the steps between those of its functions' operands."""
    sizes, *rest = operation.data
    if operation.kind != "product" or len(sizes) == _SIZES:
        return operation
    dims, found = node.dst.desc.dims, list(sizes[:_SIZES])
    last = -2 if node.row == "matmul" else 1
    axes = [a for a, size in enumerate(dims[:last]) if size > 1]
    for i, axis in enumerate(axes):
        found += sizes[_SIZES + 4 * i : _SIZES + 4 * i + 4]
        operands = [t.desc for t in operation.inputs[3:] if t is not None]
        found += [d.strides[axis] if d.dims[axis] > 1 else 0 for d in operands]
    return operation._replace(data=(tuple(found), *rest))


def has_fast_loops() -> bool:
    """Whether the loops of the host are about as fast as oneDNN's."""
    bits = cpu_isa.avx512_core.value
    return get_effective_cpu_isa().value & bits == bits


def _is_small(rows: int, n: int, k: int, factor: int) -> bool:
    most = factor * (_MAX_OF_FEW_ROWS if rows <= _FEW_ROWS else _MAX_PRODUCT)
    return rows * n * k > 0 and rows * max(n, _FEW_COLUMNS) * k <= most


def work_of(node: Node) -> int:
    """Return the multiplications of a product or convolution; 0 of others."""
    if node.row == "inner_product_backward_weights":
        return node.inputs["src"].size * node.inputs["diff_dst"].desc.dims[1]
    if node.row not in ("matmul", "convolution_forward", "deconvolution_forward"):
        return 0
    dims = node.inputs[PACKABLE].desc.dims
    if node.row == "deconvolution_forward":
        return node.inputs["src"].size * math.prod(dims) // dims[1]
    return node.dst.size * (dims[-2] if node.row == "matmul" else math.prod(dims[1:]))


def _length(rows: int, k: int, step: int, inner: int) -> int:
    """Return the elements of a source; the rows of a transposed one are copied first."""
    return (rows - 1) * (step if inner == 1 else k) + k


def _matrix(node: Node, factor: int) -> _Found | None:
    """Return the sizes of a product of matrices, or of several along leading axes."""
    src, weights, dst = node.inputs["src"].desc, node.inputs[PACKABLE].desc, node.dst.desc
    if not (src.is_plain and dst.is_plain):
        return None
    (rows, k), (step, inner) = src.dims[-2:], src.strides[-2:]
    n, (dst_step, dst_inner) = dst.dims[-1], dst.strides[-2:]
    if n > 1 and dst_inner != 1:
        return None
    batches = [a for a, size in enumerate(dst.dims[:-2]) if size > 1]
    if not _is_small(rows * math.prod(dst.dims[:-2]), n, k, factor):
        return None
    if not weights.is_plain and any(size > 1 for size in weights.dims[:-2]):
        return None
    inner = inner if k > 1 else 1
    length = _length(rows, k, step, inner)
    sizes = [rows, n, k, step, 0, length, 0, 0, dst_step, inner]
    for axis in batches:
        of_operands = [d.strides[axis] if d.dims[axis] > 1 else 0 for d in (src, weights)]
        sizes += [dst.dims[axis], *of_operands, dst.strides[axis]]
    return "product", n, tuple(sizes)


def transposed_of(graph: Graph, node: Node, factor: int) -> Operation | None:
    """Return a transposed convolution over channels-last memory, weights yet to be packed."""
    src, weights, p = node.inputs["src"].desc, node.inputs[PACKABLE], node.params
    kernel, n, bias = weights.desc.dims[2:], node.dst.desc.dims[1], node.inputs.get("bias")
    is_grouped = len(weights.desc.dims) > len(src.dims)
    if is_grouped or any(p["dilates"]) or not _has_packable_weights(graph, node):
        return None
    # If windows are smaller than their steps, some results have none.
    if any(k < s for k, s in zip(kernel, p["strides"], strict=True)):
        return None
    n_pixels = math.prod(src.dims) // max(src.dims[1], 1)
    if not _is_small(n_pixels, n, math.prod(kernel) * src.dims[1], factor):
        return None
    if math.prod(kernel) > _MAX_TAPS or (bias is not None and bias.size != n):
        return None
    sizes = windows_of(node, kernel, "dilates")
    inputs = node.inputs["src"], weights, bias
    return None if sizes is None else with_post_ops(node, "transposed", inputs, sizes)


def weight_gradient_of(node: Node) -> Operation | None:
    """Return the gradients of the weights and the bias of a product as an operation."""
    src, diff_dst = node.inputs["src"], node.inputs["diff_dst"]
    weights, bias = node.outputs["diff_weights"], node.outputs.get("diff_bias")
    tensors = [t for t in (src, diff_dst, weights, bias) if t is not None]
    if not all(t.dtype == "float32" and t.desc.is_plain for t in tensors):
        return None
    if len(src.desc.dims) != 2 or not has_only_post_ops(node.attr) or len(node.post_ops):
        return None
    (k, n), rows = src.desc.dims, diff_dst.desc.dims[1]
    inner, step = diff_dst.desc.strides
    dst_step, dst_inner = weights.desc.strides
    if not _is_small(rows, n, k, 1) or (n > 1 and dst_inner != 1):
        return None
    length = _length(rows, k, step, inner)
    sizes = (rows, n, k, step, 0, length, *src.desc.strides, dst_step, inner)
    inputs = (diff_dst, src, None)
    if bias is None:
        return Operation("weight_gradient", (*inputs, None), (weights,), (sizes, (), ()))
    return Operation("weight_gradient", inputs, (bias, weights), (sizes, (), ()))


def _convolution(node: Node, factor: int) -> _Found | None:
    """Return the sizes of a convolution over channels-last memory."""
    src, weights, dst = node.inputs["src"].desc, node.inputs[PACKABLE].desc, node.dst.desc
    kernel, n = weights.dims[2 - len(dst.dims) :], dst.dims[1]
    is_grouped, rows = len(weights.dims) > len(src.dims), math.prod(dst.dims) // max(n, 1)
    k = math.prod(kernel) * (1 if is_grouped else src.dims[1])
    is_too_large = is_grouped and rows * n * k > factor * _MAX_DEPTHWISE
    if is_too_large or not _is_small(rows, n, k, factor):
        return None
    if not is_grouped:
        found = _slid(node) if is_by_pixel(src) and is_by_pixel(dst) else None
        if found is not None:
            return "product", n, found
    elif weights.dims[:3] != (src.dims[1], 1, 1):
        return None
    found = windows_of(node, kernel, "dilates")
    return None if found is None else ("depthwise" if is_grouped else "convolution", n, found)


def _narrow(graph: Graph, node: Node) -> _Found | None:
    """Return the sizes of a convolution with few results for each pixel.

    The pixels of a window along a row are further results, which are then added up.
    """
    src, weights, dst = node.inputs["src"].desc, node.inputs[PACKABLE].desc, node.dst.desc
    n, size = dst.dims[1], weights.dims[-1]
    n_results = -(-size * n // _LANES) * _LANES
    is_grouped, stride = len(weights.dims) > len(src.dims), node.params["strides"][-1]
    if is_grouped or stride > 1 or n_results * _GAIN > size * _LANES:
        return None
    is_on_two = graph.trace.engine.sycl_device.max_compute_units <= 2
    if not (is_on_two and has_fast_loops()):
        return None
    # The channels of results may be planes.
    step = dst.strides[1] if dst.is_plain and n > 1 else 1
    found = windows_of(node, weights.dims[2:], "dilates", has_planes=True)
    return None if found is None else ("narrow", n, (*found, step))


def _mixes_planes(operation: Operation) -> bool:
    """Whether an operation reads operands like its result, whose pixels are in planes."""
    sizes, functions_of_rows, _ = operation.data
    is_planar = operation.kind == "narrow" and sizes[-1] != 1
    return is_planar and any(operand >= 0 and whole for _, whole, _, operand in functions_of_rows)


def _slid(node: Node) -> tuple[int, ...] | None:
    """Return the sizes of a product if the windows of a convolution are in order of memory."""
    src, dst = node.inputs["src"].desc, node.dst.desc
    kernel = node.inputs[PACKABLE].desc.dims[2:]
    p, (batches, channels, *lengths), n = node.params, src.dims, dst.dims[1]
    padding = list(zip(p["padding_l"], p["padding_r"], strict=True))
    is_padded = padding != [(0, 0)] * len(lengths)
    if not is_padded and list(kernel) == lengths:
        rows, k, step = batches, channels * math.prod(kernel), src.strides[0]
        is_dense = batches == 1 or dst.strides[0] == n
        return (rows, n, k, step, 0, (rows - 1) * step + k, 0, 0, n, 1) if is_dense else None
    n_pixels = math.prod(lengths)
    is_dense = batches == 1 or (src.strides[0], dst.strides[0]) == (
        n_pixels * channels,
        n_pixels * n,
    )
    if not is_padded and is_dense and {*kernel, *p["strides"]} == {1}:
        rows = batches * n_pixels
        return rows, n, channels, channels, 0, rows * channels, 0, 0, n, 1
    sliding = (a for a, size in enumerate(lengths) if kernel[a] != size or padding[a] != (0, 0))
    axis, *others = sliding
    if others or any(p["dilates"]) or any(size > 1 for size in lengths[:axis]):
        return None
    inner = channels * math.prod(lengths[axis + 1 :])
    step, lead = p["strides"][axis] * inner, padding[axis][0] * inner
    one = dst.dims[2 + axis], n, kernel[axis] * inner, step, lead, lengths[axis] * inner, 0, 0, n, 1
    return one if batches == 1 else (*one, batches, src.strides[0], 0, dst.strides[0])


def windows_of(
    node: Node, kernel: Sequence[int], dilation: str, *, has_planes: bool = False
) -> tuple[int, ...] | None:
    """Return the sizes of windows along two axes at most of channels-last memory; else None.

    ``has_planes``: whether the channels of the result may be apart.
    """
    src, dst, p = node.inputs["src"].desc, node.dst.desc, node.params
    rank = len(src.dims) - 2
    is_read = src.is_plain and dst.is_plain and 1 <= rank <= 2
    if not is_read or any(
        d.dims[1] > 1 and d.strides[1] != 1 for d in ((src,) if has_planes else (src, dst))
    ):
        return None
    sizes = [(1, 1, 1, 1, 1, 0)] * (2 - rank)
    for a in range(rank):
        stride, dilated, left = p["strides"][a], p[dilation][a] + 1, p["padding_l"][a]
        sizes.append((src.dims[2 + a], dst.dims[2 + a], kernel[a], stride, dilated, left))
    steps = [(d.strides[0], *(0,) * (2 - rank), *d.strides[2:]) for d in (src, dst)]
    flat = [n for row in (*sizes, *steps) for n in row]
    return (src.dims[0], src.dims[1], dst.dims[1], *flat, 0, 0)


def is_by_pixel(desc: MemoryDesc) -> bool:
    """Whether the channels of a pixel are adjacent, and the pixels dense."""
    if not desc.is_plain:
        return False
    dense = layout.channels_last_strides(desc.dims)
    axes = list(zip(desc.dims, desc.strides, dense, strict=True))[1:]
    return all(n == 1 or stride == step for n, stride, step in axes)


# --- Weights


def _has_packable_weights(graph: Graph, node: Node) -> bool:
    """Whether weights are constant, and the same for all batches."""
    storage = node.inputs[PACKABLE].storage
    return not _are_several(node) and id(storage) in constant_ids(graph)


def _is_copyable(graph: Graph, node: Node) -> bool:
    """Whether weights are few enough for a copy in each call."""
    source = before_packing(graph, node.inputs[PACKABLE])
    is_whole = graph.n_writers(source.storage) == 0 and not _are_several(node)
    return is_whole and source.desc.is_plain and source.size <= MAX_COPIED


def _are_several(node: Node) -> bool:
    """Whether matrices of a batch are multiplied by different ones."""
    return node.row == "matmul" and any(n > 1 for n in node.inputs[PACKABLE].desc.dims[:-2])


def _axes_of_weights(node: Node) -> tuple[int, ...]:
    """Return the axes of the weights in the order of the host's matrix: outputs last."""
    rank = len(node.inputs[PACKABLE].desc.dims)
    if node.row == "matmul":
        return rank - 2, rank - 1
    is_grouped = rank > len(node.dst.desc.dims)
    return (*range(3, rank), 0) if is_grouped else (*range(2, rank), 1, 0)


def _steps_of(node: Node, desc: MemoryDesc) -> tuple[int, int] | None:
    """Return the steps of weights along their inner axes, as one, and along the outputs."""
    if not desc.is_plain:
        return None
    *inner, out = _axes_of_weights(node)
    axes = [(desc.dims[a], desc.strides[a]) for a in inner if desc.dims[a] > 1] or [(1, 1)]
    if any(outer != n * step for (_, outer), (n, step) in pairwise(axes)):
        return None
    is_by_tap = len(desc.dims) > len(node.dst.desc.dims)  # rows of channels
    return None if is_by_tap and desc.strides[out] != 1 else (axes[-1][1], desc.strides[out])


def _with_steps(operation: Operation, weights: Tensor, steps: tuple[int, int]) -> Operation:
    """Return an operation on these weights."""
    (src, _, *others), (sizes, *rest) = operation.inputs, operation.data
    at = _STEPS[operation.kind]
    data = ((*sizes[:at], *steps, *sizes[at + 2 :]), *rest)
    return operation._replace(inputs=(src, weights, *others), data=data)


def _with_plain_weights(graph: Graph, node: Node, operation: Operation) -> Operation | None:
    """Return an operation with weights that are read as they are; None in other layouts."""
    weights = node.inputs[PACKABLE]
    source = before_packing(graph, weights)
    is_written = graph.n_writers(source.storage) > 0
    # The sizes have steps between the weights of several batches.
    for tensor in (weights,) if is_written or _are_several(node) else (weights, source):
        steps = _steps_of(node, tensor.desc)
        if steps is not None and _are_few_copied(operation, tensor, steps):
            return _with_steps(operation, tensor, steps)
    return None


def _are_few_copied(operation: Operation, weights: Tensor, steps: tuple[int, int]) -> bool:
    """Whether loops read weights in place, or copy few (csrc/program/host_weights.hpp)."""
    is_product, (k_step, n_step) = operation.kind == "product", steps
    rows, n, k = operation.data[0][:3]
    is_turned = is_product and k_step == 1 and rows < _ROWS_FOR_COPIES
    is_wide = n_step == 1 and (n if is_product else weights.shape[0]) >= _FEW_COLUMNS
    return is_turned or is_wide or (n * k if is_product else weights.size) <= MAX_COPIED


def with_packed_weights(
    graph: Graph, node: Node, operation: Operation, is_constant: bool
) -> tuple[Operation, list[Node]]:
    """Return an operation whose weights are packed, and the nodes for that, if they are not.

    Those of weights that are not constant are copies that the host can perform.
    """
    at = _STEPS.get(operation.kind)
    if at is None or operation.data[0][at : at + 2] != _UNPACKED:
        return operation, []
    source = before_packing(graph, node.inputs[PACKABLE])
    if operation.kind == "transposed":
        return _by_remainder(graph, node, operation, source)
    rows, n, k = operation.data[0][:3]
    *inner, out = _axes_of_weights(node)
    is_turned = operation.kind == "product" and n < _FEW_COLUMNS and rows < _ROWS_FOR_COPIES
    n = source.desc.dims[out]
    if operation.kind == "narrow":
        *lines, column, channel = inner
        inner, n = [*lines, channel, column], n * source.desc.dims[-1]
    axes = (out, *inner) if is_turned else (*inner, out)
    packed, copies = in_order(graph, source, axes)
    if n >= REGISTER or is_turned or operation.kind == "depthwise" or not is_constant:
        return _with_steps(operation, packed, (1, k) if is_turned else (n, 1)), copies
    padded, nodes = in_registers(graph, packed, n)
    return _with_steps(operation, padded, _IN_REGISTERS), [*copies, *nodes]


def _by_remainder(
    graph: Graph, node: Node, operation: Operation, source: Tensor
) -> tuple[Operation, list[Node]]:
    """Return a transposed convolution with weights as it reads them, and the nodes for these.

    Results whose places have the same remainder are those of a convolution with every stride-th
    tap, the last one first; the rows of each are (taps, I), its columns O; or those of all
    remainders along a row.
    """
    sizes, trace, n = operation.data[0], graph.trace, node.dst.desc.dims[1]
    axes = [sizes[start : start + 6] for start in (3, 9)]  # two at most
    by_axis = []
    for _, _, size, stride, _, padding in axes:
        first = [(place + padding) % stride for place in range(stride)]
        by_axis.append([list(range(f, size, stride))[::-1] for f in first])
    is_by_row = _has_own_results(operation, n)

    def record() -> Tensor:
        plain = trace.plain(source)
        outputs, inner = plain.shape[:2]
        kernel = axes[0][2], axes[1][2]
        taps = plain.view((outputs, inner, *kernel), _strides_of_taps(plain))

        def matrix(y: int, x: int) -> Tensor:
            tap = reshape(narrow(narrow(taps, 2, y, 1), 3, x, 1), (outputs, inner))
            return transpose(tap, (1, 0))

        if is_by_row:
            columns = range(kernel[1])
            rows = [y for rows in by_axis[0] for y in rows]
            parts = [functions.cat([matrix(y, x) for x in columns], 1) for y in rows]
        else:
            parts = [
                matrix(y, x)
                for rows in by_axis[0] for columns in by_axis[1] for y in rows for x in columns
            ]  # fmt: skip
        joined = functions.cat(parts, 0)
        return trace.reorder(joined, layout.row_major(joined.shape, "float32"))

    packed, nodes = graph.recorded(record)
    n *= axes[1][3] if is_by_row else 1
    if n >= REGISTER or is_by_row:
        return _with_steps(operation, packed, (n, 1)), nodes
    padded, copies = in_registers(graph, packed, n)
    return _with_steps(operation, padded, _IN_REGISTERS), [*nodes, *copies]


def _has_own_results(operation: Operation, n: int) -> bool:
    """Whether the results of a transposed convolution's pixels do not overlap along a row.

    They are adjacent, then, and one product with the taps of a row computes all of them.
    """
    sizes, functions_of_rows, _ = operation.data
    length, n_results, size, stride, _, padding = sizes[9:15]
    is_apart = size == stride > 1 and padding == 0 and n_results == length * stride
    has_row = any(operand >= 0 and not is_whole for _, is_whole, _, operand in functions_of_rows)
    return is_apart and sizes[20] == n and not has_row


def _strides_of_taps(weights: Tensor) -> tuple[int, ...]:
    """Return the strides of weights over two axes at most as those over two."""
    return (*weights.strides[:2], *(0,) * (4 - weights.ndim), *weights.strides[2:])

# SPDX-License-Identifier: Apache-2.0
"""Small primitives and kernels as operations of a host task."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from sycl_dnn import _core
from sycl_dnn._core import MemoryDesc, normalization_flags
from sycl_dnn._core import algorithm as A
from sycl_dnn.kernels.launching import launches_of, module_of, recipe_of
from sycl_dnn.lower.host_expressions import binary_expression, expression_of
from sycl_dnn.lower.host_gathers import gather_of, rows_of
from sycl_dnn.lower.host_post_ops import COMBINATIONS, Operation, with_post_ops
from sycl_dnn.lower.host_products import (
    MAX_COPIED,
    is_by_pixel,
    product_of,
    transposed_of,
    weight_gradient_of,
    windows_of,
)
from sycl_dnn.lower.host_recurrence import recurrence_of
from sycl_dnn.lower.step_graph import Graph, Node
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.apart import is_row_major
from sycl_dnn.program.host_copies import copy_of
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import is_kernel
from sycl_dnn.trace.values import Tensor

#: Elements that operations other than products read and write up to which one thread was faster
#: than oneDNN on two, with its submission.
_MAX_ELEMENTS, _MAX_NORMED = 1 << 16, 1 << 14
#: Bytes of a concatenation up to which the caller and a second thread copy faster than oneDNN on
#: two processors; on more, these are less.
_MAX_JOINED, _MAX_JOINED_ON_SEVERAL = 1 << 22, 1 << 18
_STATISTICS = ("mean", "variance")
#: Elements that are computed at once where any number would do.
_MAX_ROW = 512
_NORMALIZATION_FLAGS = normalization_flags.use_scale | normalization_flags.use_shift


def operation_of(graph: Graph, node: Node, factor: int = 1) -> Operation | None:
    """Return a node as an operation, some weights of which are yet to be packed; else None.

    ``factor`` is that of the limits.
    """
    if is_kernel(node.primitive):
        found = _recorded(node) or gather_of(node) or rows_of(node) or expression_of(node, factor)
        return found or _interpreted(node, factor)
    if "dst_layer" in node.outputs:
        return recurrence_of(graph, node)
    if node.row == "inner_product_backward_weights":
        return weight_gradient_of(node)
    if "dst" not in node.outputs or node.outputs.keys() - {"dst", *_STATISTICS}:
        return None
    if node.row == "reorder":
        return _copy(node, factor)
    if node.row == "concat":
        return _concat(graph, node, factor)
    tensors = (*node.inputs.values(), *node.outputs.values())
    if not all(t.dtype == "float32" for t in tensors):
        return None
    if node.row in ("matmul", "convolution_forward"):
        return product_of(graph, node, factor)
    if node.row == "deconvolution_forward":
        return transposed_of(graph, node, factor)
    reader, most = _READERS.get(node.row, (None, 0))
    return None if reader is None or node.dst.size > factor * most else reader(node, factor)


def _recorded(node: Node) -> Operation | None:
    """Return the operation that was recorded as a host task, to be one of others."""
    operations, *_ = recipe_of(node.primitive) or ((),)
    if not isinstance(operations, tuple) or len(operations) != 1:
        return None
    kind, places, *data = operations[0]
    tensors = [*node.inputs.values(), *node.outputs.values()]
    arrays = [None if place < 0 else tensors[place] for place, _ in places]
    n_inputs = len(arrays) - len(node.outputs)
    outputs = tuple(node.outputs.values())
    return Operation(kind, tuple(arrays[:n_inputs]), outputs, tuple(data))


def _copy(node: Node, factor: int) -> Operation | None:
    copy = copy_of(node.pd) if node.dst.size <= factor * MAX_COPIED else None
    return None if copy is None else Operation("copy", (node.inputs["src"],), (node.dst,), copy)


def _pool(node: Node, factor: int) -> Operation | None:
    src, p = node.inputs["src"], node.params
    is_maximum = p["algorithm"] is A.pooling_max
    mean = None if is_maximum else _mean(node, factor)
    if mean is not None:
        return mean
    is_padded = any((*p["padding_l"], *p["padding_r"]))
    if is_padded and any(p["dilation"]):  # where no element of a window may be in the source
        return None
    sizes = windows_of(node, p["kernel"], "dilation")
    if sizes is None or node.dst.size * math.prod(p["kernel"]) > 2 * factor * _MAX_ELEMENTS:
        return None
    if is_maximum:
        return with_post_ops(node, "maximum", (src,), sizes)
    counts_padding = float(p["algorithm"] is A.pooling_avg_include_padding)
    return with_post_ops(node, "average", (src,), sizes, (counts_padding,))


def _mean(node: Node, factor: int) -> Operation | None:
    src, dst, p = node.inputs["src"].desc, node.dst.desc, node.params
    batches, channels, *lengths = src.dims
    is_padded = any((*p["padding_l"], *p["padding_r"], *p["dilation"]))
    if is_padded or list(p["kernel"]) != lengths or any(n > 1 for n in dst.dims[2:]):
        return None
    n_pixels = math.prod(lengths)
    steps = zip((src, dst), (n_pixels * channels, channels), strict=True)
    if batches > 1 and any(d.strides[0] != step for d, step in steps if d.is_plain):
        return None
    is_small = n_pixels * batches * channels <= factor * _MAX_ELEMENTS
    if not (is_small and is_by_pixel(src) and is_by_pixel(dst)):
        return None
    return with_post_ops(node, "mean", (node.inputs["src"],), (batches, n_pixels, channels))


def _binary(node: Node, factor: int) -> Operation | None:
    src, other, algorithm = node.inputs["src_0"], node.inputs["src_1"], node.params["algorithm"]
    if src.desc != node.dst.desc:
        return binary_expression(node)
    n, is_whole = _row_of(src.desc, other.desc)
    if n and algorithm in COMBINATIONS:
        combined = ((algorithm, float(is_whole), 0.0, 1),)
        sizes = src.size // n, n
        has_channels = not is_whole and n == src.desc.dims[1] and is_by_pixel(src.desc)
        return with_post_ops(
            node, "functions", (src, other), sizes, is_by_channel=has_channels, first=combined
        )
    return _scale(node, src, other) or binary_expression(node)


def _row_of(src: MemoryDesc, other: MemoryDesc) -> tuple[int, bool]:
    """Return how many elements to combine, and whether no row is read again; 0 if none."""
    if not (layout.is_dense(src) and layout.is_dense(other)):
        return 0, False
    n, m = math.prod(src.dims), math.prod(other.dims)
    if src == other:
        return math.gcd(n, _MAX_ROW), True
    # The innermost elements of the other operand may be those of each row.
    axes = zip(src.dims, src.strides, other.dims, other.strides, strict=True)
    is_row = all(
        (k, t) == (size, step) if step < m and size > 1 else k == 1 for size, step, k, t in axes
    )
    return (m if is_row and 4 <= m <= 8 * _MAX_ROW else 0), False


def _scale(node: Node, src: Tensor, factors: Tensor) -> Operation | None:
    if node.params["algorithm"] is not A.binary_mul:
        return None
    sizes = _rows_of(src.desc, factors.desc)
    if sizes is None:
        return None
    return with_post_ops(node, "scale", (src, factors), sizes, is_by_channel=False)


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


def _softmax(node: Node, factor: int) -> Operation | None:
    src, dims, axis = node.inputs["src"].desc, node.dst.desc.dims, node.params["axis"]
    is_last = math.prod(dims[axis + 1 :]) == 1
    if node.params["algorithm"] is not A.softmax_accurate or not is_last:
        return None
    if not (_is_row_major(src) and _is_row_major(node.dst.desc)):
        return None
    n = dims[axis]
    sizes = node.dst.size // n, n
    return with_post_ops(node, "softmax", (node.inputs["src"],), sizes, is_by_channel=False)


def _layer_norm(node: Node, factor: int) -> Operation | None:
    src, p = node.inputs["src"], node.params
    is_plain = p["flags"] | _NORMALIZATION_FLAGS == _NORMALIZATION_FLAGS
    if not is_plain or not (_is_row_major(src.desc) and _is_row_major(node.dst.desc)):
        return None
    *_, n = src.desc.dims
    inputs = src, node.inputs.get("scale"), node.inputs.get("shift")
    statistics = tuple(node.outputs[name] for name in _STATISTICS if name in node.outputs)
    if not all(_is_row_major(t.desc) for t in statistics):
        return None
    sizes = src.size // n, n, int(bool(statistics))
    is_matrix = len(src.desc.dims) == 2
    return with_post_ops(
        node, "layer_norm", inputs, sizes, (p["epsilon"],), is_matrix, statistics=statistics
    )


def _group_norm(node: Node, factor: int) -> Operation | None:
    src, p = node.inputs["src"], node.params
    batches, channels, *lengths = src.desc.dims
    n_pixels = math.prod(lengths)
    is_plain = p["flags"] | _NORMALIZATION_FLAGS == _NORMALIZATION_FLAGS
    is_dense = layout.is_dense(src.desc) and is_by_pixel(src.desc) and src.desc == node.dst.desc
    if not (is_plain and is_dense and src.desc.strides[0] == n_pixels * channels):
        return None
    inputs = src, node.inputs.get("scale"), node.inputs.get("shift")
    sizes = batches, n_pixels, channels, p["groups"]
    return with_post_ops(node, "group_norm", inputs, sizes, (p["epsilon"],))


def _function(node: Node, factor: int) -> Operation | None:
    src, p = node.inputs["src"], node.params
    if src.desc != node.dst.desc or not layout.is_dense(src.desc):
        return None
    if not _core.Kernel.can_apply(p["algorithm"]):
        return None
    n = math.gcd(src.size, _MAX_ROW)
    sizes, first = (src.size // n, n), (p["algorithm"], p["alpha"], p["beta"], -1)
    return with_post_ops(node, "functions", (src,), sizes, (), False, [first])


def _concat(graph: Graph, node: Node, factor: int) -> Operation | None:
    dst, sources = node.dst.desc, tuple(node.inputs.values())
    n_bytes, rest = divmod(dtypes.bits_of(node.dst.dtype), 8)
    is_copy = not (rest or len(node.post_ops) or node.attr.calls)
    if not (is_copy and layout.is_dense(dst) and all(t.dtype == node.dst.dtype for t in sources)):
        return None
    n_processors = graph.trace.engine.sycl_device.max_compute_units
    most = _MAX_JOINED if n_processors <= 2 else factor * _MAX_JOINED_ON_SEVERAL
    if node.dst.size * n_bytes > most:
        return None
    axis = node.params["concat_dimension"]
    inner = dst.strides[axis]
    rows, step = node.dst.size // (dst.dims[axis] * inner), dst.dims[axis] * inner
    sizes = [rows, step * n_bytes]
    for source in sources:
        groups = _groups_of_rows(source.desc, dst, axis)
        if groups is None:
            return None
        between, n_rows, between_groups = groups
        row = source.desc.dims[axis] * inner
        sizes += [row * n_bytes, between * n_bytes, n_rows, between_groups * n_bytes]
    return Operation("join", sources, (node.dst,), (tuple(sizes), (), ()))


def _groups_of_rows(src: MemoryDesc, dst: MemoryDesc, joined: int) -> tuple[int, int, int] | None:
    """Return the step between the rows of a source, rows of a group, and the step between groups.

    Rows have the joined axis and those inside it. None if they have gaps, or groups do.
    """
    if not src.is_plain:
        return None
    inner = dst.strides[joined]
    groups: list[tuple[int, int]] = []
    axes = zip(src.dims, src.strides, dst.strides, strict=True)
    for n, stride, dense in sorted((a for a in axes if a[0] > 1), key=lambda axis: axis[2]):
        if dense <= inner:
            if stride != dense:
                return None
        elif groups and stride == groups[-1][0] * groups[-1][1]:
            groups[-1] = groups[-1][0] * n, groups[-1][1]
        else:
            groups.append((n, stride))
    if len(groups) > 2:
        return None
    (rows, step), (_, step_of_groups) = [*groups, (1, 0), (1, 0)][:2]
    return step, rows, step_of_groups


def _is_row_major(desc: MemoryDesc) -> bool:
    return desc.is_plain and is_row_major(desc.dims, desc.strides)


#: By primitive: the function that reads it, and the maximum number of elements of its result.
_READERS: dict[str, tuple[Callable[[Node, int], Operation | None], int]] = {
    "pooling_forward": (_pool, _MAX_ELEMENTS),
    "binary": (_binary, _MAX_ELEMENTS),
    "softmax_forward": (_softmax, _MAX_NORMED),
    "layer_normalization_forward": (_layer_norm, _MAX_NORMED),
    "eltwise_forward": (_function, _MAX_NORMED),
    "group_normalization_forward": (_group_norm, _MAX_NORMED // 4),
}


# --- Generated kernels of few elements

#: Of kernels that visit more elements, none is brief (csrc/program/spirv_interpreter.cpp): modules
#: have at least 28 times 64 bytes.
MOST_VISITED = (1 << 17) // 28
#: Most factor of that limit: two threads interpret a kernel among others.
_FACTOR_OF_KERNELS = 4


def _interpreted(node: Node, factor: int) -> Operation | None:
    """Return a kernel as an operation; None if it is large, or cannot be interpreted."""
    n_visited = node.primitive.n_visited if launches_of(node.primitive) else 0
    n_visited = -(-n_visited // min(factor, _FACTOR_OF_KERNELS))
    # Nothing else may need the module of a large kernel.
    module = module_of(node.primitive) if 0 < n_visited <= MOST_VISITED else None
    recipe = recipe_of(node.primitive)
    if module is None or recipe is None or not _is_brief(module, n_visited):
        return None
    _, _, numbers, n_groups, _, facts, _ = recipe
    data = (module, numbers, n_groups, facts)
    return Operation("kernel", (*node.inputs.values(),), (*node.outputs.values(),), data)


@functools.lru_cache(maxsize=1024)
def _is_brief(module: bytes, n_visited: int) -> bool:
    return _core.Kernel.is_brief(module, n_visited)

# SPDX-License-Identifier: Apache-2.0
"""Fault rules for implementations that crash or are incorrect although others are not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sycl_dnn import _core
from sycl_dnn.onednn.apart import has_gaps, is_row_major, strides_of_axes
from sycl_dnn.onednn.fault import (
    GraphOp,
    Operands,
    cpu_has_avx512,
    is_channels_last,
    narrow_lanes,
)

# --- implementations and parameters ---

#: Data types whose products do not run in AMX tiles.
_WITHOUT_TILES = ("f32", "f64", "float32", "float64")

#: Longest row for which the generated code has a reasonable size.
_MAX_ROW = 1 << 22
#: Elements from which plain float32 tensors are transposed by kernels for products.
_TRANSPOSED = 49152


def narrow_window(pd: Any) -> bool:
    """Match LRN over one or two channels with a kernel that crashes at creation."""
    return pd.parameters["local_size"] <= 2 and pd.impl_info.startswith("lrn_jit")


def long_rows(pd: Any) -> bool:
    """Match a kernel that is unrolled over a long row."""
    dims = pd.parameters["src"].dims
    return bool(dims) and dims[-1] > _MAX_ROW and pd.impl_info.startswith("jit")


def copied_narrow_channels(pd: Any) -> bool:
    """Match a strided gradient of 1x1 weights that copies more channels than there are.

    With strides the kernels copy whole vector registers of channels into a buffer that is too
    small.
    """
    if "jit_1x1" not in pd.impl_info:
        return False
    strides, weights = pd.parameters["strides"], pd.parameters["diff_weights"].dims
    grouped = len(weights) > len(strides) + 2
    # Transposed convolutions copy diff_dst.
    axis = grouped + (0 if pd.name.startswith("deconvolution") else 1)
    return any(by > 1 for by in strides) and weights[axis] < narrow_lanes(pd.impl_info)


def strided_lone_batch(pd: Any) -> bool:
    """Match a product with a single batch whose stride is smaller than its matrices.

    The copying kernel uses the smaller of the batch stride and the matrix size, although the stride
    of an axis of length 1 is meaningless.
    """
    if "brg_matmul" not in pd.impl_info:
        return False
    descs = (pd.src_desc, pd.weights_desc, pd.dst_desc)
    return any(_has_small_lone_batch(d) for d in descs if d.is_plain)


def _spans_batches(operand: Sequence[int], result: Sequence[int]) -> bool:
    """Whether an operand is one matrix for two batch axes."""
    is_matrix = len(operand) == 4 and tuple(operand[:2]) == (1, 1) and min(operand[2:]) > 1
    return is_matrix and len(result) == 4 and min(result[:2]) > 1


def mask_of_two_batch_axes(pd: Any) -> bool:
    """Match a product in AMX tiles with a post-op operand (1, 1, M, N)."""
    if "brg_matmul" not in pd.impl_info or "amx" not in pd.impl_info:
        return False
    return any(_spans_batches(d.dims, pd.dst_desc.dims) for d in _given_operands(pd))


def gaps_between_windows(pd: Any) -> bool:
    """Match a transposed convolution whose windows leave elements in between: AMX tiles, or s8."""
    is_signed = pd.parameters["src"].data_type is _core.data_type.s8
    if "brg_deconv" not in pd.impl_info or not ("amx" in pd.impl_info or is_signed):
        return False
    strides = pd.parameters["strides"]
    kernel = pd.parameters["weights"].dims[-len(strides) :]
    return any(by > n for by, n in zip(strides, kernel, strict=True))


#: Columns of narrow depthwise kernels up to which oneDNN creates its fast primitive.
MOST_NARROW_COLUMNS = 14


def many_narrow_columns(pd: Any) -> bool:
    """Match depthwise kernels of narrow types with columns whose code is generated without end."""
    weights = pd.parameters["weights"]
    is_narrow = weights.data_type is not _core.data_type.f32
    return "brdgmm_dw" in pd.impl_info and is_narrow and weights.dims[-1] > MOST_NARROW_COLUMNS


def signed_cells_in_tiles(pd: Any) -> bool:
    """Match recurrent cells over int8 in AMX tiles."""
    is_signed = pd.parameters["src_layer"].data_type is _core.data_type.s8
    return is_signed and "amx" in pd.impl_info


def mask_operation_of_two_batch_axes(ops: Sequence[GraphOp]) -> bool:
    """Match the same in graphs."""
    if "amx" not in _core.get_effective_cpu_isa().name:
        return False
    products = [op for op in ops if op.name.lower() == "matmul" and op.dtype not in _WITHOUT_TILES]
    results = [op.result for op in products if op.result is not None]
    operands = [s for op in ops if op not in products for s in op.shapes]
    return any(_spans_batches(s, result) for s in operands for result in results)


def spread_over_no_order(pd: Any) -> bool:
    """Match a broadcast second operand if the kernel does not recognize the first one's layout.

    It interprets strides as channels-first or channels-last; those of axes of length 1 may fit
    neither, and then nothing is written.
    """
    a, b = pd.src_0_desc, pd.src_1_desc
    if pd.impl_info.startswith("ref") or not a.is_plain or a.dims == b.dims or a.ndims < 2:
        return False
    strides = a.strides
    in_order = strides[0] >= strides[1] and (a.ndims < 3 or strides[1] >= strides[2])
    return strides[1] != 1 and not in_order


def writes_transposed_into_gaps(src: _core.MemoryDesc, dst: _core.MemoryDesc) -> bool:
    """Whether a reorder on a CPU would assume that a target with gaps is dense.

    It does if the target's elements are apart and a large dense source has another order. ``dst``
    may also be the result of a concatenation of which ``src`` is a part.
    """
    f32 = _core.data_type.f32
    if math.prod(src.dims) < _TRANSPOSED or src.data_type is not f32 or dst.data_type is not f32:
        return False
    if not src.is_plain or not dst.is_plain or has_gaps(src) or not cpu_has_avx512():
        return False
    places = zip(src.dims, src.strides, dst.strides, strict=True)
    steps = [to for _, to in sorted((by, to) for n, by, to in places if n > 1)]
    return min(steps) > 1 and steps != sorted(steps)


def transposed_into_gaps(pd: Any) -> bool:
    """Match such a reorder, and a concatenation that uses one."""
    if pd.name == "concat":
        is_affected = pd.impl_info.startswith("ref")
        sources = pd.parameters["srcs"] if is_affected else ()
        return any(writes_transposed_into_gaps(src, pd.dst_desc) for src in sources)
    if pd.impl_info != "brgemm_matmul_copy_reorder_t" or not pd.dst_desc.is_plain:
        return False
    return min(strides_of_axes(pd.dst_desc)) > 1


def _has_small_lone_batch(desc: _core.MemoryDesc) -> bool:
    dims, strides = desc.dims, desc.strides
    if len(dims) < 3:
        return False
    extent = max((n - 1) * by for n, by in zip(dims, strides, strict=True)) + 1
    return any(n == 1 and 0 < by < extent for n, by in zip(dims[:-2], strides, strict=False))


# --- post-op operands that broadcast ---


def operands_of(post_ops: Any) -> list[_core.MemoryDesc]:
    """Return the descriptors of the binary post-ops' operands."""
    ops = (post_ops[i] for i in range(len(post_ops)))
    return [args[1] for kind, args in ops if kind == "append_binary"]


def _given_operands(pd: Any) -> list[_core.MemoryDesc]:
    settings = pd.primitive_attr.get("set_post_ops")
    return operands_of(settings[-1][0]) if settings else []


def _is_canonical(desc: _core.MemoryDesc) -> bool:
    """Whether strides are row-major, including those of axes of length 1."""
    dims = desc.dims
    return all(by == math.prod(dims[a + 1 :]) for a, by in enumerate(desc.strides))


def _lies_alike(a: _core.MemoryDesc, b: _core.MemoryDesc) -> bool:
    if a.dims != b.dims or not a.is_plain:
        return False
    rows = zip(a.dims, a.strides, b.strides, strict=True)
    return all(n == 1 or x == y for n, x, y in rows)


def _along_axes(operands: Sequence[_core.MemoryDesc | None]) -> list[_core.MemoryDesc]:
    return [d for d in operands if d is not None and math.prod(d.dims) > 1]


def misplaced(dst: _core.MemoryDesc, operands: Operands) -> bool:
    """Match operands that are indexed as if the result were row-major.

    Correct are scalars, operands in the layout of the result, row-major ones for a row-major
    result, and per-channel ones for channels-last images; per-channel operands of one-pixel images
    are wrong in every layout.
    """
    if not dst.is_plain:
        return False
    wide = [d for d in _along_axes(operands) if not _lies_alike(d, dst)]
    per_channel = [d for d in wide if [a for a, n in enumerate(d.dims) if n > 1] == [1]]
    if per_channel and math.prod(dst.dims[2:]) == 1 and dst.ndims > 2:
        return True
    if is_channels_last(dst):
        return len(per_channel) < len(wide)
    apart = any(d.is_plain and not is_row_major(d.dims, d.strides) for d in wide)
    return bool(wide) and (apart or not _is_canonical(dst))


def misplaced_in_rows(dst: _core.MemoryDesc, operands: Operands) -> bool:
    """Match operands of a normalization whose rows are not in row-major order.

    One row of each sample repeats the first elements of an operand; seen on AVX-512 with BF16.
    """
    wide = _along_axes(operands)
    if not wide or not dst.is_plain:
        return False
    return not _is_canonical(dst) or (dst.ndims == 3 and dst.dims[1] == 1)


def finds_operands_elsewhere(pd: Any) -> bool:
    """Match implementations subject to ``misplaced``; of references only that of dense softmax."""
    operands, dst = _given_operands(pd), pd.dst_desc
    if not operands:
        return False
    if not pd.impl_info.startswith("ref"):
        return misplaced(dst, operands) or _is_small_and_spread(pd, operands)
    if pd.name != "softmax_forward" or math.prod(dst.dims[pd.axis + 1 :]) > 1:
        return False
    return bool(_along_axes(operands)) and dst.is_plain and not _is_canonical(dst)


def _is_small_and_spread(pd: Any, operands: Operands) -> bool:
    """Whether ``binary`` computes 8-bit results with broadcast operands."""
    small = pd.dst_desc.data_type in (_core.data_type.s8, _core.data_type.u8)
    spread = any(d.dims != pd.dst_desc.dims for d in _along_axes(operands))
    return pd.name == "binary" and small and spread


def rows_find_operands_elsewhere(pd: Any) -> bool:
    """Match implementations subject to ``misplaced_in_rows``."""
    return not pd.impl_info.startswith("ref") and misplaced_in_rows(
        pd.dst_desc, _given_operands(pd)
    )


def slopes_elsewhere(pd: Any) -> bool:
    """Match per-channel slopes for images with an axis between samples and channels."""
    desc, weights = pd.parameters["src"], pd.weights_desc
    if not pd.impl_info.startswith("jit") or not desc.is_plain or weights.dims == desc.dims:
        return False
    channels = desc.strides[1]
    pixels = zip(desc.dims[2:], desc.strides[2:], strict=True)
    return channels > 1 and any(n > 1 and by > channels for n, by in pixels)


def slopes_of_rows(pd: Any) -> bool:
    """Match the gradient of prelu with one slope per channel and row."""
    dims, slopes = list(pd.parameters["src"].dims), list(pd.parameters["weights"].dims)
    if not pd.impl_info.startswith("ref") or len(dims) != 4:
        return False
    return slopes == [1, dims[1], dims[2], 1] and dims[2] > 1 and dims[3] > 1


def softmax_of_one_pixel(ops: Sequence[GraphOp]) -> bool:
    """Match a softmax of one-pixel images with fused operations."""
    shapes = [op.shapes[0] for op in ops if "softmax" in op.name.lower()]
    return len(ops) > 1 and any(len(s) > 2 and math.prod(s[2:]) == 1 for s in shapes)

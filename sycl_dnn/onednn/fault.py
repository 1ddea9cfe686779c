# SPDX-License-Identifier: Apache-2.0
"""``Fault``, a known fault of oneDNN, and the rules that recognize affected programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sycl_dnn import _core
from sycl_dnn.onednn.apart import has_gaps, is_row_major, is_whole


@dataclass(frozen=True)
class Fault:
    """A known wrong result or crash: a row of faults.jsonl.

    name : identifies it in tests and reports
    where, when, wrong, instead : cells of the table in the documentation, in Markdown
    met : ``warned`` at descriptor creation; ``rerouted`` to a correct implementation; ``refused``
        with an error; ``left`` to low-level users, avoided by ``functional``
    rows : the affected primitives, in the file as patterns; none for graphs or any primitive
    device : where it was observed, ``cpu`` or ``gpu`` (simulated, or executed by the CPU); warnings
        apply only there
    until : the oneDNN version in which it is fixed; all were first observed in 3.13.2
    advice : text of the warning or error
    refused_by : C++ function in csrc/primitives/refused_shapes.cpp or csrc/primitives/refusals.cpp
    rule : matches descriptors that are warned of, refused, or of an implementation to skip
    post_ops, partition : rules for primitives with post-ops and for partitions of graphs
    outputs : patterns of outputs whose results may be wrong
    case : a case of the verifier that shows it
    isa, writes : the instructions that oneDNN is limited to for that case; for a case that ends the
        process, those that oneDNN nevertheless writes
    impls : what runs that case on the executing GPU, and on an Arc or Tiger Lake
    reproduced, not_reproduced : the test that shows it instead, or why none does
    """

    name: str
    where: str
    when: str
    wrong: str
    instead: str
    met: Literal["warned", "rerouted", "refused", "left"]
    rows: tuple[str, ...] = ()
    device: Literal["cpu", "gpu"] = "cpu"
    until: str | None = None
    advice: str = ""
    refused_by: str = ""
    rule: Callable[[Any], bool] | None = None
    post_ops: Callable[[Any, Any], bool] | None = None
    partition: Callable[[Any], bool] | None = None
    outputs: tuple[str, ...] = ()
    case: str = ""
    isa: str = ""
    writes: str = ""
    impls: tuple[str, ...] = ()
    reproduced: str = ""
    not_reproduced: str = ""


# --- Rules that recognize a fault; rows of the register refer to them


Operands = Sequence[_core.MemoryDesc | None]


class GraphOp(NamedTuple):
    """An operation of a partition with the known properties of its operands and result.

    ``layout`` is "NCX", "NXC" or ""; ``strides`` is None for operands computed within the
    partition; ``dtype`` is that of the first operand.
    """

    name: str
    shapes: Sequence[Any]
    layout: str = ""
    strides: Sequence[Any] = ()
    result: Any = None
    dtype: str = ""


_LEFT_TO_RIGHT = _core.rnn_direction.unidirectional_left2right
_RMS = _core.normalization_flags.rms_norm
_GLOBAL = _core.normalization_flags.use_global_stats

#: Maximum rank of oneDNN's softmax kernels for GPUs.
AXES_OF_SOFTMAX = 5

# --- descriptors ---


def adjacent(desc: _core.MemoryDesc) -> bool:
    """Whether consecutive steps are contiguous."""
    steps, samples, _ = desc.dims
    return steps == 1 or desc.strides[0] == samples * desc.strides[1]


def no_initial_state(pd: Any) -> bool:
    """Match gradients of a cell without ``src_iter``."""
    p = pd.parameters
    return p["direction"] is _LEFT_TO_RIGHT and p["src_iter"] is None


def strided_source(pd: Any) -> bool:
    """Match non-contiguous steps of src_layer: oneDNN checks only those of dst_layer."""
    merged = adjacent(pd.dst_layer_desc) and pd.impl_info.startswith("ref")
    left_to_right = pd.parameters["direction"] is _LEFT_TO_RIGHT
    return left_to_right and merged and not adjacent(pd.src_layer_desc)


def always(*_: Any) -> bool:
    """Match every use."""
    return True


def rms_without_stats(pd: Any) -> bool:
    """Match rms_norm that computes its own statistics."""
    return bool(pd.flags & _RMS) and not pd.flags & _GLOBAL


def overflowing_lrn(pd: Any) -> bool:
    """Match kernels that compute the cube of the denominator in float32."""
    return pd.impl_info.startswith(("lrn_jit", "jit"))


def row_major_pointwise(pd: Any) -> bool:
    """Match 1x1 kernels with row-major weights."""
    weights = pd.weights_desc
    ungrouped = weights.ndims == pd.src_desc.ndims
    if not (ungrouped and set(weights.dims[2:]) == {1} and weights.is_plain):
        return False
    return weights.strides[0] > weights.strides[1] and "ncsp" in pd.impl_info


def doubled(pd: Any) -> bool:
    """Match an s8 source of a strided deconvolution."""
    is_signed = pd.src_desc.data_type is _core.data_type.s8
    return is_signed and pd.impl_info.endswith("brgconv_strided:avx512_core")


def axis_order(desc: _core.MemoryDesc, axes: Sequence[int]) -> list[int]:
    """Return axes from outermost to innermost."""
    return sorted(axes, key=lambda axis: -desc.strides[axis])


def other_order(pd: Any) -> bool:
    """Match weights whose rows are ordered differently than the columns of the source."""
    src, weights = pd.src_desc, pd.weights_desc
    if not (src.is_plain and weights.is_plain) or "ref" in pd.impl_info:
        return False
    axes = [axis for axis in range(1, src.ndims) if src.dims[axis] > 1]
    return axis_order(src, axes) != axis_order(weights, axes)


def odd_bf16_channels(pd: Any) -> bool:
    """Match bfloat16 channels that do not fill whole vectors."""
    src = pd.src_desc
    is_bf16 = src.data_type is _core.data_type.bf16
    return is_bf16 and src.dims[1] % 16 != 0 and "jit" in pd.impl_info


_WITHOUT_BF16 = ("sse41", "avx", "avx2", "avx2_vnni", "avx512_core", "avx512_core_vnni")


def narrowed_without_bf16(pd: Any) -> bool:
    """Match a float32-to-bfloat16 convolution whose code uses unsupported instructions."""
    types = (pd.src_desc.data_type, pd.dst_desc.data_type)
    narrowed = types == (_core.data_type.f32, _core.data_type.bf16) and "brg" in pd.impl_info
    return narrowed and _core.get_effective_cpu_isa().name in _WITHOUT_BF16


def cpu_has_avx512() -> bool:
    """Whether AVX-512 is available and not disabled in oneDNN."""
    bits = _core.cpu_isa.avx512_core.value
    return bool(_core.get_effective_cpu_isa().value & bits == bits)


#: Without VNNI, sums of two adjacent products have 16 bits and saturate.
_WITHOUT_VNNI = ("sse41", "avx", "avx2", "avx512_core")


def cpu_saturates() -> bool:
    """Whether oneDNN's 8-bit products are incorrect for large values on this CPU.

    Source: oneDNN developer guide, "Nuances of int8 Computations". Implementations cannot be
    queried for this.
    """
    return _core.get_effective_cpu_isa().name in _WITHOUT_VNNI


def saturating(pd: Any) -> bool:
    """Match 8-bit products with 16-bit partial sums."""
    narrow = (_core.data_type.s8, _core.data_type.u8)
    if not all(desc.data_type in narrow for desc in (pd.src_desc, pd.weights_desc)):
        return False
    return cpu_saturates() and "ref" not in pd.impl_info


_WEIGHTS = 33  # DNNL_ARG_WEIGHTS


def shifted_weights_on_avx2(pd: Any) -> bool:
    """Match zero points of weights whose copying kernel requires AVX-512."""
    if not pd.impl_info.startswith("brg_matmul:avx2"):
        return False
    points = pd.primitive_attr.get("set_zero_points")
    if not any(arg == _WEIGHTS and mask for arg, mask, *_ in points):
        return False
    weights = pd.weights_desc
    return not (weights.is_plain and weights.strides[-2] == 1)


def found_scales(pd: Any) -> bool:
    """Match computed scales of a float8 result, which oneDNN does not clip to the maximum."""
    dynamic = (_core.quantization_mode.dynamic_mx, _core.quantization_mode.dynamic_fp)
    is_float8 = pd.dst_desc.data_type in (_core.data_type.f8_e4m3, _core.data_type.f8_e5m2)
    return is_float8 and any(mode in dynamic for *_, mode in pd.primitive_attr.get("set_scales"))


# --- descriptors on GPUs ---

_HALF_BYTES = ("s4", "u4", "f4_e2m1")


def shifted_factors(pd: Any) -> bool:
    """Match a sum with different factors, each of which oneDNN applies to the next input."""
    return "many_inputs" in pd.impl_info and len(set(pd.parameters["scales"])) > 1


def blocked_twice(pd: Any) -> bool:
    """Match weights of a product with two block levels along one axis."""
    axes = list(pd.weights_desc.inner_idxs)
    return "ref" in pd.impl_info and len(set(axes)) < len(axes)


def unwritten_padding(pd: Any) -> bool:
    """Match channels that do not fill whole blocks."""
    output = pd.dst_desc if pd.name == "lrn_forward" else pd.diff_src_desc
    return not output.is_plain and tuple(output.padded_dims) != tuple(output.dims)


def sum_of_other_type(pd: Any) -> bool:
    """Match a sum post-op whose data type differs from the result's."""
    settings = pd.primitive_attr.get("set_post_ops")
    ops = settings[-1][0] if settings else ()
    calls = [ops[i] for i in range(len(ops))]
    types = [args[2] for name, args in calls if name == "append_sum" and len(args) > 2]
    usual = (pd.dst_desc.data_type, _core.data_type.undef)
    return "ocl:ref" in pd.impl_info and any(t not in usual for t in types)


def no_cell_state(pd: Any) -> bool:
    """Match a forward LSTM that starts from uninitialized memory."""
    return pd.parameters["src_iter_c"] is None


def no_cell_gradient(pd: Any) -> bool:
    """Match LSTM gradients that start from uninitialized memory."""
    return no_cell_state(pd) or pd.parameters["diff_dst_iter_c"] is None


def half_bytes(pd: Any) -> bool:
    """Match 4-bit data with byte offsets; the ``ref`` of concat uses such reorders."""
    if pd.impl_info.startswith("ref"):
        return False
    descs = (pd.src_desc, pd.dst_desc, pd.diff_src_desc, pd.diff_dst_desc)
    return any(d is not None and d.data_type.name in _HALF_BYTES for d in descs)


def half_bytes_made(pd: Any) -> bool:
    """Match 4-bit results, and 4-bit sources of resampling, with byte offsets."""
    descs = [pd.dst_desc, pd.diff_src_desc, pd.diff_weights_desc]
    if pd.name.startswith("resampling"):
        descs += [pd.src_desc, pd.diff_dst_desc]
    return any(d is not None and d.data_type.name in _HALF_BYTES for d in descs)


def half_bytes_inside(pd: Any) -> bool:
    """Match 4-bit data with an offset, which only the ``ref`` of matmul supports.

    Concatenation writes its parts by such reorders.
    """
    if pd.name == "concat":
        return pd.dst_desc.data_type.name in _HALF_BYTES
    descs = (d for d in pd.parameters.values() if isinstance(d, _core.MemoryDesc))
    inside = any(d.submemory_offset and d.data_type.name in _HALF_BYTES for d in descs)
    return inside and not pd.impl_info.startswith("ref")


def narrow_statistics(pd: Any) -> bool:
    """Match mean and variance that are not float32."""
    statistics = (pd.desc_of(name) for name in ("mean", "variance"))
    return any(d is not None and d.data_type.name not in ("f32", "undef") for d in statistics)


#: Primitives whose GPU kernels compute f64 in f64, unless there is a bias or post-op.
_EXACT_IN_DOUBLES = (
    "matmul", "conv", "deconv", "inner", "pooling", "softmax_forward", "reorder", "concat",
    "shuffle",
)  # fmt: skip


def doubles_in_float(pd: Any) -> bool:
    """Match f64 that GPUs compute in f32: anything but products, pooling, softmax and copies."""
    parameters = pd.parameters
    descs = [d for d in parameters.values() if isinstance(d, _core.MemoryDesc)]
    if not any(d.data_type is _core.data_type.f64 for d in descs):
        return False
    if not pd.name.startswith(_EXACT_IN_DOUBLES):
        return True
    has_bias = any(parameters.get(name) is not None for name in ("bias", "diff_bias"))
    post_ops = pd.primitive_attr.get("set_post_ops")
    return has_bias or bool(post_ops and len(post_ops[-1][0]))


def clears_too_much(pd: Any) -> bool:
    """Match a diff_src smaller than the padded diff_dst, by whose size oneDNN clears it."""
    gradient, output = pd.diff_dst_desc, pd.diff_src_desc
    is_padded = gradient.padded_dims != gradient.dims
    return pd.impl_info.startswith("ref") and is_padded and output.get_size() < gradient.get_size()


def integer_cell(pd: Any) -> bool:
    """Match an LSTM with 8-bit weights."""
    return pd.weights_layer_desc.data_type is _core.data_type.s8


def begins_inside(pd: Any) -> bool:
    """Match tensors with an offset in their memory."""
    descs = (d for d in pd.parameters.values() if isinstance(d, _core.MemoryDesc))
    return any(d.submemory_offset for d in descs)


def other_rows(pd: Any) -> bool:
    """Match a softmax over layouts that its kernels do not support."""
    src, dst = pd.src_desc, pd.dst_desc
    if "ref" in pd.impl_info or not (src.is_plain and dst.is_plain):
        return False
    if src.strides != dst.strides:
        return True
    is_usual = is_row_major(src.dims, src.strides) or is_channels_last(src)
    # Contiguous rows may be in any order.
    has_rows = src.strides[pd.axis] == 1 and not has_gaps(src)
    return not (is_usual or has_rows or pd.impl_info.startswith("ocl:simple"))


def condition_elsewhere(pd: Any) -> bool:
    """Match a condition in another layout than the result if all other operands share it."""
    if pd.algorithm is not _core.algorithm.binary_select:
        return False
    a, b, c, dst = pd.src_0_desc, pd.src_1_desc, pd.src_2_desc, pd.dst_desc
    layout = (dst.dims, dst.strides)
    if (c.dims, c.strides) == layout or (a.dims, a.strides) != layout:
        return False
    return (b.dims, b.strides) == layout or math.prod(b.dims) == 1


# --- post-ops ---


def _wide(operand: _core.MemoryDesc) -> list[int]:
    return [i for i, n in enumerate(operand.dims) if n > 1]


def two_rows(dst: _core.MemoryDesc, operands: Operands) -> bool:
    """Match two operands along the last axis after an element-wise post-op."""
    first = next((i for i, d in enumerate(operands) if d is None), len(operands))
    rows = [d for d in operands[first:] if d is not None and _wide(d) == [dst.ndims - 1]]
    return len(rows) > 1


def is_channels_last(desc: _core.MemoryDesc) -> bool:
    """Whether a dense image tensor has its channels innermost."""
    if not desc.is_plain or desc.ndims < 3:
        return False
    order = [0, *range(2, desc.ndims), 1]
    strides, step = {}, 1
    for axis in reversed(order):
        strides[axis] = step
        step *= desc.dims[axis]
    return all(n == 1 or desc.strides[a] == strides[a] for a, n in enumerate(desc.dims))


def whole_operand(dst: _core.MemoryDesc, operands: Operands) -> bool:
    """Match an operand of the result's shape if channels are not innermost."""
    has_whole = any(d is not None and d.dims == dst.dims for d in operands)
    return has_whole and not is_channels_last(dst)


# --- partitions ---

_POOLS = ("avgpool", "maxpool")
_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")


def _plain_name(op: GraphOp) -> str:
    return op.name.replace("_", "").lower()


def pooled_operand(ops: Sequence[GraphOp]) -> bool:
    """Match pooling before an operation whose operands all have the pooled shape."""
    if not any(_plain_name(op) in _POOLS for op in ops):
        return False
    return any(
        _plain_name(op) in _BINARY and len(set(op.shapes)) == 1 and math.prod(op.shapes[0]) > 1
        for op in ops
    )


def vector_apart(ops: Sequence[GraphOp]) -> bool:
    """Match a vector with gaps: scale, shift, statistics or bias."""
    return any(
        strides and len(dims) == 1 and not is_whole(dims, strides)
        for op in ops
        for dims, strides in zip(op.shapes, op.strides, strict=bool(op.strides))
    )


def is_one_pixel(shape: Sequence[int], layout: str) -> bool:
    """Whether images of this shape have one pixel; ``layout`` is "NCX" or "NXC"."""
    return set(shape[1:-1] if layout == "NXC" else shape[2:]) == {1}


def resized_pixel(ops: Sequence[GraphOp]) -> bool:
    """Match a resize of one-pixel images."""
    return any(
        _plain_name(op).startswith("interpolate") and is_one_pixel(op.shapes[0], op.layout)
        for op in ops
    )


def narrow_lanes(impl: str | None = None) -> int:
    """Return the float32 lanes per register of an implementation, or of the CPU."""
    return 16 if (cpu_has_avx512() if impl is None else "avx512" in impl) else 8


def narrow_strided_weights(ops: Sequence[GraphOp]) -> bool:
    """Match gradients of 1x1 weights with few channels in downsampling convolutions."""
    return any(
        _plain_name(op) == "convolutionbackwardweights" and _is_narrow_and_strided(op) for op in ops
    )


def _is_narrow_and_strided(op: GraphOp) -> bool:
    at = -1 if op.layout == "NXC" else 1
    src, dst = op.shapes[:2]
    shrinks = math.prod(dst) * src[at] < math.prod(src) * dst[at]
    return shrinks and src[at] < narrow_lanes() and math.prod(op.result) <= src[at] * dst[at]


def spread_condition(ops: Sequence[GraphOp]) -> bool:
    """Match a selection whose condition has another layout than its result."""
    return any(_plain_name(op) == "select" and _lies_elsewhere(op) for op in ops)


def _lies_elsewhere(op: GraphOp) -> bool:
    shape = tuple(op.shapes[0])
    strides = op.strides[0] if op.strides else None
    is_whole = op.result is not None and shape == tuple(op.result)
    return not is_whole or (strides is not None and not is_row_major(shape, strides))


def softmax_of_six_axes(pd: Any) -> bool:
    """Match a softmax with more axes than its kernel supports."""
    desc = pd.dst_desc or pd.diff_src_desc
    return len(desc.dims) > AXES_OF_SOFTMAX and pd.impl_info.startswith("ocl:reusable")


def softmax_operation_of_six_axes(ops: Sequence[GraphOp]) -> bool:
    """Match the same in graphs, forward and backward."""
    return any("softmax" in _plain_name(op) and len(op.shapes[0]) > AXES_OF_SOFTMAX for op in ops)


def softmax_of_other_rows(ops: Sequence[GraphOp]) -> bool:
    """Match a softmax whose source is not row-major."""
    return any(
        _plain_name(op) in ("softmax", "logsoftmax")
        and bool(op.strides)
        and op.strides[0] is not None
        and not is_row_major(op.shapes[0], op.strides[0])
        for op in ops
    )

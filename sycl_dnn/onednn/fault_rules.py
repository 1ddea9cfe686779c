# SPDX-License-Identifier: Apache-2.0
"""What tells a fault of oneDNN when a program meets one; ``faults`` names these rules.

Rules come in four forms, by what they look at: a new descriptor (``warns``, ``refuses``), a case
of the verifier with the name of its implementation (``explains``), the layouts of a result and of
its post-ops' operands (``post_ops``, None for an element-wise one), and the operations of a graph's
partition with the shapes of their operands (``partition``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sycl_dnn import _core

Operands = Sequence[_core.MemoryDesc | None]
#: (name of the operation, shapes of its operands, layout of the images: "NCX", "NXC" or "")
GraphOp = tuple[str, Sequence[Any], str]

_LEFT_TO_RIGHT = _core.rnn_direction.unidirectional_left2right
_RMS = _core.normalization_flags.rms_norm
_GLOBAL = _core.normalization_flags.use_global_stats
_DYNAMIC = ("dynamic_mx", "dynamic_fp")

# --- descriptors ---


def _adjacent(desc: _core.MemoryDesc) -> bool:
    """Whether a step begins one row after the last row of the step before."""
    steps, samples, _ = desc.dims
    return steps == 1 or desc.strides[0] == samples * desc.strides[1]


def no_initial_state(pd: Any) -> bool:
    """Tell gradients of a cell without ``src_iter``."""
    p = pd.parameters
    return p["direction"] is _LEFT_TO_RIGHT and p["src_iter"] is None


def strided_source(pd: Any) -> bool:
    """Tell steps of src_layer apart: those of dst_layer decide whether they become one matrix."""
    merged = _adjacent(pd.dst_layer_desc) and pd.impl_info.startswith("ref")
    left_to_right = pd.parameters["direction"] is _LEFT_TO_RIGHT
    return left_to_right and merged and not _adjacent(pd.src_layer_desc)


def always(*_: Any) -> bool:
    """Tell every use of a primitive."""
    return True


def rms_without_stats(pd: Any) -> bool:
    """Tell rms_norm whose statistics are computed."""
    return bool(pd.flags & _RMS) and not pd.flags & _GLOBAL


def row_major_pointwise(pd: Any) -> bool:
    """Tell 1x1 kernels with row-major weights."""
    weights = pd.weights_desc
    ungrouped = weights.ndims == pd.src_desc.ndims
    if not (ungrouped and set(weights.dims[2:]) == {1} and weights.is_plain):
        return False
    return weights.strides[0] > weights.strides[1] and "ncsp" in pd.impl_info


def doubled(pd: Any) -> bool:
    """Tell an s8 source of a strided deconvolution."""
    is_signed = pd.src_desc.data_type is _core.data_type.s8
    return is_signed and pd.impl_info.endswith("brgconv_strided:avx512_core")


def _axis_order(desc: _core.MemoryDesc, axes: Sequence[int]) -> list[int]:
    return sorted(axes, key=lambda axis: -desc.strides[axis])


def other_order(pd: Any) -> bool:
    """Tell weights whose rows, as a matrix, have another order than columns of the source."""
    src, weights = pd.src_desc, pd.weights_desc
    if not (src.is_plain and weights.is_plain) or "ref" in pd.impl_info:
        return False
    axes = [axis for axis in range(1, src.ndims) if src.dims[axis] > 1]
    return _axis_order(src, axes) != _axis_order(weights, axes)


def odd_bf16_channels(pd: Any) -> bool:
    """Tell bfloat16 channels that fill no whole vector."""
    src = pd.src_desc
    is_bf16 = src.data_type is _core.data_type.bf16
    return is_bf16 and src.dims[1] % 16 != 0 and "jit" in pd.impl_info


_WITHOUT_BF16 = ("sse41", "avx", "avx2", "avx2_vnni", "avx512_core", "avx512_core_vnni")


def narrowed_without_bf16(pd: Any) -> bool:
    """Tell a convolution of float32 to bfloat16 whose code has instructions that the CPU lacks."""
    types = (pd.src_desc.data_type, pd.dst_desc.data_type)
    narrowed = types == (_core.data_type.f32, _core.data_type.bf16) and "brg" in pd.impl_info
    return narrowed and _core.get_effective_cpu_isa().name in _WITHOUT_BF16


# --- cases of the verifier ---


def _dims(call: Any, name: str) -> tuple[int, ...]:
    return call.tensors[name].dims


def _dtype(call: Any, name: str) -> str:
    return call.tensors[name].dtype


def _post_ops(call: Any, kind: str) -> list[int]:
    """Return the places of post-ops of a kind."""
    return [i for i, op in enumerate(call.attr.post_ops) if op.kind == kind]


def case_pointwise(call: Any, impl: str) -> bool:
    """Tell a 1x1 kernel of a row-major deconvolution."""
    return "ncsp" in impl and set(_dims(call, "weights")[2:]) == {1}


def case_other_order(call: Any, impl: str) -> bool:
    """Tell weights of an inner product in another order than its source."""
    src, weights = (call.tensors[n].desc() for n in ("src", "weights"))
    if not impl.startswith(("brg_matmul", "gemm:")) or src.ndims < 3:
        return False
    if not (src.is_plain and weights.is_plain):  # `any`: these are what takes such weights then
        return impl == "gemm:jit" and _dtype(call, "src") in ("s8", "u8")
    axes = range(1, src.ndims)
    return _axis_order(src, axes) != _axis_order(weights, axes)


def case_rms(call: Any, impl: str) -> bool:
    """Tell rms_norm whose statistics are computed."""
    flags = call.params["flags"]
    return "rms_norm" in flags and "use_global_stats" not in flags


def case_bf16_channels(call: Any, impl: str) -> bool:
    """Tell bfloat16 channels that fill no whole vector."""
    odd = _dims(call, "src")[1] % 16 != 0
    return "lrn_jit" in impl and _dtype(call, "src") == "bf16" and odd


def case_wide_lrn(call: Any, impl: str) -> bool:
    """Tell wide windows over one channel beside whole vectors."""
    near = _dims(call, "src")[1] in (17, 31, 33)
    wide = call.params["local_size"] >= 7
    return "lrn_jit" in impl and _dtype(call, "src") != "bf16" and wide and near


def case_repeated_operand(call: Any, impl: str) -> bool:
    """Tell a binary post-op over (N, 1, C)."""
    dims = _dims(call, "dst")
    return len(dims) == 3 and dims[1] == 1 and bool(_post_ops(call, "binary"))


def case_signed_lstm(call: Any, impl: str) -> bool:
    """Tell s8 states of the reference."""
    return _dtype(call, "src_layer") == "s8" and impl.startswith("ref")


def case_strided_source(call: Any, impl: str) -> bool:
    """Tell steps of src_layer apart, those of dst_layer not."""
    one_way = call.params["direction"] == "unidirectional_left2right"
    merged = impl.startswith("ref") and _adjacent(call.tensors["dst_layer"].desc())
    return one_way and merged and not _adjacent(call.tensors["src_layer"].desc())


def case_found_scales(call: Any, impl: str) -> bool:
    """Tell scales of a float8 result that oneDNN finds."""
    found = any(q.arg == "dst" and q.policy in _DYNAMIC for q in call.attr.scales)
    return found and _dtype(call, "dst").startswith("f8")


def case_bf16_projection(call: Any, impl: str) -> bool:
    """Tell a bfloat16 LSTM with a projection."""
    return "weights_projection" in call.tensors and _dtype(call, "src_layer") == "bf16"


def case_padded_depth(call: Any, impl: str) -> bool:
    """Tell padded images of three dimensions in bfloat16."""
    return "jit_bf16" in impl and len(_dims(call, "src")) == 5 and any(call.params["padding_l"])


def case_lone_window(call: Any, impl: str) -> bool:
    """Tell one channel under one window in bfloat16."""
    windows = _dims(call, "diff_dst")[2:]
    return "jit_bf16" in impl and _dims(call, "src")[1] == 1 and set(windows) == {1}


def case_masked_reorder(call: Any, impl: str) -> bool:
    """Tell scales or zero points that differ along axes."""
    quantities = (*call.attr.zero_points, *call.attr.scales)
    return "jit" in impl and any(q.policy not in ("common", "host_scalar") for q in quantities)


def case_four_bit_copy(call: Any, impl: str) -> bool:
    """Tell a copy to 4 bits."""
    return _dtype(call, "dst") in ("s4", "u4") and "jit_direct_copy" in impl


def case_later_operands(call: Any, impl: str) -> bool:
    """Tell two binary post-ops after an element-wise one."""
    found, eltwise = _post_ops(call, "binary"), _post_ops(call, "eltwise")
    return "jit:uni" in impl and len(found) > 1 and bool(eltwise) and eltwise[0] < found[0]


def case_lone_pixels(call: Any, impl: str) -> bool:
    """Tell operands of images of one pixel, and of 8-bit results."""
    dims, small = _dims(call, "dst"), _dtype(call, "dst") in ("s8", "u8")
    alone = small or set(dims[2:]) <= {1}
    return bool(_post_ops(call, "binary")) and "jit" in impl and alone


def case_halved_weights(call: Any, impl: str) -> bool:
    """Tell an s8 source of a kernel that halves weights."""
    narrow = impl.endswith(("jit_uni_int8:avx2", "jit_uni_int8:sse41"))
    return narrow and _dtype(call, "src") == "s8"


def case_doubled(call: Any, impl: str) -> bool:
    """Tell an s8 source of a strided deconvolution."""
    return impl.endswith("brgconv_strided:avx512_core") and _dtype(call, "src") == "s8"


def case_whole_operand(call: Any, impl: str) -> bool:
    """Tell an operand of the shape of pooled images."""
    policies = [op.policy for op in call.attr.post_ops if op.kind == "binary"]
    return "jit" in impl and "per_tensor" in policies


def case_inner_axis(call: Any, impl: str) -> bool:
    """Tell an operand along the last axis of a result that has another axis innermost."""
    # A result that is left to oneDNN gets the layout of the first source.
    found = (call.tensors[name].desc() for name in ("dst", "src_0"))
    dst = next((desc for desc in found if desc.is_plain), None)
    if dst is None:
        return False
    policies = [op.policy for op in call.attr.post_ops if op.kind == "binary"]
    last = dst.ndims - 1
    along = any(str(p) in (str(1 << last), f"per_dim_{last}") for p in policies)
    return "jit:uni" in impl and along and _in_order(dst)[-1] != last


# --- post-ops ---


def _in_order(desc: _core.MemoryDesc) -> list[int]:
    dims, strides = desc.dims, desc.strides
    return sorted(range(len(dims)), key=lambda a: (-strides[a], -dims[a], a))


def _wide(operand: _core.MemoryDesc) -> list[int]:
    return [i for i, n in enumerate(operand.dims) if n > 1]


def last_axis_not_innermost(dst: _core.MemoryDesc, operands: Operands) -> bool:
    """Tell an operand along the last axis of a result that has another axis innermost."""
    found = any(d is not None and _wide(d) == [dst.ndims - 1] for d in operands)
    return found and _in_order(dst)[-1] != dst.ndims - 1


def channels_of_one_pixel(dst: _core.MemoryDesc, operands: Operands) -> bool:
    """Tell an operand along the channels of (N, C, 1...)."""
    if dst.ndims < 3 or any(n > 1 for n in dst.dims[2:]):
        return False
    return any(d is not None and _wide(d) == [1] for d in operands)


def two_rows(dst: _core.MemoryDesc, operands: Operands) -> bool:
    """Tell two operands along the last axis after an element-wise post-op."""
    first = next((i for i, d in enumerate(operands) if d is None), len(operands))
    rows = [d for d in operands[first:] if d is not None and _wide(d) == [dst.ndims - 1]]
    return len(rows) > 1


def _is_channels_last(desc: _core.MemoryDesc) -> bool:
    if not desc.is_plain or desc.ndims < 3:
        return False
    order = [0, *range(2, desc.ndims), 1]
    strides, step = {}, 1
    for axis in reversed(order):
        strides[axis] = step
        step *= desc.dims[axis]
    return all(n == 1 or desc.strides[a] == strides[a] for a, n in enumerate(desc.dims))


def whole_operand(dst: _core.MemoryDesc, operands: Operands) -> bool:
    """Tell an operand of the result's shape where channels are not innermost."""
    found = any(d is not None and d.dims == dst.dims for d in operands)
    return found and not _is_channels_last(dst)


# --- partitions ---

_POOLS = ("avgpool", "maxpool")
_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")


def pooled_operand(ops: Sequence[GraphOp]) -> bool:
    """Tell pooling in front of an operation whose operands all have the pooled images' shape."""
    named = [(name.replace("_", "").lower(), shapes, layout) for name, shapes, layout in ops]
    if not any(name in _POOLS and layout != "NXC" for name, _, layout in named):
        return False
    return any(
        name in _BINARY and len(set(shapes)) == 1 and math.prod(shapes[0]) > 1
        for name, shapes, _ in named
    )

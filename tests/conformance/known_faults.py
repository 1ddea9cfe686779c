# SPDX-License-Identifier: Apache-2.0
"""Rules that recognize cases affected by a fault of oneDNN, whose wrong results are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from sycl_dnn.onednn import faults
from sycl_dnn.onednn.fault import adjacent, always, axis_order, cpu_saturates

PAGE = "docs/onednn_in_python.md"
_DYNAMIC = ("dynamic_mx", "dynamic_fp")


def _dims(call: Any, name: str) -> tuple[int, ...]:
    return call.tensors[name].dims


def _dtype(call: Any, name: str) -> str:
    return call.tensors[name].dtype


def _post_ops(call: Any, kind: str) -> list[int]:
    return [i for i, op in enumerate(call.attr.post_ops) if op.kind == kind]


def pointwise(call: Any, impl: str) -> bool:
    """Match a 1x1 kernel of a row-major deconvolution."""
    return "ncsp" in impl and set(_dims(call, "weights")[2:]) == {1}


def other_order(call: Any, impl: str) -> bool:
    """Match weights of an inner product ordered unlike its source."""
    src, weights = (call.tensors[n].desc() for n in ("src", "weights"))
    if not impl.startswith(("brg_matmul", "gemm:")) or src.ndims < 3:
        return False
    if not (src.is_plain and weights.is_plain):  # these take such weights from `any`
        return impl == "gemm:jit" and _dtype(call, "src") in ("s8", "u8")
    axes = range(1, src.ndims)
    return axis_order(src, axes) != axis_order(weights, axes)


def rms(call: Any, impl: str) -> bool:
    """Match rms_norm with statistics that it computes itself."""
    flags = call.params["flags"]
    return "rms_norm" in flags and "use_global_stats" not in flags


def bf16_channels(call: Any, impl: str) -> bool:
    """Match bfloat16 channels that do not fill whole vectors."""
    odd = _dims(call, "src")[1] % 16 != 0
    return "lrn_jit" in impl and _dtype(call, "src") == "bf16" and odd


def wide_lrn(call: Any, impl: str) -> bool:
    """Match wide windows where one channel is left over after whole vectors."""
    near = _dims(call, "src")[1] in (17, 31, 33)
    wide = call.params["local_size"] >= 7
    return "lrn_jit" in impl and _dtype(call, "src") != "bf16" and wide and near


def signed_lstm(call: Any, impl: str) -> bool:
    """Match s8 states in the reference implementation."""
    return _dtype(call, "src_layer") == "s8" and impl.startswith("ref")


def strided_source(call: Any, impl: str) -> bool:
    """Match steps of src_layer that are not contiguous while those of dst_layer are."""
    one_way = call.params["direction"] == "unidirectional_left2right"
    merged = impl.startswith("ref") and adjacent(call.tensors["dst_layer"].desc())
    return one_way and merged and not adjacent(call.tensors["src_layer"].desc())


def found_scales(call: Any, impl: str) -> bool:
    """Match scales of a float8 result that oneDNN computes."""
    is_dynamic = any(q.arg == "dst" and q.policy in _DYNAMIC for q in call.attr.scales)
    return is_dynamic and _dtype(call, "dst").startswith("f8")


def bf16_projection(call: Any, impl: str) -> bool:
    """Match a bfloat16 LSTM with a projection."""
    return "weights_projection" in call.tensors and _dtype(call, "src_layer") == "bf16"


def padded_depth(call: Any, impl: str) -> bool:
    """Match padded images of three dimensions in bfloat16."""
    return "jit_bf16" in impl and len(_dims(call, "src")) == 5 and any(call.params["padding_l"])


def lone_window(call: Any, impl: str) -> bool:
    """Match one channel and one window in bfloat16."""
    windows = _dims(call, "diff_dst")[2:]
    return "jit_bf16" in impl and _dims(call, "src")[1] == 1 and set(windows) == {1}


def masked_reorder(call: Any, impl: str) -> bool:
    """Match scales or zero points that differ along axes."""
    quantities = (*call.attr.zero_points, *call.attr.scales)
    return "jit" in impl and any(q.policy not in ("common", "host_scalar") for q in quantities)


def four_bit_copy(call: Any, impl: str) -> bool:
    """Match a copy to 4 bits."""
    return _dtype(call, "dst") in ("s4", "u4") and "jit_direct_copy" in impl


def later_operands(call: Any, impl: str) -> bool:
    """Match two binary post-ops after an element-wise one."""
    binary, eltwise = _post_ops(call, "binary"), _post_ops(call, "eltwise")
    return "jit:uni" in impl and len(binary) > 1 and bool(eltwise) and eltwise[0] < binary[0]


def halved_weights(call: Any, impl: str) -> bool:
    """Match an s8 source of a kernel that halves weights."""
    narrow = impl.endswith(("jit_uni_int8:avx2", "jit_uni_int8:sse41"))
    return narrow and _dtype(call, "src") == "s8"


def doubled(call: Any, impl: str) -> bool:
    """Match an s8 source of a strided deconvolution."""
    return impl.endswith("brgconv_strided:avx512_core") and _dtype(call, "src") == "s8"


def whole_operand(call: Any, impl: str) -> bool:
    """Match an operand with the shape of the pooled images."""
    policies = [op.policy for op in call.attr.post_ops if op.kind == "binary"]
    return "jit" in impl and "per_tensor" in policies


def saturating(call: Any, impl: str) -> bool:
    """Match products of 8-bit integers on a CPU that adds them in 16 bits."""
    types = (_dtype(call, "src"), _dtype(call, "weights"))
    return cpu_saturates() and "ref" not in impl and set(types) <= {"s8", "u8"}


#: Name of a fault -> whether it affects a call that an implementation runs.
RULES: dict[str, Callable[[Any, str], bool]] = {
    "deconvolution-pointwise": pointwise,
    "inner-product-order": other_order,
    "rnn-strided-source": strided_source,
    "augru-gradients": always,
    "rms-norm-gradient": rms,
    "lrn-bf16-channels": bf16_channels,
    "lstm-signed-states": signed_lstm,
    "lstm-bf16-projection": bf16_projection,
    "lrn-wide-window": wide_lrn,
    "conv-bf16-padded-depth": padded_depth,
    "conv-bf16-lone-window": lone_window,
    "reorder-masked": masked_reorder,
    "reorder-to-4-bits": four_bit_copy,
    "binary-later-operands": later_operands,
    "deconvolution-halved-weights": halved_weights,
    "deconvolution-doubled": doubled,
    "matmul-found-scales": found_scales,
    "pooling-operand": whole_operand,
    "int8-saturation": saturating,
    "matmul-found-scales-gpu": found_scales,
}


def explain(
    call: Any, impl: str, outputs: Sequence[str], device: str, warned: Sequence[str] = ()
) -> str:
    """Return the fault that explains wrong ``outputs`` of a case; "" for none.

    ``warned`` are the texts of the warnings when its descriptor was made.
    """
    for fault in faults.FAULTS:
        if fault.device != device or call.row not in fault.rows:
            continue
        covered = all(any(fnmatchcase(o, p) for p in fault.outputs) for o in outputs)
        was_warned = fault.met == "warned" and any(fault.advice in text for text in warned)
        if covered and (was_warned or (fault.name in RULES and RULES[fault.name](call, impl))):
            return f"known fault, {PAGE}: {fault.name}"
    return ""

# SPDX-License-Identifier: Apache-2.0
"""Known faults of oneDNN 3.13, so that a wrong number which has a name is listed under it.

Each entry names the row of the table in docs/onednn_in_python.md that describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sycl_dnn.verify import dynamic
from sycl_dnn.verify.call import Call, Tensor


@dataclass(frozen=True)
class Fault:
    """A wrong result that is known.

    row : primitive
    meets : (call, implementation) -> whether the case is one of these
    outputs : what may be wrong
    title : how docs/onednn_in_python.md calls it
    """

    row: str
    meets: Callable[[Call, str], bool]
    outputs: tuple[str, ...]
    title: str


def _dims(call: Call, name: str) -> tuple[int, ...]:
    return call.tensors[name].dims


def _dtype(call: Call, name: str) -> str:
    return call.tensors[name].dtype


def _binaries(call: Call) -> list[int]:
    """Return the places of binary post-ops."""
    return [i for i, op in enumerate(call.attr.post_ops) if op.kind == "binary"]


def _row_major_pointwise(call: Call, impl: str) -> bool:
    return "ncsp" in impl and set(_dims(call, "weights")[2:]) == {1}


def _turned_weights(call: Call, impl: str) -> bool:
    src, weights = (call.tensors[n].desc() for n in ("src", "weights"))
    if not impl.startswith(("brg_matmul", "gemm:")) or src.ndims < 3:
        return False
    if not (src.is_plain and weights.is_plain):  # `any`: these are what takes such weights then
        return impl == "gemm:jit" and _dtype(call, "src") in ("s8", "u8")
    orders = [sorted(range(1, src.ndims), key=lambda a: -d.strides[a]) for d in (src, weights)]
    return orders[0] != orders[1]


def _rms_without_stats(call: Call, impl: str) -> bool:
    flags = call.params["flags"]
    return "rms_norm" in flags and "use_global_stats" not in flags


def _odd_lrn(call: Call, impl: str) -> bool:
    channels = _dims(call, "src")[1]
    if "lrn_jit" not in impl:
        return False
    if _dtype(call, "src") == "bf16":
        return channels % 16 != 0
    return call.params["local_size"] >= 7 and channels in (17, 31, 33)


def _repeated_operand(call: Call, impl: str) -> bool:
    dims = _dims(call, "dst")
    return len(dims) == 3 and dims[1] == 1 and bool(_binaries(call))


def _signed_lstm(call: Call, impl: str) -> bool:
    return _dtype(call, "src_layer") == "s8" and impl.startswith("ref")


def _follow_each_other(tensor: Tensor) -> bool:
    steps, samples, _ = tensor.dims
    strides = tensor.desc().strides
    return steps == 1 or strides[0] == samples * strides[1]


def _apart_steps(call: Call, impl: str) -> bool:
    """Whether steps of src_layer lie apart, and those of dst_layer do not."""
    one_way = call.params["direction"] == "unidirectional_left2right"
    merged = impl.startswith("ref") and _follow_each_other(call.tensors["dst_layer"])
    return one_way and merged and not _follow_each_other(call.tensors["src_layer"])


def _found_scales(call: Call, impl: str) -> bool:
    return dynamic.quantity(call) is not None and _dtype(call, "dst").startswith("f8")


def _bf16_projection(call: Call, impl: str) -> bool:
    return "weights_projection" in call.tensors and _dtype(call, "src_layer") == "bf16"


def _padded_depth(call: Call, impl: str) -> bool:
    return "jit_bf16" in impl and len(_dims(call, "src")) == 5 and any(call.params["padding_l"])


def _lone_window(call: Call, impl: str) -> bool:
    windows = _dims(call, "diff_dst")[2:]
    return "jit_bf16" in impl and _dims(call, "src")[1] == 1 and set(windows) == {1}


def _masked_reorder(call: Call, impl: str) -> bool:
    quantities = (*call.attr.zero_points, *call.attr.scales)
    return "jit" in impl and any(q.policy not in ("common", "host_scalar") for q in quantities)


def _four_bit_copy(call: Call, impl: str) -> bool:
    return _dtype(call, "dst") in ("s4", "u4") and "jit_direct_copy" in impl


def _later_operands(call: Call, impl: str) -> bool:
    found = _binaries(call)
    eltwise = [i for i, op in enumerate(call.attr.post_ops) if op.kind == "eltwise"]
    return "jit:uni" in impl and len(found) > 1 and bool(eltwise) and eltwise[0] < found[0]


def _lone_pixels(call: Call, impl: str) -> bool:
    dims = _dims(call, "dst")
    small = _dtype(call, "dst") in ("s8", "u8")
    return bool(_binaries(call)) and "jit" in impl and (small or set(dims[2:]) <= {1})


def _halved_weights(call: Call, impl: str) -> bool:
    return (
        impl.endswith(("jit_uni_int8:avx2", "jit_uni_int8:sse41")) and _dtype(call, "src") == "s8"
    )


def _doubled(call: Call, impl: str) -> bool:
    return impl.endswith("brgconv_strided:avx512_core") and _dtype(call, "src") == "s8"


def _whole_operand(call: Call, impl: str) -> bool:
    policies = [op.policy for op in call.attr.post_ops if op.kind == "binary"]
    return "jit" in impl and "per_tensor" in policies


_ALWAYS = lambda call, impl: True  # noqa: E731
_AUGRU = "augru_backward, lbr_augru_backward: not the gradients of the forward pass"

FAULTS: tuple[Fault, ...] = (
    Fault("deconvolution_forward", _row_major_pointwise, ("dst",), "1x1 kernel, all row-major"),
    Fault("inner_product_forward", _turned_weights, ("dst",), "channels last, weights (I, *S, O)"),
    *(
        Fault(f"{cell}_backward", _apart_steps, ("diff_weights_layer",), "steps of src_layer apart")
        for cell in ("vanilla_rnn", "lstm", "gru", "lbr_gru")
    ),
    Fault("matmul", _found_scales, ("dst",), "scales of dst that oneDNN finds, float8"),
    Fault("augru_backward", _ALWAYS, ("diff_*",), _AUGRU),
    Fault("lbr_augru_backward", _ALWAYS, ("diff_*",), _AUGRU),
    Fault("layer_normalization_backward", _rms_without_stats, ("diff_src",), "rms_norm, diff_src"),
    Fault("lrn_backward", _odd_lrn, ("diff_src",), "lrn_jit, channels no multiple of 16"),
    Fault("layer_normalization_forward", _repeated_operand, ("dst",), "(N, 1, C), binary post-op"),
    Fault("lstm_forward", _signed_lstm, ("dst_*",), "s8 states in ref"),
    Fault("lstm_forward", _bf16_projection, ("dst_*",), "bf16 with a projection"),
    Fault("lstm_backward", _bf16_projection, ("diff_*",), "bf16 with a projection"),
    Fault("convolution_backward_weights", _padded_depth, ("diff_weights",), "bf16, padded depth"),
    Fault("convolution_backward_weights", _lone_window, ("diff_weights",), "bf16, one window"),
    Fault("deconvolution_forward", _halved_weights, ("dst",), "s8 source, jit_uni_int8"),
    Fault("deconvolution_forward", _doubled, ("dst",), "s8 source, strides, AVX-512 without VNNI"),
    Fault("pooling_forward", _whole_operand, ("dst",), "operand of the shape of dst"),
    Fault("reorder", _masked_reorder, ("dst",), "jit:uni, zero points or scales with a mask"),
    Fault("reorder", _four_bit_copy, ("dst",), "s8 or bf16 to 4 bits"),
    Fault("binary", _later_operands, ("dst",), "eltwise, then two binary post-ops"),
    Fault("binary", _lone_pixels, ("dst",), "post-op of shape (1, C, 1...)"),
)


def _covers(fault: Fault, output: str) -> bool:
    return any(fnmatchcase(output, pattern) for pattern in fault.outputs)


def find(call: Call, impl: str, outputs: Sequence[str]) -> str:
    """Return the title of the known fault that explains wrong ``outputs``; "" for none."""
    for fault in FAULTS:
        covered = all(_covers(fault, output) for output in outputs)
        if fault.row == call.row and covered and fault.meets(call, impl):
            return f"known fault, docs/onednn_in_python.md: {fault.title}"
    return ""

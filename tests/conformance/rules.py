# SPDX-License-Identifier: Apache-2.0
"""The tolerance of each driver's results, as benchdnn has them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from conformance.tolerance import Rule, amplification, log2_ceil
from sycl_dnn.tools.cases.call import Call
from sycl_dnn.tools.cases.storage import DIGITS, INTEGERS, epsilon

_INACCURATE = ("gelu_tanh", "elu", "swish", "tanh", "soft_relu", "mish", "log")
_COMPARES = ("ge", "gt", "le", "lt", "eq", "ne", "select")


def _product(call: Call, name: str) -> Rule:
    # Winograd exists only on GPUs. Its transforms round three times: 6.0005 for 6.
    eps = {"winograd": 2e-4}.get(call.params.get("algorithm", "").split("_")[-1], 0.0)
    if call.attr.fpmath[0] != "strict" or call.attr.acc_mode not in ("strict", "f32", "s32"):
        eps = max(eps, 1e-5)
    if any(op.algorithm in ("binary_eq", "binary_select") for op in call.attr.post_ops):
        return Rule(eps, zeros=100.0)
    return Rule(eps, zeros=98.0 if call.is_backward else 90.0)


def _pool(call: Call, name: str) -> Rule:
    if call.params["algorithm"] == "pooling_max":
        return Rule(0.0, 99.0 if call.is_backward else 60.0)
    threshold = 10 * epsilon(call.tensors[name].dtype)
    # Sums of a window cancel; their terms are of size 128.
    absolute = 128 * epsilon("f32") if call.tensors[name].dtype == "f32" else 0.0
    rounds = {t.dtype for t in call.tensors.values()} & {"s8", "u8"}
    return Rule(threshold, 99.0 if call.is_backward or rounds else 60.0, absolute)


def _lrn(call: Call, name: str) -> Rule:
    axes = (
        1
        if call.params["algorithm"] == "lrn_across_channels"
        else (len(call.tensors[name].dims) - 2)
    )
    count = call.params["local_size"] ** axes
    threshold = max(count, 2) * 3 * epsilon(call.tensors[name].dtype)
    return Rule(threshold, 60.0, 3e-6 if call.is_backward else 0.0, norm=call.is_backward)


def _eltwise(call: Call, name: str) -> Rule:
    dtype = call.tensors[name].dtype
    base = call.params["algorithm"].split("_use_")[0].removeprefix("eltwise_")
    threshold = max(epsilon(dtype), 4e-5 if base in _INACCURATE else 4e-6)
    # Differences of nearly equal numbers lose digits: their terms are of this size.
    absolute = {"gelu_tanh": 2e-5, "gelu_erf": 2e-5, "mish": 2e-5, "tanh": 4e-5}.get(base, 0.0)
    if call.is_backward and base in ("gelu_erf", "swish", "mish", "logistic", "tanh", "gelu_tanh"):
        absolute = max(absolute, 4e-5)
    if base == "log":
        absolute = 4e-6
    return Rule(threshold, 100.0, absolute)


def _softmax(call: Call, name: str) -> Rule:
    dtype = call.tensors[name].dtype
    log = call.params["algorithm"] == "softmax_log"
    factor = 10 * (5 if log else 1) * (4 if call.is_backward else 1)
    threshold = factor * epsilon("f32") if dtype == "f32" else epsilon(dtype)
    # oneDNN's own logarithm has an error of about 4e-6.
    absolute = (
        (8e-6 if log else 4e-6) * (4 if call.is_backward else 1)
        if dtype == "f32"
        else epsilon(dtype) / 8
    )
    if call.attr.acc_mode != "strict":
        threshold = max(threshold, 4 * epsilon("bf16") if dtype != "f32" else 1e-5)
    return Rule(threshold, 100.0, absolute * amplification(call))


def _binary(call: Call, name: str) -> Rule:
    compares = call.params["algorithm"].removeprefix("binary_") in _COMPARES
    floors = any(op.kind == "eltwise" for op in call.attr.post_ops) or "u8" in (
        call.tensors["dst"].dtype
    )
    integers = {t.dtype for t in call.tensors.values()} & {"s8", "u8", "s32"}
    loose = compares or floors or integers or call.tensors["dst"].dims.count(1) > 2
    return Rule(epsilon(call.tensors["dst"].dtype), 100.0 if loose else 60.0)


def _prelu(call: Call, name: str) -> Rule:
    return Rule(2 * epsilon(call.tensors[name].dtype), 100.0 if call.is_backward else 40.0)


def _matmul(call: Call, name: str) -> Rule:
    if name == "attr_dropout_mask":
        return Rule(zeros=100.0)
    loose = call.attr.fpmath[0] != "strict" or call.attr.acc_mode in ("relaxed", "any", "f16")
    if loose:
        return Rule(1e-5, zeros=90.0)
    if call.attr.dropout is not None:
        return Rule(4 * epsilon("f32"), zeros=100.0)
    is_sparse = any(t.encoding for t in call.tensors.values())
    shaped = call.attr.post_ops or any(q.arg == "dst" for q in call.attr.scales)
    return Rule(0.0, zeros=100.0 if is_sparse or shaped else 90.0)


def _resampling(call: Call, name: str) -> Rule:
    types = [t.dtype for t in call.tensors.values()]
    if call.params["algorithm"] == "resampling_nearest" and not call.is_backward:
        return Rule(0.0, 99.0)
    threshold = 7 * max(map(epsilon, types))
    # Coordinates are f32. Their error grows with the size of an axis and is multiplied by slopes
    # of up to 16.
    size = max(max(t.dims[2:]) for t in call.tensors.values())
    return Rule(threshold, 99.0, 32 * epsilon("f32") * size)


def _reduction(call: Call, name: str) -> Rule:
    dtype = call.tensors["dst"].dtype
    factor = 5 if "norm" in call.params["algorithm"] else 1
    count = prod(call.tensors["src"].dims) / max(prod(call.tensors["dst"].dims), 1)
    absolute = epsilon("f32") * 8 * count if dtype == "f32" else 0.0
    if call.params["algorithm"] in ("reduction_max", "reduction_min"):
        absolute = 0.0
    rounds = call.params["algorithm"] == "reduction_mean" and dtype in INTEGERS
    zeros = 100.0 if rounds else 80.0
    return Rule(factor * max(epsilon(dtype), epsilon("f32")), zeros, absolute)


def _sum(call: Call, name: str) -> Rule:
    count, dtype = len(call.params["scales"]), call.tensors["dst"].dtype
    return Rule(epsilon(dtype) * count, 60.0, 2e-5 if dtype == "f32" else 0.0)


def _norm(call: Call, name: str) -> Rule:
    dtype = call.tensors[name].dtype
    lost = 2.0 ** (24 - min(DIGITS[dtype], 24))
    size = {"lnorm": 5e-7}.get(call.driver, 6e-7)
    if name.startswith(("diff_scale", "diff_shift")):
        # Over few elements their terms may cancel.
        return Rule(5e-6 * lost, 99.0, 1e-6, norm=True)
    if name in ("mean", "variance"):
        return Rule(2e-7, 100.0, 1e-7)
    # The difference of nearly equal terms has an error of f32's epsilon times the terms.
    absolute = (2e-6 if dtype in ("f32", "f16") else 1e-5) * amplification(call)
    zeros = 100.0 if dtype in ("s8", "u8") else 99.0
    return Rule(size * lost, zeros, absolute if dtype in ("f32", "bf16", "f16") else 0.0, norm=True)


def _rnn(call: Call, name: str) -> Rule:
    types = {t.dtype for t in call.tensors.values()}
    quantization = call.facts.get("rnn_quantization")
    if quantization:
        dtype = call.tensors[name].dtype
        # A state that was rounded in the other direction changes all later ones.
        layers, steps = (call.tensors[n].dims[0] for n in ("weights_layer", "src_layer"))
        size = log2_ceil(layers * steps)
        scale = 1.0 if dtype in ("u8", "s8") else quantization["data"][0] / 1.5
        return Rule(0.0, 100.0, size / scale)
    eps = max(epsilon(t) for t in types)
    if call.attr.fpmath[0] in ("bf16", "any"):
        eps = max(eps, epsilon("bf16"))
    layers, _, channels, gates, hidden = call.tensors["weights_layer"].dims
    steps = call.tensors["src_layer"].dims[0] * layers
    both = call.params["direction"] == "bidirectional_sum"
    factor = 4 * (1 + call.is_backward) * (1 + both)
    threshold = factor * log2_ceil(max(channels, hidden * gates) * steps) * eps
    return Rule(threshold, 100.0, 0.25 * threshold, norm=True)


#: Driver -> (call, output) -> rule of that output.
RULES: dict[str, Callable[[Call, str], Rule]] = {
    **dict.fromkeys(("conv", "deconv", "ip"), _product),
    **dict.fromkeys(("bnorm", "lnorm", "gnorm"), _norm),
    **dict.fromkeys(("concat", "shuffle"), lambda call, name: Rule(0.0, 60.0)),
    "matmul": _matmul,
    "eltwise": _eltwise,
    "binary": _binary,
    "prelu": _prelu,
    "pool": _pool,
    "lrn": _lrn,
    "softmax": _softmax,
    "sum": _sum,
    "reorder": lambda call, name: Rule(0.0, 80.0),
    "resampling": _resampling,
    "reduction": _reduction,
    "rnn": _rnn,
}

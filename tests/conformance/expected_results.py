# SPDX-License-Identifier: Apache-2.0
"""The reference result of a call, with its attributes and dynamic scales applied.

Source: oneDNN's guide on quantization (dynamic quantization, MX and others).
"""

from __future__ import annotations

import numpy as np

from conformance.references import pointwise_primitives, reference, window_primitives
from sycl_dnn.tools.cases.call import Call
from sycl_dnn.tools.cases.data import Arrays
from sycl_dnn.tools.cases.execution import drawn
from sycl_dnn.tools.cases.options import PostOp, Quantity
from sycl_dnn.tools.cases.storage import code_dtype, decode, encode, largest, rounded, smallest

# --- Scales of ``dst`` that oneDNN computes from the largest value of each group

POLICIES = ("mx", "dynamic_fp")


def quantity(call: Call) -> Quantity | None:
    """Return the scale of ``dst`` that the execution writes; None if there is none."""
    dynamic = (q for q in call.attr.scales if q.arg == "dst" and q.policy in POLICIES)
    return next(dynamic, None)


def _largest_of_groups(x: np.ndarray, groups: tuple[int, ...]) -> np.ndarray:
    sizes = np.abs(x)
    for axis, group in enumerate(groups, start=x.ndim - len(groups)):
        sizes = np.maximum.reduceat(sizes, np.arange(0, x.shape[axis], group), axis=axis)
    return sizes


def scales(scale: Quantity, x: np.ndarray, dtype: str) -> np.ndarray:
    """Return the scale of each group of ``x``, whose results have type ``dtype``.

    MX rounds both the largest value and that of the type down to powers of two before it divides.
    In the other mode, oneDNN 3.13 gives groups of zeros the scale 1 and has no bounds.
    """
    top = _largest_of_groups(x, scale.groups)
    if scale.policy == "mx":
        return rounded(
            rounded(top, scale.dtype) / rounded(np.asarray(largest(dtype)), scale.dtype),
            scale.dtype,
        )
    return rounded(np.where(top == 0, 1.0, top / largest(dtype)), scale.dtype)


# --- What attributes do to a result, in float64: scales, zero points, dropout, post-ops

#: Drivers whose source scale multiplies the result instead of the source.
_SCALED_RESULT = ("softmax", "lnorm", "gnorm")


def _stretch(values: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    """Repeat one value for a group of elements until the shape is ``dims``."""
    for axis, (have, want) in enumerate(zip(values.shape, dims, strict=True)):
        if have not in (1, want):
            values = np.repeat(values, -(-want // have), axis=axis).take(range(want), axis=axis)
    return np.broadcast_to(values, dims)


def _quantity(call: Call, arrays: Arrays, what: str, name: str) -> np.ndarray | None:
    values = arrays.get(f"attr_{what}_{name}")
    return None if values is None else _stretch(values, call.tensors[name].dims)


def dequantized(call: Call, arrays: Arrays) -> Arrays:
    """Return the inputs with zero points and scales applied."""
    result = dict(arrays)
    for name in call.tensors:
        if name not in arrays or name == "dst":
            continue
        zero, scale = (_quantity(call, arrays, what, name) for what in ("zero_points", "scales"))
        if zero is not None:
            result[name] = result[name] - zero
        if scale is not None and not (call.driver in _SCALED_RESULT and name == "src"):
            result[name] = result[name] * scale
    return result


def _binary(op: PostOp, x: np.ndarray, index: int, arrays: Arrays) -> np.ndarray:
    second = arrays[f"attr_post_op_{index}_src_1"]
    if op.algorithm == "binary_select":
        return np.where(arrays[f"attr_post_op_{index}_src_2"] != 0, x, second)
    return pointwise_primitives.BINARY[op.algorithm](x, second).astype(np.float64)


def _depthwise(op: PostOp, x: np.ndarray, arrays: Arrays) -> np.ndarray:
    size, stride, padding = op.kernel
    high = (-(-x.shape[2] // stride) - 1) * stride + size - x.shape[2] - padding
    wide = (-(-x.shape[3] // stride) - 1) * stride + size - x.shape[3] - padding
    params = {"strides": (stride,) * 2, "dilates": (0, 0), "padding_l": (padding,) * 2}
    inputs = {
        "src": x,
        "weights": arrays["attr_post_op_dw_weights"],
        "bias": arrays["attr_post_op_dw_bias"],
    }
    return window_primitives.convolution_forward(params | {"padding_r": (high, wide)}, inputs, {})[
        "dst"
    ]


def _apply(call: Call, op: PostOp, index: int, x: np.ndarray, arrays: Arrays) -> np.ndarray:
    if op.kind == "sum":
        old = arrays["old_dst"]
        if op.dtype != "undef" and op.dtype != call.tensors["dst"].dtype:
            codes = encode(old, call.tensors["dst"].dtype)
            old = decode(codes.view(code_dtype(op.dtype)), op.dtype)
        return x + op.alpha * (old - op.beta)
    if op.kind == "eltwise":
        name = op.algorithm.removeprefix("eltwise_").removesuffix("_use_dst_for_bwd")
        return pointwise_primitives.FORWARD[name](x, op.alpha, op.beta)
    if op.kind == "prelu":
        return np.where(x > 0, x, x * arrays[f"attr_post_op_{index}_weights"])
    if op.kind == "dw":
        return _depthwise(op, rounded(x, call.tensors["dst"].dtype), arrays)
    return _binary(op, x, index, arrays)


def _dropped(p: float, x: np.ndarray, arrays: Arrays) -> np.ndarray:
    """Drop by the mask that oneDNN wrote or, without a mask, wherever it left a 0."""
    kept = arrays["dropped_mask"] != 0
    return np.where(kept, x / (1 - p) if p < 1 else 0.0, 0.0)


def finished(call: Call, x: np.ndarray, arrays: Arrays) -> np.ndarray:
    """Return ``dst`` after dropout, post-ops, scales and zero points, not yet rounded."""
    if call.driver in _SCALED_RESULT and "attr_scales_src" in arrays:
        x = x * arrays["attr_scales_src"].reshape(-1)[0]
    if call.attr.dropout is not None:
        x = _dropped(call.attr.dropout.p, x, arrays)
    for index, op in enumerate(call.attr.post_ops):
        x = _apply(call, op, index, x, arrays)
    if quantity(call) is not None:
        return x
    scale = arrays.get("attr_scales_dst")
    zero = arrays.get("attr_zero_points_dst")
    x = x if scale is None else x / _stretch(scale, x.shape)
    return x if zero is None else x + _stretch(zero, x.shape)


def expected(call: Call, arrays: Arrays) -> Arrays:
    """Return what a call should write: float64 by argument, not yet rounded to the type.

    Parameters
    ----------
    call : Call
    arrays : stored values of all inputs and of the arguments that attributes add; ``old_dst`` is
    the previous content of dst, ``dropped_mask`` what dropout kept
    """
    if "rnn_quantization" in call.facts:
        return _stored_states(
            call, reference(call.row, call.params, _real_states(call, arrays), call.shapes)
        )
    with np.errstate(all="ignore"):
        results = dict(reference(call.row, call.params, dequantized(call, arrays), call.shapes))
        if call.params.get("algorithm") == "pooling_max" and "dst" in results:
            # A window that contains only padding.
            nothing = np.isneginf(results["dst"])
            results["dst"][nothing] = smallest(call.tensors["dst"].dtype)
        if "dst" in results and not call.is_backward:
            results["dst"] = finished(call, results["dst"], arrays)
            results |= _scaled_to_fit(call, results["dst"])
    return results


def _scaled_to_fit(call: Call, x: np.ndarray) -> Arrays:
    """Return ``dst`` and its scales, if oneDNN chooses them."""
    target, dtype = quantity(call), call.tensors["dst"].dtype
    if target is None:
        return {}
    factors = scales(target, x, dtype)
    fits = np.clip(x / _stretch(factors, x.shape), smallest(dtype), largest(dtype))
    return {"dst": fits, "attr_scales_dst": factors}


def _real_states(call: Call, arrays: Arrays) -> Arrays:
    """Return the inputs of a quantized recurrent network as real numbers."""
    quantization, result = call.facts["rnn_quantization"], dict(arrays)
    scale, shift = quantization["data"]
    for name in ("src_layer", "src_iter", "augru_attention"):
        if name in arrays and call.tensors[name].dtype in ("u8", "s8"):
            result[name] = (arrays[name] - shift) / scale
    for name, key in (("layer", "weights"), ("iter", "weights"), ("projection", "projection")):
        if f"weights_{name}" in arrays:
            values = np.array(quantization[key][1])
            shape = call.tensors[f"weights_{name}"].dims
            values = values.reshape(shape[3:] if len(values) > 1 else 1)
            result[f"weights_{name}"] = arrays[f"weights_{name}"] / values
    return result


def _stored_states(call: Call, results: Arrays) -> Arrays:
    scale, shift = call.facts["rnn_quantization"]["data"]
    return {
        name: value * scale + shift if call.tensors[name].dtype in ("u8", "s8") else value
        for name, value in results.items()
        if name in call.tensors
    }


# --- What a forward call leaves for its backward call


def forward_outputs(call: Call) -> set[str]:
    """Return the tensors that a forward call writes."""
    result = {name for name in call.tensors if name.startswith("dst")}
    if "use_global_stats" not in call.params.get("flags", ()):
        result |= {"mean", "variance"} & call.tensors.keys()
    return result


def referenced(forward: Call, key: str) -> Arrays:
    """Return a forward call's inputs, and its rounded results by the reference."""
    arrays: Arrays = {}
    written = forward_outputs(forward)
    for name, tensor in forward.tensors.items():
        if name not in written:
            arrays[name] = drawn(forward, name, tensor, key)
    results = expected(forward, arrays)
    for name in written & results.keys():
        dims = forward.tensors[name].dims
        arrays[name] = rounded(results[name].reshape(dims), forward.tensors[name].dtype)
    return arrays

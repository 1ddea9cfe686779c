# SPDX-License-Identifier: Apache-2.0
"""Gradients of convolutions and transposed convolutions, to any order."""

from __future__ import annotations

import functools
import math
from typing import Any

from sycl_dnn._core import algorithm, get_effective_cpu_isa, prop_kind
from sycl_dnn.functional.conv.fold import Windows
from sycl_dnn.functional.conv.windows import Sizes, extents
from sycl_dnn.functional.product.along_axes import weighted_sums
from sycl_dnn.functional.product.product import product, swapped
from sycl_dnn.kernels.depthwise_gradient import depthwise_weights_gradient
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn.fault import cpu_has_avx512, narrow_lanes
from sycl_dnn.ops.selection import flip
from sycl_dnn.trace import layout
from sycl_dnn.trace.descriptors import DEPTHWISE, DIRECT
from sycl_dnn.trace.gradients import Grads, backward, gradients_of, rule_for
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Entry, NeedsAnotherDevice, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, transpose


def scatter_choice(
    trace: Trace, shape: Sizes, weights: Tensor, strides: Sizes
) -> tuple[str, str | None]:
    """Choose layout and implementation for scattering windows into (N, C, *S), of ``shape``.

    Used by gradients of convolutions with respect to their source and by transposed convolutions,
    with weights ([G,] O, I, *K). For few channels and large strided kernels oneDNN's default is up
    to four times slower than its own matrix product; for strided depthwise kernels in bfloat16, up
    to 160 times slower than what it has for others.
    """
    is_grouped = weights.ndim > len(shape)
    groups = weights.shape[0] if is_grouped else 1
    kernel_size = math.prod(weights.shape[3 if is_grouped else 2 :])
    if not trace.is_on_cpu:
        return "channels_last", None
    is_strided = max(strides) > 1
    if is_strided and kernel_size == 1 and shape[1] // groups < narrow_lanes():
        return "row_major", None  # oneDNN's gradient for channels-last weights is wrong
    if groups == 1 and is_strided and shape[1] <= 4 and kernel_size >= 25:
        return "row_major", "gemm:jit"
    is_depthwise = is_grouped and weights.shape[1] == weights.shape[2] == 1
    return "channels_last", DEPTHWISE if is_depthwise else None


#: Multiple of the channels that windows give, with which CPUs with AVX2 compute them fastest.
_OUTPUTS = 32


def direct_choice(x: Tensor, extents: Sizes, n_out: int) -> str | None:
    """Return the implementation of wide windows in float32 with AVX2; None for oneDNN's choice.

    That takes up to twice as long for windows of more than three elements along an axis.
    """
    is_cpu = x.trace.is_on_cpu and not cpu_has_avx512()
    is_fast = x.dtype == "float32" and n_out % _OUTPUTS == 0 and max(extents) > 3
    return DIRECT if is_cpu and is_fast else None


def _is_depthwise(x: Tensor, weights: Tensor) -> bool:
    """Whether each channel is convolved by itself."""
    return weights.ndim > x.ndim and weights.shape[1:3] == (1, 1)


def _turned(trace: Trace, entry: Entry, dy: Tensor) -> Tensor | None:
    """Return the gradient of the source as a convolution with turned weights; or None.

    oneDNN's gradients of dilated depthwise convolutions take ten times as long.
    """
    src, weights, params = entry.inputs["src"], entry.inputs["weights"], entry.params
    spans = [d + 1 for d in params["dilates"]]
    if not _is_depthwise(src, weights) or max(spans) == 1 or max(params["strides"]) > 1:
        return None
    extents = [s * (k - 1) for s, k in zip(spans, weights.shape[3:], strict=True)]
    left = [e - p for e, p in zip(extents, params["padding_l"], strict=True)]
    sizes = zip(src.shape[2:], dy.shape[2:], extents, left, strict=True)
    right = [size + extent - count - before for size, count, extent, before in sizes]
    if min(*left, *right) < 0:
        return None
    axes = range(3, weights.ndim)
    result = trace.primitive(
        "convolution_forward",
        {"src": dy, "weights": computed(lambda node: functools.reduce(flip, axes, node), weights)},
        {"dst": Out(src.shape, src.dtype, "channels_last")},
        ask={"src": "channels_last", "weights": "any"},
        **params | {"padding_l": tuple(left), "padding_r": tuple(right)},
    )
    return result["dst"]


def _backward_data(trace: Trace, entry: Entry, grads: Grads) -> Grads:
    src, weights, params = entry.inputs["src"], entry.inputs["weights"], entry.params
    turned = _turned(trace, entry, grads["dst"])
    if turned is not None:
        return {"src": turned}
    memory_layout, implementation = scatter_choice(trace, src.shape, weights, params["strides"])
    if weights.ndim == src.ndim and memory_layout == "channels_last":
        spans = tuple(d + 1 for d in params["dilates"])
        implementation = direct_choice(src, extents(weights.shape[2:], spans), src.shape[1])
    result = trace.primitive(
        "convolution_backward_data",
        {"weights": weights, "diff_dst": grads["dst"]},
        {"diff_src": Out(src.shape, src.dtype, memory_layout)},
        ask={"weights": "any", "diff_dst": memory_layout},
        prefer=implementation,
        hint_fwd_pd=entry.pd,
        **{n: v for n, v in params.items() if n != "prop_kind"},
    )
    return {"src": result["diff_src"]}


@rule_for("convolution_forward")
def _gradient(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    result = _backward_data(trace, entry, grads) if "src" in needed else {}
    if needed & {"weights", "bias"}:
        result |= _by_kernels(entry, grads["dst"]) or backward(
            trace, "convolution_backward_weights", entry, grads
        )
    return result


def _by_kernels(entry: Entry, dy: Tensor) -> Grads:
    """Return the gradients of weights and bias where oneDNN's are slow; else none."""
    x, weights = entry.inputs["src"], entry.inputs["weights"]
    trace, start = x.trace, len(x.trace.tape)
    if _is_depthwise(x, weights):
        total = depthwise_weights_gradient(entry.args["src"], dy, weights.shape, entry.params)
    else:
        total = _product_with_columns(entry, dy)
    if total is None:
        return {}
    grads = {"weights": trace.convert(total, weights.dtype)}
    operands, outputs = {"src": x, "diff_dst": dy}, {"diff_weights": grads["weights"]}
    trace.tape[start:] = [Entry("convolution_backward_weights", operands, outputs, entry.params)]
    if "bias" in entry.inputs:
        grads["bias"] = _bias_gradient(entry, dy)
    return grads


#: Positions of a result up to which, and channels from which, products of columns are faster.
_MOST_POSITIONS, _LEAST_CHANNELS = 64, 64


def _product_with_columns(entry: Entry, dy: Tensor) -> Tensor | None:
    """Return the gradient of bfloat16 weights as one product; None if oneDNN's is as fast.

    Without AMX, oneDNN's takes two to six times as long for small images.
    """
    x, shape, params = entry.args["src"], entry.inputs["weights"].shape, entry.params
    if x.dtype != "bfloat16" or len(shape) != 4 or math.prod(shape[2:]) == 1 or not _has_no_amx(x):
        return None
    counts = dy.shape[2:]
    if math.prod(counts) > _MOST_POSITIONS or min(shape[:2]) < _LEAST_CHANNELS:
        return None
    dilation = tuple(d + 1 for d in params["dilates"])
    windows = Windows(shape[2:], dilation, params["padding_l"], params["strides"])
    pixels = reshape(transpose(x, (0, 2, 3, 1)), (x.shape[0], -1, x.shape[1]))
    columns = weighted_sums(pixels, 1, windows.rows(x.shape[2:], counts))
    n_rows = x.shape[0] * math.prod(counts)
    rows = reshape(transpose(dy, (0, 2, 3, 1)), (n_rows, -1))
    result = product(swapped(rows), reshape(columns, (n_rows, -1)))
    return transpose(reshape(result, (shape[0], *shape[2:], shape[1])), (0, 3, 1, 2))


def _has_no_amx(x: Tensor) -> bool:
    """Whether a device multiplies bfloat16 with AVX-512; AMX has its own gradient."""
    isa = get_effective_cpu_isa().name
    is_cpu = x.trace.is_on_cpu
    return is_cpu and isa.startswith("avx512_core_bf16") and "amx" not in isa


def _bias_gradient(entry: Entry, dy: Tensor) -> Tensor:
    total = reduce(algorithm.reduction_sum, dy, [0, *range(2, dy.ndim)])
    return dy.trace.convert(reshape(total, (dy.shape[1],)), entry.inputs["bias"].dtype)


@rule_for("deconvolution_forward")
def _gradient_of_transposed(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    result: Grads = {}
    if "src" in needed:
        result |= backward(trace, "deconvolution_backward_data", entry, grads)
    is_slow = _is_depthwise(entry.inputs["src"], entry.inputs["weights"])
    if needed & {"weights", "bias"} and is_slow:
        result |= _weights_by_convolution(trace, entry, grads["dst"])
    elif needed & {"weights", "bias"}:
        start = len(trace.tape)
        try:
            result |= backward(trace, "deconvolution_backward_weights", entry, grads)
        except NeedsAnotherDevice:
            # For few channels oneDNN offers kernels that fail at creation.
            del trace.tape[start:]
            result |= _weights_by_convolution(trace, entry, grads["dst"])
    return result


def scattered(
    x: Tensor, weights: Tensor, shape: Sizes, implementation: str, params: dict[str, Any]
) -> Tensor:
    """Return a transposed convolution without bias, as the gradient of a convolution."""
    trace = x.trace
    window = {"algorithm": algorithm.convolution_direct, **params}
    hint = trace.descriptor(
        "convolution_forward",
        {
            "prop_kind": prop_kind.forward_training,
            "src": layout.channels_last(shape, x.dtype),
            "weights": layout.any_layout(weights.shape, x.dtype),
            "dst": layout.channels_last(x.shape, x.dtype),
            **window,
        },
        None,
    )
    result = trace.primitive(
        "convolution_backward_data",
        {"weights": weights, "diff_dst": x},
        {"diff_src": Out(shape, x.dtype, "channels_last")},
        ask={"weights": "any", "diff_dst": "channels_last"},
        prefer=implementation,
        hint_fwd_pd=hint,
        **window,
    )
    return result["diff_src"]


def _weights_by_convolution(trace: Trace, entry: Entry, dy: Tensor) -> Grads:
    """Compute the gradients of weights and bias by a convolution with exchanged operands."""
    x, weights = entry.inputs["src"], entry.inputs["weights"]
    axis = weights.ndim - x.ndim  # of outputs, after the groups
    order = [*range(axis), axis + 1, axis, *range(axis + 2, weights.ndim)]
    names = ("strides", "dilates", "padding_l", "padding_r")
    trace.primitive(
        "convolution_forward",
        {"src": dy, "weights": transpose(weights, order)},
        {"dst": Out(x.shape, x.dtype, "channels_last")},
        ask={"src": "channels_last", "weights": "any"},
        prop_kind=prop_kind.forward_training,
        algorithm=algorithm.convolution_direct,
        **{n: entry.params[n] for n in names if n in entry.params},
    )
    result = gradients_of(trace, trace.tape[-1], {"dst": x}, {"weights"})
    grads = {"weights": transpose(result["weights"], order)}
    if "bias" in entry.inputs:
        grads["bias"] = _bias_gradient(entry, dy)
    return grads


def _forward_of(trace: Trace, entry: Entry, src: Tensor, weights: Tensor, bias: Any) -> Entry:
    """Record the forward primitive of a backward one on other operands; return its entry."""
    row = entry.row.partition("_backward_")[0] + "_forward"
    dst = entry.inputs["diff_dst"]
    inputs = {"src": src, "weights": weights} | ({} if bias is None else {"bias": bias})
    memory_layout, implementation = "channels_last", None
    if row == "deconvolution_forward":
        memory_layout, implementation = scatter_choice(
            trace, dst.shape, weights, entry.params["strides"]
        )
    trace.primitive(
        row,
        inputs,
        {"dst": Out(dst.shape, dst.dtype, memory_layout)},
        ask={"src": memory_layout, "weights": "any"},
        prefer=implementation,
        prop_kind=prop_kind.forward_training,
        **{n: v for n, v in entry.params.items() if n not in ("prop_kind", "hint_fwd_pd")},
    )
    return trace.tape[-1]


def _bilinear_gradients(
    trace: Trace, entry: Entry, forward: Entry, operand: str, needed: set[str]
) -> Grads:
    """Return the gradients of a backward primitive, whose transpose is ``forward``.

    The primitive is linear both in ``diff_dst`` and in ``operand``.
    """
    result = {"diff_dst": forward.outputs["dst"]}
    if operand in needed:
        dy = {"dst": entry.inputs["diff_dst"]}
        result |= gradients_of(trace, forward, dy, {operand})
    return result


def _backward_data_gradient(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    forward = _forward_of(trace, entry, grads["diff_src"], entry.inputs["weights"], None)
    return _bilinear_gradients(trace, entry, forward, "weights", needed)


def _backward_weights_gradient(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    weights = grads.get("diff_weights")
    if weights is None:
        weights = zeros(trace, entry.outputs["diff_weights"].shape, entry.inputs["src"].dtype)
    forward = _forward_of(trace, entry, entry.inputs["src"], weights, grads.get("diff_bias"))
    return _bilinear_gradients(trace, entry, forward, "src", needed)


for _row in ("convolution", "deconvolution"):
    rule_for(f"{_row}_backward_data")(_backward_data_gradient)
    rule_for(f"{_row}_backward_weights")(_backward_weights_gradient)

# SPDX-License-Identifier: Apache-2.0
"""Rows of a matrix with mean 0 and variance 1, or root mean square 1, and their gradient."""

from __future__ import annotations

from sycl_dnn import _core
from sycl_dnn._core import algorithm, data_type, prop_kind
from sycl_dnn._core import normalization_flags as flags
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.fused import chain, fused, power, scale, times
from sycl_dnn.dispatch.gradients import backward, rule_for
from sycl_dnn.dispatch.primitives import linear_map, reduce, zeros
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape
from sycl_dnn.functional.affine import affine, composed_norm


def normalized_rows(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    extra: flags = flags.none,
    keep: bool = False,
) -> dict[str, Tensor]:
    """Normalize each row of (M, K); returns ``dst`` and, if kept, ``mean`` and ``variance`` (M,).

    Where a gradient follows, the statistics are kept in any case.
    """
    inputs, given = affine(weight, bias)
    outputs = {"dst": Out(x.shape, x.dtype)}
    stat = layout.row_major(x.shape[:1], "float32")
    kind = x.trace.forward_kind
    if keep or x.trace.training:
        kind = prop_kind.forward_training
        names = ("variance",) if extra & flags.rms_norm else ("mean", "variance")
        outputs |= {n: Out(x.shape[:1], "float32") for n in names}
    return x.trace.primitive(
        "layer_normalization_forward",
        {"src": x, **inputs},
        outputs,
        ask={"src": "row_major"},
        prop_kind=kind,
        stat=stat,
        scale_shift_data_type=data_type.f32,
        epsilon=eps,
        flags=given | extra,
        composed=lambda inputs: composed_norm(inputs, [1], eps, given | extra),
    )


@rule_for("layer_normalization_forward")
def _layer_normalization(trace, entry, grads, needed):
    if entry.params["flags"] & flags.rms_norm:
        return _rms_gradient(trace, entry, grads["dst"])
    return backward(
        trace,
        "layer_normalization_backward",
        entry,
        grads,
        needed,
        prop_kind=prop_kind.backward,
        diff_scale_shift_data_type=data_type.f32,
    )


def _rms_gradient(trace, entry, dy):
    """Return the gradients; oneDNN's own subtracts a mean that was not subtracted before.

    So the one of layer normalization is taken, with a mean of 0: it subtracts the mean of
    ``dy * weight``, by its definition, and this is added again.
    """
    src, variance = entry.args["src"], entry.outputs["variance"]
    weight, eps = entry.args.get("scale"), entry.params["epsilon"]
    given = flags.none if weight is None else flags.use_scale
    common = {"epsilon": eps, "flags": given, "stat": entry.params["stat"]}
    common["scale_shift_data_type"] = data_type.f32
    forward = _core.layer_normalization_forward(
        trace.engine, prop_kind=prop_kind.forward_training, src=src.desc, dst=src.desc, **common
    )
    inputs = {"src": src, "diff_dst": dy, "variance": variance}
    inputs["mean"] = zeros(trace, variance.shape, "float32")
    outputs = {"diff_src": Out(src.shape, src.dtype)}
    if weight is not None:
        inputs["scale"] = weight
        outputs["diff_scale"] = Out(weight.shape, "float32")
    made = trace.primitive(
        "layer_normalization_backward",
        inputs,
        outputs,
        ask={"diff_dst": src},
        prop_kind=prop_kind.backward_data if weight is None else prop_kind.backward,
        diff_scale_shift_data_type=data_type.f32,
        hint_fwd_pd=forward,
        **common,
    )
    rows = reshape(variance, (variance.size, 1))
    missing = chain(rows, scale(1.0, eps), power(-0.5), times(_row_means(dy, weight)))
    found = {"src": fused(algorithm.binary_add, made["diff_src"], missing)}
    return found if weight is None else {**found, "scale": made["diff_scale"]}


def _row_means(dy: Tensor, weight: Tensor | None) -> Tensor:
    """Return the means of the rows of ``dy * weight``, (M, 1) in float32."""
    if weight is None:
        return reduce(algorithm.reduction_mean, dy, [1], "float32")
    columns = dy.trace.convert(reshape(weight, (weight.size, 1)), dy.dtype)
    out = {"dst": Out((dy.shape[0], 1), "float32")}
    made = dy.trace.primitive("matmul", {"src": dy, "weights": columns}, out)
    return linear_map(made["dst"], 1.0 / weight.size)

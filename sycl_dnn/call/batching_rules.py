# SPDX-License-Identifier: Apache-2.0
"""How functions of the layer compute all samples of a batch in one call: rules by function.

A rule returns the whole result, with the batch as its first axis, or raises ``NoRule``: then the
function runs once for each sample. Axes are counted in samples, so each rule moves them by one.
"""

from __future__ import annotations

import functools
from typing import Any

from sycl_dnn.call import batched_axes as axes
from sycl_dnn.call import batched_layers as layers
from sycl_dnn.call.batched_call import Rule
from sycl_dnn.trace import functions as F

#: By rule: the names of its functions.
_ROWS: list[tuple[Rule, str]] = [
    (axes.pointwise,
     "abs acos acosh add addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and "
     "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp "
     "clamp_max clamp_min complex conj copysign cos cosh deg2rad digamma div elu eq erf erfc "
     "erfinv exp exp2 expm1 float_power floor floor_divide fmax fmin fmod frac ge gelu gt "
     "hardshrink hardsigmoid hardswish hardtanh heaviside hypot imag isclose isfinite isinf isnan "
     "le leaky_relu lerp lgamma log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not "
     "logical_or logical_xor logit logsigmoid lt maximum minimum mish mul nan_to_num "
     "ne neg polar pow rad2deg real reciprocal relu relu6 remainder round rsqrt selu sigmoid sign "
     "signbit silu sin sinc sinh softplus softshrink softsign sqrt square sub tan tanh "
     "tanhshrink threshold trunc where xlogy"),
    (axes.masked_fill, "masked_fill"),
    (axes.reduction, "sum mean amax amin all any std var prod argmax argmin logsumexp norm "
     "count_nonzero nansum nanmean std_mean var_mean"),
    (axes.extreme, "max min median nanmedian"),
    (axes.along("dim"), "softmax log_softmax softmin cumsum cumprod cummax cummin logcumsumexp "
     "sort argsort topk kthvalue glu normalize select narrow split chunk unbind tensor_split "
     "index_select"),
    (axes.along("dim", whole=("index",)), "gather"),
    (axes.along("dim", whole=("index", "src")), "scatter scatter_add scatter_reduce"),
    (axes.along("dim", whole=("x1", "x2")), "cosine_similarity"),
    (axes.along("dims"), "flip roll"), (axes.along("dim1", "dim2"), "diagonal"),
    (axes.along("dim0", "dim1"), "transpose"), (axes.along("axis0", "axis1"), "swapaxes"),
    (axes.along("source", "destination"), "movedim"), (axes.matrices, "tril triu"),
    (axes.unsqueeze, "unsqueeze"), (axes.squeeze, "squeeze"), (axes.reshape, "reshape"),
    (axes.expand, "expand broadcast_to"), (axes.permute, "permute"), (axes.flatten, "flatten"),
    (axes.unflatten, "unflatten"), (axes.joined, "cat stack"), (axes.tile, "tile"),
    (axes.like, "zeros_like ones_like full_like empty_like view_as_real view_as_complex"),
    (axes.index_put, "index_put"),
    (layers.matmul, "matmul mm mv bmm dot"), (layers.linear, "linear"), (layers.outer, "outer"),
    (layers.scaled_product, "addmm baddbmm"), (layers.einsum, "einsum"),
    *[(layers.convolution(n), f"conv{n}d") for n in (1, 2, 3)],
    *[(layers.images("input", spatial=n), f"avg_pool{n}d max_pool{n}d lp_pool{n}d "
       f"adaptive_avg_pool{n}d adaptive_max_pool{n}d conv_transpose{n}d") for n in (1, 2, 3)],
    (layers.images("input"), "interpolate pixel_shuffle pixel_unshuffle "
     "channel_shuffle local_response_norm"),
    (layers.images("input", "grid"), "grid_sample"), (layers.pad, "pad"),
    (layers.group_norm, "group_norm"), (layers.instance_norm, "instance_norm"),
    (layers.batch_norm, "batch_norm"),
    (layers.normalized_rows, "layer_norm rms_norm"), (layers.embedding, "embedding"),
    (layers.attention, "scaled_dot_product_attention"),
    (layers.loss, "mse_loss l1_loss huber_loss smooth_l1_loss soft_margin_loss "
     "binary_cross_entropy binary_cross_entropy_with_logits"),
    (layers.cross_entropy, "cross_entropy"),
]  # fmt: skip
#: Of operations that functions of several kinds of arguments call.
_INNER: dict[str, Rule] = {
    "_astype": axes.pointwise, "_dropout": axes.pointwise, "_gumbel_softmax": axes.along("dim"),
    "_of_channels": layers.channel_dropout, "_of_selu": layers.alpha_dropout,
    "_one_hot": axes.like,
}  # fmt: skip


@functools.cache
def _rules() -> dict[Any, Rule]:
    """Return the rules by operation; a name can be that of another one in ``F.linalg``."""
    names = [(name, rule) for rule, listed in _ROWS for name in listed.split()]
    return {getattr(F, name).operation: rule for name, rule in names}


def rule_of(function: Any) -> Rule | None:
    """Return the rule of an operation of the layer, or None."""
    return _rules().get(function) or _INNER.get(function.name)

# SPDX-License-Identifier: Apache-2.0
"""Operators of exported graphs for layers: products, windows, normalizations, recurrences."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.call.custom_gradients import custom_vjp, stop_gradient

#: Operators with the same arguments as the function of the same name.
_SAME = (
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "affine_grid_generator",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "bmm", "cdist", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "dot", "linear", "matmul",
    "max_pool1d", "max_pool2d", "max_pool3d", "mm", "mv", "one_hot", "outer", "pairwise_distance",
    "rms_norm", "addmm", "baddbmm", "pad", "scaled_dot_product_attention",
)  # fmt: skip
_NAMES = {"affine_grid_generator": "affine_grid"}
_REDUCTIONS = ("none", "mean", "sum")
_INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
_MODES = {
    "upsample_linear1d": "linear", "upsample_bilinear2d": "bilinear",
    "upsample_trilinear3d": "trilinear", "upsample_bicubic2d": "bicubic",
    "upsample_nearest1d": "nearest", "upsample_nearest2d": "nearest",
    "upsample_nearest3d": "nearest", "_upsample_nearest_exact1d": "nearest-exact",
    "_upsample_nearest_exact2d": "nearest-exact", "_upsample_nearest_exact3d": "nearest-exact",
    "_upsample_bilinear2d_aa": "bilinear", "_upsample_bicubic2d_aa": "bicubic",
}  # fmt: skip


def _resized(name: str, mode: str) -> Callable[..., Any]:
    options: dict[str, Any] = {"mode": mode, "antialias": name.endswith("_aa")}

    def row(x: Any, size: Any, *rest: Any) -> Any:
        if "nearest" not in mode:
            options["align_corners"], *rest = rest  # type: ignore[assignment]
        scales = rest[0] if len(rest) == 1 else rest
        if size is None:
            return F.interpolate(x, scale_factor=scales, **options)
        return F.interpolate(x, size=size, **options)

    return row


def _with_places(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the row of a max pooling with indices."""

    def row(x: Any, *arguments: Any) -> Any:
        return function(x, *arguments, return_indices=True)

    return row


def _convolution(n: int) -> Callable[..., Any]:
    def row(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Any:  # fmt: skip
        function = getattr(F, f"conv{n}d")
        return function(x, weight, bias, _every(stride, n), _every(padding, n),
                        _every(dilation, n), groups)  # fmt: skip

    return row


def _every(value: Any, n: int) -> Any:
    """Expand to one number per axis: torch's lists may have one for all."""
    return value * n if isinstance(value, tuple) and len(value) == 1 else value


def _any_convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    n = x.ndim - 2
    if not transposed:
        return _convolution(n)(x, weight, bias, stride, padding, dilation, groups)
    function = getattr(F, f"conv_transpose{n}d")
    return function(x, weight, bias, _every(stride, n), _every(padding, n),
                    _every(output_padding, n), groups, _every(dilation, n))  # fmt: skip


def _normalization(function: Callable[..., Any]) -> Callable[..., Any]:
    def row(
        x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
    ) -> Any:
        return function(x, shape, weight, bias, eps)

    return row


def _embedding(weight: Any, index: Any, padding_idx: int = -1, *rest: Any) -> Any:
    by_count = bool(rest[0]) if rest else False
    padding = None if padding_idx < 0 else padding_idx
    return F.embedding(index, weight, padding, scale_grad_by_freq=by_count)


def _embedding_bag(
    weight: Any, index: Any, offsets: Any, by_count: bool = False, mode: int = 0,
    is_sparse: bool = False, factors: Any = None, has_last: bool = False, padding_idx: int = -1,
) -> Any:  # fmt: skip
    bags = F.embedding_bag(
        index, weight, offsets, scale_grad_by_freq=by_count, mode=("sum", "mean", "max")[mode],
        per_sample_weights=factors, include_last_offset=has_last,
        padding_idx=None if padding_idx < 0 else padding_idx,
    )  # fmt: skip
    return bags, index, index, index  # only torch's backward pass reads the last three


def _softmax(function: Callable[..., Any]) -> Callable[..., Any]:
    def row(x: Any, dim: int, dtype: str | bool | None = None) -> Any:
        return function(x if not isinstance(dtype, str) else F.astype(x, dtype), dim)

    return row


def _grid_sampled(x: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    return F.grid_sample(x, grid, _INTERPOLATIONS[mode], _PADDINGS[padding], align_corners)


def _loss(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the row of a loss: input, target, numeric reduction, one more number."""

    def row(x: Any, target: Any, reduction: int = 1, *more: Any, **options: Any) -> Any:
        names = {F.smooth_l1_loss: "beta", F.huber_loss: "delta", F.soft_margin_loss: ""}
        options.update(zip([names.get(function, "")], more, strict=False))
        return function(x, target, reduction=_REDUCTIONS[reduction], **options)

    return row


def _weighted_loss(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """Return the row of a loss: input, target, ``names``, and a numeric reduction."""

    def row(x: Any, target: Any, *more: Any) -> Any:
        options = dict(zip(names, more, strict=False))
        if "reduction" in options:
            options["reduction"] = _REDUCTIONS[options["reduction"]]
        return function(x, target, **options)

    return row


def _grouped_product(
    x: Any, weights: Any, ends: Any = None, bias: Any = None, dtype: str | None = None
) -> Any:
    """Multiply rows by one matrix of each group; rows after the last group become 0.

    The groups' sizes are known on the device only, so all rows are multiplied by all matrices.
    """
    if ends is None or x.ndim != 2 or weights.ndim != 3 or bias is not None:
        raise NotImplementedError(
            "from_torch: grouped products need rows (2 axes), matrices (3 axes), the groups' ends "
            f"and no bias, got {x.ndim} and {weights.ndim} axes"
        )
    rows = F.unsqueeze(F.arange(x.shape[0]), 1)
    group = F.sum(F.le(F.unsqueeze(ends, 0), rows), 1)
    belongs = F.eq(F.unsqueeze(F.arange(weights.shape[0]), 1), F.unsqueeze(group, 0))
    products = F.matmul(F.unsqueeze(x, 0), weights)
    result = F.sum(F.where(F.unsqueeze(belongs, 2), products, 0.0), 0)
    return result if dtype is None else F.astype(result, dtype)


#: Operators of libraries over torch, with their full names.
OTHERS: dict[str, Callable[..., Any]] = {"transformers.grouped_mm_fallback": _grouped_product}

ROWS: dict[str, Callable[..., Any]] = {
    **{name: getattr(F, _NAMES.get(name, name)) for name in _SAME},
    **{name: _resized(name, mode) for name, mode in _MODES.items()},
    **{f"conv{n}d": _convolution(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices": _with_places(getattr(F, f"max_pool{n}d")) for n in (1, 2, 3)},
    **{
        f"adaptive_max_pool{n}d": _with_places(getattr(F, f"adaptive_max_pool{n}d"))
        for n in (1, 2, 3)
    },
    "binary_cross_entropy": _weighted_loss(F.binary_cross_entropy, "weight", "reduction"),
    "binary_cross_entropy_with_logits": _weighted_loss(
        F.binary_cross_entropy_with_logits, "weight", "pos_weight", "reduction"
    ),
    "col2im": F.fold,
    "constant_pad_nd": lambda x, pad, value=0: F.pad(x, pad, value=float(value)),
    "convolution": _any_convolution,
    "cross_entropy_loss": _weighted_loss(
        F.cross_entropy, "weight", "reduction", "ignore_index", "label_smoothing"
    ),
    "einsum": lambda equation, arrays, **_: F.einsum(equation.replace(" ", ""), *arrays),
    "embedding": _embedding,
    "grid_sampler": _grid_sampled,
    "group_norm": _normalization(F.group_norm),
    "huber_loss": _loss(F.huber_loss),
    "im2col": F.unfold,
    "kl_div": _loss(F.kl_div),
    "l1_loss": _loss(F.l1_loss),
    "layer_norm": _normalization(F.layer_norm),
    "log_softmax": _softmax(F.log_softmax),
    "mse_loss": _loss(F.mse_loss),
    "nll_loss_nd": _weighted_loss(F.nll_loss, "weight", "reduction", "ignore_index"),
    "smooth_l1_loss": _loss(F.smooth_l1_loss),
    "softmax": _softmax(F.softmax),
    "_grouped_mm": _grouped_product,
    "_embedding_bag": _embedding_bag,
    "_embedding_bag_forward_only": _embedding_bag,
    "_log_softmax": _softmax(F.log_softmax),
    "_safe_softmax": _softmax(F.softmax),
    "_softmax": _softmax(F.softmax),
}


def _recurrence(function: Callable[..., Any]) -> Callable[..., Any]:
    def row(
        x: Any, state: Any, weights: Any, bias: bool, layers: int, dropout: float, training: bool,
        both: bool, batch_first: bool,
    ) -> Any:  # fmt: skip
        return function(
            x, state, weights, num_layers=layers, bidirectional=both, batch_first=batch_first,
            bias=bias, dropout=dropout, training=training,
        )  # fmt: skip

    return row


def _lstm(*args: Any) -> Any:
    output, (h, c) = _recurrence(F.lstm)(*args)
    return output, h, c


@functools.cache
def _refusing(name: str) -> custom_vjp:
    """Return the identity whose gradient is refused."""

    def rule(_: Any, dy: Any) -> Any:
        raise NotImplementedError(
            f"from_torch: {name} has a gradient other than that of its operators, and torch.export "
            "does not record it; write x + (y - x).detach() for a gradient that goes straight "
            "through"
        )

    identity = custom_vjp(lambda x: x)
    identity.defvjp(lambda x: (x, None), rule)
    return identity


#: Layers that the conversion keeps intact.
WHOLE: dict[str, Callable[..., Any]] = {
    "constant": stop_gradient,
    "gru": _recurrence(F.gru),
    "lstm": _lstm,
    "rnn_relu": _recurrence(F.rnn_relu),
    "rnn_tanh": _recurrence(F.rnn_tanh),
    "without_gradient": lambda x, name: _refusing(name)(x),
}


def _batch_norm(
    owner: Any, x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool,
    momentum: float, eps: float,
) -> Any:  # fmt: skip
    if momentum < 0 and training and mean is not None:
        return _averaging_norm(owner, x, weight, bias, mean, var, eps)
    return F.batch_norm(x, mean, var, weight, bias, training, momentum, eps)


def _averaging_norm(
    owner: Any, x: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float
) -> Any:
    """Normalize by batch statistics; running statistics become cumulative averages."""
    axes, count = (0, *range(2, x.ndim)), F.add(F.astype(owner.num_batches_tracked, "float32"), 1)
    statistics = {"running_mean": (mean, F.mean(x, axes)), "running_var": (var, F.var(x, axes))}
    for name, (old, new) in statistics.items():
        owner.update_buffer(name, F.add(old, F.div(F.sub(F.astype(new, "float32"), old), count)))
    return F.batch_norm(x, None, None, weight, bias, True, 0.0, eps)


def _instance_norm(
    owner: Any, x: Any, weight: Any, bias: Any, mean: Any, var: Any, by_input: bool,
    momentum: float, eps: float,
) -> Any:  # fmt: skip
    return F.instance_norm(x, mean, var, weight, bias, by_input, momentum, eps)


def _dropout(function: Callable[..., Any]) -> Callable[..., Any]:
    def row(owner: Any, x: Any, p: float, training: bool) -> Any:
        return function(x, p, training) if training else x

    return row


def _feature_dropout(x: Any, p: float, training: bool) -> Any:
    """Zero whole channels of (N, C, *S)."""
    shape = (*x.shape[:2], *[1] * (x.ndim - 2))
    return F.mul(x, F.dropout(F.ones(shape, dtype=str(x.dtype)), p, training))


#: Operators that depend on a module's mode: the first argument is the module.
MODAL: dict[str, Callable[..., Any]] = {
    "alpha_dropout": _dropout(F.alpha_dropout),
    "batch_norm": _batch_norm,
    "dropout": _dropout(F.dropout),
    "feature_alpha_dropout": _dropout(F.feature_alpha_dropout),
    "feature_dropout": _dropout(_feature_dropout),
    "instance_norm": _instance_norm,
}

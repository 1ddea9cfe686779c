# SPDX-License-Identifier: Apache-2.0
"""Functions that are differentiated twice, written for both this package and torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: Ranges from which values are drawn; distances between elements are larger than any step.
_RANGES = {"any": (-2.0, 2.0), "positive": (0.3, 2.0), "share": (0.1, 0.9)}


class Case(NamedTuple):
    """A function of ``(F, *arrays)``, and the arrays in which it has gradients."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    values: str = "any"
    #: Other arguments of the function, created again from a random generator.
    more: Callable[[Any], tuple[np.ndarray, ...]] = lambda rng: ()
    tolerance: float = 1e-4

    def arrays(self, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the differentiated operands in float64, and the others."""
        rng = np.random.default_rng(seed)
        low, high = _RANGES[self.values]
        results = []
        for number, shape in enumerate(self.shapes):
            n = int(np.prod(shape))
            # Distinct and away from kinks, so that finite differences stay on one branch.
            steps = (rng.permutation(n) + 0.3 + 0.2 * number) / max(n, 1)
            results.append((low + (high - low) * steps).reshape(shape).astype("f4").astype("f8"))
        return results, list(self.more(rng))


def _one(name: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return lambda F, x: getattr(F, name)(x, *args, **kwargs)  # noqa: N803


def _two(name: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return lambda F, x, y: getattr(F, name)(x, y, *args, **kwargs)  # noqa: N803


def _classes(n: int, *shape: int) -> Callable[[Any], tuple[np.ndarray, ...]]:
    return lambda rng: (rng.integers(0, n, shape),)


_X = ((3, 7),)
_XY = ((3, 7), (3, 7))
_IMAGE = ((2, 4, 6, 6),)
_CONV = ((2, 4, 6, 6), (6, 4, 3, 3), (6,))
_CHANNELS = ((3, 4, 5, 5), (4,), (4,))
_ATTENTION = ((2, 2, 5, 4), (2, 2, 6, 4), (2, 2, 6, 3))

#: Smooth or piecewise functions of one operand: these are also differentiated three times.
ELEMENTWISE = {
    "relu": Case(_one("relu"), _X),
    "relu6": Case(_one("relu6"), _X),
    "leaky_relu": Case(_one("leaky_relu", 0.1), _X),
    "hardtanh": Case(_one("hardtanh"), _X),
    "elu": Case(_one("elu", 0.7), _X),
    "selu": Case(_one("selu"), _X),
    "celu": Case(_one("celu", 0.7), _X),
    "gelu": Case(_one("gelu"), _X),
    "gelu_tanh": Case(_one("gelu", approximate="tanh"), _X),
    "silu": Case(_one("silu"), _X),
    "mish": Case(_one("mish"), _X),
    "hardswish": Case(_one("hardswish"), _X),
    "hardsigmoid": Case(_one("hardsigmoid"), _X),
    "sigmoid": Case(_one("sigmoid"), _X),
    "tanh": Case(_one("tanh"), _X),
    "softplus": Case(_one("softplus"), _X),
    "softplus_threshold": Case(_one("softplus", 2.0, 1.0), _X),
    "logsigmoid": Case(_one("logsigmoid"), _X),
    "softsign": Case(_one("softsign"), _X),
    "tanhshrink": Case(_one("tanhshrink"), _X),
    "softshrink": Case(_one("softshrink"), _X),
    "hardshrink": Case(_one("hardshrink"), _X),
    "threshold": Case(_one("threshold", 0.2, 5.0), _X),
    "exp": Case(_one("exp"), _X),
    "log": Case(_one("log"), _X, "positive"),
    "sqrt": Case(_one("sqrt"), _X, "positive"),
    "square": Case(_one("square"), _X),
    "reciprocal": Case(_one("reciprocal"), _X, "positive"),
    "abs": Case(_one("abs"), _X),
    "neg": Case(_one("neg"), _X),
    "cube": Case(lambda F, x: x * x * x, _X),
    "pow_number": Case(lambda F, x: x**3.5, _X, "positive"),
}

CASES = {
    **ELEMENTWISE,
    "add": Case(_two("add"), ((3, 7), (7,))),
    "sub": Case(_two("sub"), ((3, 1), (3, 7))),
    "mul": Case(_two("mul"), ((3, 7), (1, 7))),
    "div": Case(_two("div"), _XY, "positive"),
    "pow": Case(_two("pow"), _XY, "positive"),
    "maximum": Case(_two("maximum"), _XY),
    "minimum": Case(_two("minimum"), ((3, 7), (7,))),
    "where": Case(
        lambda F, x, y, c: F.where(c, x * x, x * y),
        _XY,
        more=lambda rng: (rng.random((3, 7)) > 0.5,),
    ),
    "clamp": Case(lambda F, x: F.clamp(x * x, 0.3, 2.0), _X),
    "glu": Case(_one("glu"), ((3, 8),)),
    "prelu": Case(_two("prelu"), ((2, 4, 5), (4,))),
    "prelu_one": Case(_two("prelu"), ((2, 4, 5), (1,))),
    "sum": Case(lambda F, x: F.sum(x * x, 1), _X),
    "mean": Case(lambda F, x: F.mean(x * x * x, 0), _X),
    "amax": Case(lambda F, x: F.amax(x * x, 1), _X),
    "max": Case(lambda F, x: F.max(x * x, 1)[0], _X),
    "prod": Case(_one("prod", 1), ((3, 5),), "positive"),
    "var": Case(_one("var", 1), _X),
    "std": Case(_one("std", 1), _X),
    "norm": Case(lambda F, x: F.norm(x, 2, 1), _X),
    "norm_3": Case(lambda F, x: F.norm(x, 3, 1), _X),
    "logsumexp": Case(_one("logsumexp", 1), _X),
    "softmax": Case(_one("softmax", 1), _X),
    "softmax_first": Case(_one("softmax", 0), _X),
    "log_softmax": Case(_one("log_softmax", -1), _X),
    "matmul": Case(_two("matmul"), ((3, 4), (4, 5))),
    "matmul_batch": Case(_two("matmul"), ((2, 3, 4), (4, 5))),
    "bmm": Case(_two("bmm"), ((2, 3, 4), (2, 4, 5))),
    "linear": Case(lambda F, x, w, b: F.linear(x, w, b), ((3, 4), (5, 4), (5,))),
    "linear_plain": Case(_two("linear"), ((2, 3, 4), (5, 4))),
    "conv1d": Case(lambda F, x, w: F.conv1d(x, w, stride=2), ((2, 4, 9), (6, 4, 3))),
    "conv2d": Case(lambda F, x, w, b: F.conv2d(x, w, b, padding=1), _CONV),
    "conv2d_strided": Case(lambda F, x, w, b: F.conv2d(x, w, b, stride=2, padding=1), _CONV),
    "conv2d_dilated": Case(lambda F, x, w, b: F.conv2d(x, w, b, dilation=2), _CONV),
    "conv2d_groups": Case(
        lambda F, x, w: F.conv2d(x, w, padding=1, groups=2), ((2, 4, 6, 6), (6, 2, 3, 3))
    ),
    "conv2d_depthwise": Case(
        lambda F, x, w: F.conv2d(x, w, groups=4), ((2, 4, 6, 6), (4, 1, 3, 3))
    ),
    "conv3d": Case(lambda F, x, w: F.conv3d(x, w), ((1, 2, 4, 4, 4), (3, 2, 2, 2, 2))),
    "conv_transpose2d": Case(
        lambda F, x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1),
        ((2, 4, 4, 4), (4, 3, 3, 3), (3,)),
    ),
    "conv_transpose2d_groups": Case(
        lambda F, x, w: F.conv_transpose2d(x, w, groups=2), ((2, 4, 4, 4), (4, 3, 3, 3))
    ),
    "batch_norm": Case(
        lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True), _CHANNELS
    ),
    "batch_norm_plain": Case(lambda F, x: F.batch_norm(x, None, None, training=True), ((6, 4),)),
    "batch_norm_given": Case(
        lambda F, x, w, b, m, v: F.batch_norm(x, m, v, w, b),
        _CHANNELS,
        more=lambda rng: (rng.random(4), rng.random(4) + 0.5),
    ),  # fmt: skip
    "layer_norm": Case(lambda F, x, w, b: F.layer_norm(x, (7,), w, b), ((3, 7), (7,), (7,))),
    "layer_norm_plain": Case(lambda F, x: F.layer_norm(x, (7,)), ((4, 3, 7),)),
    "rms_norm": Case(lambda F, x, w: F.rms_norm(x, (7,), w), ((3, 7), (7,))),
    "group_norm": Case(lambda F, x, w, b: F.group_norm(x, 2, w, b), _CHANNELS),
    "instance_norm": Case(lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b), _CHANNELS),
    "normalize": Case(_one("normalize", dim=1), _X),
    "attention": Case(
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v), _ATTENTION
    ),  # fmt: skip
    "attention_causal": Case(
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        ((2, 2, 6, 4), (2, 2, 6, 4), (2, 2, 6, 3)),
    ),
    "attention_mask": Case(
        lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        (*_ATTENTION, (5, 6)),
    ),
    "avg_pool2d": Case(lambda F, x: F.avg_pool2d(x * x, 2), _IMAGE),
    "avg_pool2d_padded": Case(lambda F, x: F.avg_pool2d(x * x, 3, 2, 1), _IMAGE),
    "adaptive_avg_pool2d": Case(lambda F, x: F.adaptive_avg_pool2d(x * x, (4, 3)), _IMAGE),
    "max_pool2d": Case(lambda F, x: F.max_pool2d(x * x, 2), _IMAGE),
    "max_pool2d_overlapping": Case(lambda F, x: F.max_pool2d(x * x, 3, 2, 1), _IMAGE),
    "max_pool1d": Case(lambda F, x: F.max_pool1d(x * x, 2), ((2, 4, 8),)),
    "interpolate_nearest": Case(lambda F, x: F.interpolate(x * x, scale_factor=2), _IMAGE),
    "interpolate_bilinear": Case(
        lambda F, x: F.interpolate(x * x, scale_factor=2, mode="bilinear"), _IMAGE
    ),
    "pixel_shuffle": Case(lambda F, x: F.pixel_shuffle(x * x, 2), _IMAGE),
    "channel_shuffle": Case(lambda F, x: F.channel_shuffle(x * x, 2), _IMAGE),
    "pad": Case(lambda F, x: F.pad(x * x, (1, 2, 0, 1)), _IMAGE),
    "pad_reflect": Case(lambda F, x: F.pad(x * x, (1, 2), mode="reflect"), ((2, 3, 6),)),
    "unfold": Case(lambda F, x: F.unfold(x * x, 3), _IMAGE),
    "reshape": Case(lambda F, x: (x * x).reshape(7, 3), _X),
    "permute": Case(lambda F, x: F.permute(x * x, (1, 0)), _X),
    "narrow": Case(lambda F, x: F.narrow(x * x, 1, 2, 3), _X),
    "cat": Case(lambda F, x, y: F.cat([x * y, y * y], 1), _XY),
    "stack": Case(lambda F, x, y: F.stack([x * y, x * x], 0), _XY),
    "split": Case(lambda F, x: F.split(x * x, 3, 1)[1], _X),
    "chunks": Case(lambda F, x: F.mul(*F.chunk(x, 2, 1)), ((3, 8),)),
    "embedding": Case(lambda F, w, i: F.embedding(i, w * w), ((6, 4),), more=_classes(6, 5)),
    "mse_loss": Case(_two("mse_loss"), _XY),
    "mse_loss_none": Case(_two("mse_loss", reduction="none"), _XY),
    "l1_loss": Case(_two("l1_loss"), _XY),
    "smooth_l1_loss": Case(_two("smooth_l1_loss"), _XY),
    "huber_loss": Case(_two("huber_loss", reduction="sum"), _XY),
    "gaussian_nll_loss": Case(lambda F, x, y: F.gaussian_nll_loss(x, y, y * y + 1), _XY),
    "triplet_margin_loss": Case(lambda F, x, y: F.triplet_margin_loss(x, y, x * y), _XY),
    "poisson_nll_loss": Case(_two("poisson_nll_loss"), _XY),
    "binary_cross_entropy": Case(_two("binary_cross_entropy"), _XY, "share"),
    "bce_with_logits": Case(_two("binary_cross_entropy_with_logits"), _XY, "share"),
    "kl_div": Case(_two("kl_div", reduction="sum"), _XY, "share"),
    "cross_entropy": Case(lambda F, x, t: F.cross_entropy(x, t), ((5, 7),), more=_classes(7, 5)),
    "cross_entropy_smooth": Case(
        lambda F, x, t: F.cross_entropy(x, t, label_smoothing=0.1, reduction="sum"),
        ((5, 7),),
        more=_classes(7, 5),
    ),  # fmt: skip
    "cross_entropy_image": Case(
        lambda F, x, t: F.cross_entropy(x, t, reduction="none"),
        ((2, 4, 3),),
        more=_classes(4, 2, 3),
    ),
    "nll_loss": Case(
        lambda F, x, t: F.nll_loss(F.log_softmax(x, 1), t), ((5, 7),), more=_classes(7, 5)
    ),
    "mlp": Case(lambda F, x, v, w: F.linear(F.tanh(F.linear(x, v)), w), ((3, 4), (5, 4), (2, 5))),
}

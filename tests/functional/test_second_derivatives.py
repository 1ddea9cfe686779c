# SPDX-License-Identifier: Apache-2.0
"""Second derivatives of every function: PyTorch's in float64."""

import re
import zlib
from math import inf, nan

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

_OF_ONE = (
    "abs", "acosh(p + 1)", "acos(u / 4)", "asin(u / 4)", "asinh", "atan", "atanh(u / 4)", "ceil",
    "celu", "cos", "cosh", "elu", "erf", "erfc", "exp", "exp2", "expm1", "floor", "gelu",
    "gelu(u, approximate='tanh')", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "leaky_relu", "leaky_relu(u, 0.0)", "log(p)", "log10(p)", "log1p(p)", "log2(p)", "logit(p / 4)",
    "logsigmoid", "mish", "nan_to_num", "neg", "reciprocal(p)", "relu", "relu6", "rsqrt(p)", "selu",
    "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "softplus(u, 2.0, 1.0)", "softshrink",
    "softsign", "sqrt(p)", "square", "tan(u / 3)", "tanh", "tanhshrink", "threshold(u, 0.5, 7.0)",
    "trunc", "lgamma(p)", "digamma(p)", "erfinv(u / 3)", "sinc", "frac(u * u)", "deg2rad(u * u)",
    "rad2deg(u * u)", "glu", "dropout(u, 0.0)", "alpha_dropout(u, 0.0, False)",
)  # fmt: skip
#: Over u (3, 4) of both signs, p (3, 4) positive and v (4,); i (1, 2, 4, 4), s (1, 2, 6) and
#: n (1, 2, 2, 4, 4) of both signs; t, the classes of rows; m, a mask (3, 4); k, indices (3, 4).
CALLS = [
    *(name if "(" in name else f"{name}(u)" for name in _OF_ONE),
    # arithmetic
    "add(u, p, alpha=2)", "sub(u, v)", "mul(u, p)", "mul(u, u)", "div(u, p)", "div(v, p)",
    "maximum(u, p)", "minimum(u, v)", "pow(p, 3.0)", "pow(p, u)", "pow(p, 0.5)", "pow(u, 2)",
    "pow(2.0, u)", "atan2(u, p)", "fmod(u, p)", "remainder(u, p)", "clamp(u, -0.5, 0.7)",
    "clamp(u, min=v)", "clamp_max(u, 0.3)", "clamp_min(u, 0.3)", "where(m, u * u, p * u)",
    "masked_fill(u * u, m, 2.0)", "addcdiv(u, u, p)", "addcmul(u, u, p)", "lerp(u, p, 0.3)",
    "lerp(u, p, u)", "logaddexp(u, p)", "logaddexp(u, u)", "hypot(u, p)", "xlogy(u, p)",
    "copysign(u * u, v)",
    "logaddexp2(u, p)", "fmax(u * p, u)", "fmin(u * u, p)", "float_power(p, u)",
    "u * u + p / (1 + p)", "u ** 2 * v", "2.0 / p - u",
    # reductions
    "sum(u * u, 1)", "mean(u * p, 0)", "prod(p, 1)", "prod(u)", "amax(u * u, 1)", "amin(u * p, 0)",
    "max(u * u, 1)[0]", "min(u * p)", "max(u * u)", "var(u, 1)", "std(p, 1)", "var(u)",
    "var(u, 1, correction=5)",
    "std_mean(p, 1)[0]", "var_mean(u, 0)[0]", "norm(u)", "norm(u, 2.0, 1)", "norm(u, 1.0, 1)",
    "norm(u, 3.0, 1)", "norm(u, inf, 1)", "norm(u, -inf, 1)", "normalize(u)", "normalize(u, 3.0)",
    "logsumexp(u, 1)", "logsumexp(u, (0, 1))", "cumsum(u * u, 1)", "cumprod(p, 1)",
    "cosine_similarity(u, p)", "pairwise_distance(u, p)", "pairwise_distance(u, p, 1.0)",
    "cdist(u, p)", "cdist(u, p, 1.0)", "cdist(u, p, 3.0)",
    # softmax and attention
    "softmax(u, 1)", "softmax(u, 0)", "log_softmax(u, 1)", "log_softmax(u, 0)", "softmin(u, 1)",
    "scaled_dot_product_attention(i, i * 0.5, i)",
    "scaled_dot_product_attention(i, i, i, is_causal=True)",
    "scaled_dot_product_attention(i, i, i, attn_mask=reshape(i, (1, 2, 4, 4)))",
    # products
    "matmul(u, transpose(p, 0, 1))", "matmul(u, v)", "linear(u, p, v[:3])", "bmm(i[0], i[0])",
    "addmm(u, u[:, :3], p)", "baddbmm(i[0], i[0], i[0])", "mm(u, transpose(u, 0, 1))",
    "bilinear(u, p, i[0])", "dot(v, v)", "mv(u, v)", "outer(v, v)", "tensordot(u, p, 2)",
    "einsum('ij,kj->ik', u, p)", "einsum('ij,ij,ij->i', u, p, u)",
    # matrices; q is symmetric and positive
    *(call.replace("q", "(i @ transpose(i, 2, 3) + o3)") for call in (
        "linalg.inv(q)", "linalg.solve(q, i)", "linalg.solve_triangular(q, i, upper=True)",
        "linalg.det(q)", "linalg.slogdet(q)[1]", "linalg.cholesky(q)", "linalg.eigvalsh(q)",
        "linalg.eigh(q)[1] ** 2", "linalg.matrix_power(q, -2)", "linalg.matrix_norm(q, 'nuc')")),
    "linalg.qr(u)[1] ** 2", "linalg.qr(transpose(u, 0, 1))[0] ** 2",
    "linalg.svd(u, False)[0] ** 2", "linalg.svd(u, False)[2] ** 2", "linalg.svdvals(u)",
    "linalg.multi_dot([u, transpose(p, 0, 1), u])", "linalg.matrix_norm(u, 1)",
    "linalg.vector_norm(u, 3, 1)",
    # windows
    "conv1d(s, s[:, :, :2])", "conv2d(i, i[:, :, :2, :2], v[:1], padding=1)",
    "conv2d(i, transpose(i[:, :, :2, :2], 0, 1), groups=2, stride=2)",
    "conv2d(i, i[:, :, :2, :2], dilation=2)",
    "conv3d(n, n[:, :, :1, :2, :2])", "conv_transpose1d(s, transpose(s[:, :, :2], 0, 1))",
    "conv_transpose2d(i, transpose(i[:, :, :2, :2], 0, 1), stride=2)",
    "conv_transpose3d(n, transpose(n[:, :, :1, :2, :2], 0, 1))",
    "max_pool1d(s * s, 2)", "max_pool2d(i * i, 2)", "max_pool2d(i * i, 3, 1, 1)",
    "max_pool3d(n * n, 2)", "avg_pool1d(s * s, 2)", "avg_pool2d(i * i, 2)",
    "avg_pool2d(i * i, 3, 2, 1)", "avg_pool3d(n * n, 2)",
    "lp_pool1d(s, 2.0, 2)", "lp_pool2d(i * i, 3.0, 2)", "lp_pool2d(i, 2.0, 2)",
    "adaptive_avg_pool1d(s * s, 2)", "adaptive_avg_pool2d(i * i, 3)",
    "adaptive_avg_pool2d(i * i, 1)", "adaptive_avg_pool3d(n * n, 1)",
    "adaptive_max_pool1d(s * s, 4)", "adaptive_max_pool2d(i * i, 3)",
    "adaptive_max_pool3d(n * n, 2)", "fold(reshape(i * i, (1, 8, 4)), (3, 3), 2)",
    "unfold(i * i, 2)", "max_unpool2d(*max_pool2d(i * i, 2, return_indices=True), 2)",
    "max_unpool1d(*max_pool1d(s * s, 2, return_indices=True), 2)",
    "max_unpool3d(*max_pool3d(n * n, 2, return_indices=True), 2)",
    "interpolate(i * i, scale_factor=2)", "interpolate(i * i, (3, 7), mode='bilinear')",
    "interpolate(s * s, 9, mode='linear', align_corners=True)",
    "interpolate(i * i, (3, 7), mode='bicubic')", "interpolate(i * i, (3, 3), mode='area')",
    "interpolate(n * n, (3, 3, 3), mode='trilinear')",
    "grid_sample(i, tanh(i).reshape(1, 4, 4, 2), align_corners=False)",
    "grid_sample(i, tanh(i).reshape(1, 4, 4, 2), padding_mode='border', align_corners=True)",
    "grid_sample(i * i, tanh(i).reshape(1, 4, 4, 2), 'nearest', align_corners=False)",
    "affine_grid(u[:2, :3].reshape(1, 2, 3) ** 2, (1, 1, 2, 2), False)",
    # normalization
    "batch_norm(u, None, None, v, v, training=True)", "batch_norm(i, None, None, training=True)",
    "batch_norm(u, c, c, v, v)", "group_norm(i, 1, v[:2], v[:2])", "group_norm(i, 2)",
    "instance_norm(i, weight=v[:2], bias=v[:2])", "layer_norm(u, (4,), v, v)",
    "layer_norm(u, (3, 4))", "rms_norm(u, (4,), v)", "local_response_norm(i, 3)",
    "local_response_norm(i, 2, 1.0, 0.6)", "prelu(u, v)", "prelu(i, v[:2])",
    # losses
    "nll_loss(u * u, t)", "nll_loss(u * u, t, c)", "nll_loss(u * u, t, reduction='none')",
    "nll_loss(u * u, t, ignore_index=1)", "cross_entropy(u, t)", "cross_entropy(u, t, c)",
    "cross_entropy(u, t, reduction='none')", "cross_entropy(u, t, reduction='sum')",
    "cross_entropy(u, t, ignore_index=1)", "cross_entropy(u, t, label_smoothing=0.1)",
    "cross_entropy(u, t, c, label_smoothing=0.1)", "cross_entropy(u, softmax(p, 1))",
    "cross_entropy(u, softmax(p, 1), c, label_smoothing=0.1)",
    "cross_entropy(s, y)", "nll_loss(i * i, z)",
    "bce", "binary_cross_entropy_with_logits(u, p / 2)",
    "binary_cross_entropy_with_logits(u, p / 2, c, pos_weight=c)",
    "gaussian_nll_loss(u, p, p)", "gaussian_nll_loss(u, p, u * u + 0.1, full=True)",
    "kl_div(u, p)", "kl_div(u, p, reduction='batchmean', log_target=True)",
    "poisson_nll_loss(u, p)", "poisson_nll_loss(p, p, log_input=False)", "huber_loss(u, p)",
    "huber_loss(u * u, p, delta=0.5)", "l1_loss(u * u, p)", "mse_loss(u, p)",
    "smooth_l1_loss(u, p)",
    "smooth_l1_loss(u * u, p, beta=0.3)", "cosine_embedding_loss(u, p, g[:, 0])",
    "cosine_embedding_loss(u, p, g[:, 0], margin=0.2)",
    "hinge_embedding_loss(u * u, g)", "margin_ranking_loss(u * u, p, g, 0.5)",
    "multi_margin_loss(u * u, t)", "multi_margin_loss(u, t, 2)",
    "multi_margin_loss(u, t, 2, 1.0, c)",
    "multilabel_soft_margin_loss(u, p / 2)",
    "soft_margin_loss(u, g)", "triplet_margin_loss(u, p, u * u)",
    "triplet_margin_loss(u, p, u * u, swap=True)", "triplet_margin_loss(u, p, u * u, p=1.0)",
    "triplet_margin_with_distance_loss(u, p, u * u)",
    # shapes and indices
    "broadcast_to(v * v, (3, 4))", "expand(v * v, (3, 4))", "flip(u * u, (0,))",
    "roll(u * u, 1, 1)",
    "meshgrid(v * v, v, indexing='ij')[0]", "repeat_interleave(u * u, 2, 1)", "tile(u * u, (2, 1))",
    "tril(u * u)", "triu(u * p)", "diag(v * v)", "diagonal(u * u)", "hstack([u * u, p])",
    "vstack([u, p * u])", "movedim(i * i, 1, 3)", "select(u * u, 1, 2)", "swapaxes(u * u, 0, 1)",
    "unbind(u * u)[1]", "cat([u * u, p * u], 1)", "stack([u * u, p * u], 1)",
    "chunk(u * u, 2, 1)[0]",
    "narrow(u * u, 1, 1, 2)", "split(u * u, 2, 1)[1]", "pad(u * u, (1, 2))",
    "pad(i * i, (1, 1, 1, 1), mode='reflect')", "pad(i * i, (1, 1, 0, 2), mode='replicate')",
    "pad(s * s, (1, 1), mode='circular')", "channel_shuffle(i * i, 2)", "flatten(i * i)",
    "permute(i * i, (0, 2, 3, 1))", "pixel_shuffle((i * i).reshape(1, 8, 2, 2), 2)",
    "pixel_unshuffle(i * i, 2)", "squeeze(i * i)", "unsqueeze(u * u, 0)",
    "unflatten(u * u, 1, (2, 2))",
    "embedding(t, u * u)", "gather(u * u, 1, k)", "index_select(u * u, 0, t)",
    "take_along_dim(u * u, k, 1)", "scatter(u * u, 1, k, p * u)", "scatter_add(u * u, 1, k, p * u)",
    "index_add(u * u, 0, t, p * u)", "index_put(u * u, (t,), p * u)",
    "index_put(u * u, (t,), p * u, accumulate=True)", "sort(u * u, 1)[0]", "topk(u * u, 2)[0]",
    "median(u * u, 1)[0]", "nanmedian(u * p)", "kthvalue(u * u, 2)[0]", "quantile(u * p, 0.4, 1)",
    "nanquantile(u * u, p[0] / 2)", "nansum(u * u, 0)", "nanmean(u * p)", "aminmax(u * p)[1]",
    "index_copy(u * u, 0, t, p * u)", "index_fill(u * u, 1, t, 2.0)", "take(u * u, k)",
    "masked_scatter(u * u, m, p * u)", "slice_scatter(u * u, p[:, :2] * u[:, 2:], 1, 1, 3)",
    "select_scatter(u * u, v * v, 0, 1)", "diff(u * u, 2)", "rot90(u * u)", "trace(u * p)",
    "tensor_split(u * u, 3, 1)[0]", "cross(u[:, :3], p[:, 1:], 0)", "cov(u)", "corrcoef(u)",
    *(f"scatter_reduce(u * u, 1, k * 0 + 1, p * u, '{reduce}')"
      for reduce in ("sum", "mean", "prod", "amax", "amin")),
    "(u * u)[1:, ::2]", "(u * u)[:, -1]", "u[t] * u",
]  # fmt: skip
CALLS[CALLS.index("bce")] = "binary_cross_entropy(sigmoid(u), p / 2)"
#: Other functions, for those whose second derivatives PyTorch lacks.
EQUIVALENT = {
    "hardsigmoid(u)": "clamp(u / 6 + 0.5, 0, 1)",
    "cdist(u, p)": "norm(u[:, None] - p, 2.0, -1)",
    "cdist(u, p, 1.0)": "norm(u[:, None] - p, 1.0, -1)",
    "cdist(u, p, 3.0)": "norm(u[:, None] - p, 3.0, -1)",
    "scaled_dot_product_attention(i, i * 0.5, i)":
    "softmax(i @ transpose(i, 2, 3) / 4, -1) @ i",
    "scaled_dot_product_attention(i, i, i, is_causal=True)":
    "softmax(masked_fill(i @ transpose(i, 2, 3) / 2, triu(ones(4, 4), 1) > 0, -inf), -1) @ i",
    "multi_margin_loss(u * u, t)":
    "sum(clamp_min(1 - (u * u)[arange(3), t][:, None] + u * u, 0) * o) / 12",
    "multi_margin_loss(u, t, 2)":
    "sum(clamp_min(1 - u[arange(3), t][:, None] + u, 0) ** 2 * o) / 12",
    "multi_margin_loss(u, t, 2, 1.0, c)":
    "sum(clamp_min(1 - u[arange(3), t][:, None] + u, 0) ** 2 * o * c[t][:, None]) / 12",
}  # fmt: skip
_SHAPES = {"u": (3, 4), "p": (3, 4), "v": (4,), "i": (1, 2, 4, 4), "s": (1, 2, 6),
           "n": (1, 2, 2, 4, 4)}  # fmt: skip
_CLASSES = [2, 0, 1]
_INDICES = [[3, 0, 2, 1], [1, 2, 0, 3], [0, 3, 1, 2]]
#: Other operands of calls: weights, signs, class indices, and wrong classes of rows.
_CONSTANTS = {
    "c": np.array([0.7, 1.1, 0.4, 0.9]),
    "g": np.where(np.array(_INDICES) % 3, 1.0, -1.0),
    "o": 1.0 - np.eye(4)[_CLASSES], "o3": np.eye(4) * 0.7,
    "t": np.array(_CLASSES), "k": np.array(_INDICES), "m": np.array(_INDICES) > 1,
    "y": np.array([[0, 1, 1, 0, 1, 0]]), "z": np.arange(16).reshape(1, 4, 4) % 2,
}  # fmt: skip
TOLERANCE = 3e-4


def values(call):
    """Return the numbers of the operands that a call reads, by name."""
    rng = np.random.default_rng(zlib.crc32(call.encode()))
    result = {}
    for name, shape in _SHAPES.items():
        drawn = rng.uniform(0.2, 1.4, shape)
        # Away from 0, 0.5 and other kinks, and from each other.
        signs = np.where(rng.random(shape) < 0.5, -1, 1)
        result[name] = drawn if name in "pv" else drawn * signs * 1.1
    words = set(re.findall(r"\b[a-z]\b", call))
    return {n: a for n, a in result.items() if n in words}


def weights(shape, number):
    """Return factors that make a sum of an array depend on each element."""
    return np.cos(np.arange(int(np.prod(shape))) * (1 + number)).reshape(shape) + 0.3


def function_of(call, names, operands):
    return eval(f"lambda {', '.join(operands)}: {call}", {**names, "inf": float("inf")})


# --- What PyTorch gives


def names_of_torch(torch, dtype):
    """Return what calls use: functions, and constants of a dtype."""
    constants = {n: torch.tensor(a) for n, a in _CONSTANTS.items()}
    return {
        **{n: getattr(torch, n) for n in dir(torch) if callable(getattr(torch, n))},
        **{n: getattr(torch.nn.functional, n) for n in dir(torch.nn.functional)},
        "softmin": torch.nn.functional.softmin, "norm": torch.norm,
        "linalg": torch.linalg, "sign": torch.sign,
        "expand": torch.broadcast_to, "transpose": torch.transpose,
        **{n: t.to(dtype) if t.is_floating_point() else t for n, t in constants.items()},
        "inf": inf,
    }  # fmt: skip


def by_torch(torch, call):
    """Return the first and second derivatives by operand."""
    names = names_of_torch(torch, torch.float64)
    provided = {n: torch.tensor(a, requires_grad=True) for n, a in values(call).items()}
    y = function_of(EQUIVALENT.get(call, call), names, provided)(*provided.values())
    loss = (y * torch.tensor(weights(tuple(y.shape), 0))).sum()
    operands = list(provided.values())
    first = torch.autograd.grad(loss, operands, create_graph=True, materialize_grads=True)
    slopes = [(g * torch.tensor(weights(tuple(g.shape), 1))).sum() for g in first]
    total = sum(slopes)
    if total.requires_grad:
        second = torch.autograd.grad(total, operands, materialize_grads=True)
    else:
        second = [torch.zeros_like(a) for a in operands]
    return [[g.detach().numpy(force=True) for g in part] for part in (first, second)]


# --- What this library gives


def ours(call, queue):
    """Return the function of a call and its operands."""
    names = {name: getattr(F, name) for name in (*dir(F), "linalg")}
    for name, numbers in _CONSTANTS.items():
        dtype = "f4" if numbers.dtype == "f8" else None
        names[name] = dpnp.asarray(numbers, dtype=dtype, sycl_queue=queue)
    provided = {n: dpnp.asarray(a, dtype="f4", sycl_queue=queue) for n, a in values(call).items()}
    return function_of(call, names, provided), list(provided.values())


def _array(numbers, like):
    return dpnp.asarray(numbers, dtype="f4", sycl_queue=like.sycl_queue)


def derivatives(call, queue):
    """Return the first and the second derivatives by operand."""
    function, operands = ours(call, queue)
    every = tuple(range(len(operands)))
    shape = function(*operands).shape
    outer, inner = (
        _array(weights(shape, 0), operands[0]),
        [_array(weights(a.shape, 1), a) for a in operands],
    )

    def loss(*args):
        return F.sum(F.mul(function(*args), outer))

    def slope(*args):
        slopes = sycl_dnn.grad(loss, argnums=every)(*args)
        parts = [F.sum(F.mul(g, w)) for g, w in zip(slopes, inner, strict=True) if g is not None]
        total = parts[0]
        for part in parts[1:]:
            total = F.add(total, part)
        return total

    first = sycl_dnn.grad(loss, argnums=every)
    second = sycl_dnn.grad(slope, argnums=every)
    return first, second, operands


def alike(actual, expected, what):
    for number, (mine, other) in enumerate(zip(actual, expected, strict=True)):
        received = np.zeros(np.shape(other)) if mine is None else dpnp.asnumpy(mine)
        limit = TOLERANCE * max(np.abs(other).max(), 1)
        assert np.abs(received - other).max() < limit, (
            f"{what} of operand {number}:\n{received.tolist()}\ntorch\n{other}"
        )


def check(call, queue):
    """Compare with PyTorch: eager, and every third one compiled."""
    expected = by_torch(pytest.importorskip("torch"), call)
    first, second, operands = derivatives(call, queue)
    alike(first(*operands), expected[0], "first")
    compiled = [sycl_dnn.compile(lambda *a: second(*a))] if CALLS.index(call) % 3 == 0 else []
    for run in (second, *compiled):
        alike(run(*operands), expected[1], "second")


@pytest.mark.parametrize("call", CALLS)
def test_second_derivatives(queue, call):
    check(call, queue)


#: What ``nan_mode("propagate")`` computes in another way.
_OTHERWISE = ("adaptive_max", "max_pool", "scaled_dot")


@pytest.mark.parametrize("call", [c for c in CALLS if c.startswith(_OTHERWISE)])
def test_second_derivatives_with_nan(queue, call):
    with sycl_dnn.nan_mode("propagate"):
        check(call, queue)


#: Of a function at numbers: the gradient of a sum weighted by 1, 2, 3..., and that of its sum.
AT_THE_EDGE = {
    "pow(u, 3.0)": ([inf, -inf, 2.0], [inf, inf, 36.0], [inf, -inf, 36.0]),
    "pow(u, 4.0)": ([inf, -inf, 2.0], [inf, -inf, 96.0], [inf, inf, 144.0]),
    "cumprod(u, 0)": ([-1.0, 0.0, 2.0], [1.0, -8.0, 0.0], [8.0, 5.0, -3.0]),
    "elu(u)": ([0.0, -1.0, 2.0], [1.0, 0.7357589, 3.0], [0.0, 0.7357589, 0.0]),
    "celu(u, 2.0)": ([-0.0, -1.0, 2.0], [1.0, 1.2130613, 3.0], [0.0, 0.6065307, 0.0]),
    "selu(u)": ([0.0, -1.0, 2.0], [1.7580993, 1.2935313, 3.152103], [0.0, 1.2935313, 0.0]),
    "linear_recurrence(u, u, 0, full((1,), inf))": (
        [0.5, 0.25, 1.0], [inf, inf, inf], [inf, inf, nan],
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["fast", "propagate"])
@pytest.mark.parametrize("call", AT_THE_EDGE)
@pytest.mark.sweep(2)
def test_unselected_values_produce_no_nan(call, mode, queue):
    values, *expected = AT_THE_EDGE[call]
    u, w = (dpnp.asarray(v, dtype="f4", sycl_queue=queue) for v in (values, [1, 2, 3]))
    names = {name: getattr(F, name) for name in dir(F)} | {"inf": inf}
    function = eval(f"lambda u: {call}", names)
    slope = sycl_dnn.grad(lambda u: F.sum(function(u) * w))
    curve = sycl_dnn.grad(lambda u: F.sum(slope(u)))
    with sycl_dnn.nan_mode(mode):
        for derivative, values in zip((slope, curve), expected, strict=True):
            np.testing.assert_allclose(dpnp.asnumpy(derivative(u)), values, rtol=1e-5)

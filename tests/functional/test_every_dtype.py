# SPDX-License-Identifier: Apache-2.0
"""Functions times dtypes: each dtype of dpnp is right, or refused by a message with the name.

Right is what float32 gives for the same small numbers, which other tests compare with references.
"""

import re

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

#: One of each kind, and those on other code paths; the rest differ only in width.
DTYPES = ("bool", "int8", "int16", "int64", "uint64", "float16")
_OF_ONE = (
    "relu", "relu6", "hardtanh", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish",
    "hardswish", "hardsigmoid", "sigmoid", "tanh", "softplus", "logsigmoid", "softsign",
    "tanhshrink", "softshrink", "hardshrink", "neg", "exp", "log", "sqrt", "abs", "square",
    "reciprocal", "sum", "mean", "prod", "amax", "amin", "max", "min", "argmax", "argmin", "var",
    "std", "norm", "normalize", "flatten",
)  # fmt: skip
_OF_TWO = (
    "add", "sub", "mul", "div", "maximum", "minimum", "pow", "gt", "ge", "lt", "le", "eq", "ne",
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits",
    "hinge_embedding_loss", "soft_margin_loss", "poisson_nll_loss", "multilabel_soft_margin_loss",
)  # fmt: skip
#: These are dpnp's own.
_BY_DPNP = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "exp2",
    "expm1", "log1p", "log2", "log10", "rsqrt", "erf", "erfc", "floor", "ceil", "trunc", "round",
    "sign", "isnan", "isinf", "isfinite", "logical_not",
)  # fmt: skip
_BY_DPNP_OF_TWO = (
    "atan2", "fmod", "remainder", "floor_divide", "logical_and", "logical_or", "logical_xor",
)  # fmt: skip
#: Calls on ``x`` and ``y`` (2, 4) and ``i`` (1, 2, 4, 4), by function name.
CALLS = {
    **{name: f"{name}(x)" for name in _OF_ONE},
    **{name: f"{name}(x, y)" for name in _OF_TWO},
    "softmax": "softmax(x, 1)", "log_softmax": "log_softmax(x, 1)", "softmin": "softmin(x, 1)",
    "logsumexp": "logsumexp(x, 1)", "glu": "glu(x, 1)", "threshold": "threshold(x, 1, 2)",
    "clamp": "clamp(x, 1, 2)", "where": "where(x == y, x, y)", "dropout": "dropout(x, 0.0)",
    "matmul": "matmul(x, permute(y, (1, 0)))", "linear": "linear(x, y)", "cat": "cat([x, y])",
    "stack": "stack([x, y])", "pad": "pad(x, (1, 1))", "reshape": "reshape(x, (4, 2))",
    "permute": "permute(x, (1, 0))", "transpose": "transpose(x, 0, 1)",
    "split": "split(x, 2, 1)[1]",
    "unsqueeze": "unsqueeze(x, 0)", "layer_norm": "layer_norm(x, (4,))",
    "batch_norm": "batch_norm(x, None, None, training=True)",
    "group_norm": "group_norm(i, 1)", "local_response_norm": "local_response_norm(i, 3)",
    "conv2d": "conv2d(i, i)", "max_pool2d": "max_pool2d(i, 2)", "avg_pool2d": "avg_pool2d(i, 2)",
    "adaptive_max_pool2d": "adaptive_max_pool2d(i, 2)",
    "adaptive_avg_pool2d": "adaptive_avg_pool2d(i, 2)",
    "interpolate": "interpolate(i, scale_factor=2)", "pixel_shuffle": "pixel_shuffle(i4, 2)",
    "unfold": "unfold(i, 2)", "prelu": "prelu(x, y[0, :1])",
    "nll_loss": "nll_loss(x, t)", "cross_entropy": "cross_entropy(x, t)",
    "margin_ranking_loss": "margin_ranking_loss(x, y, y)",
    "gaussian_nll_loss": "gaussian_nll_loss(x, y, y)",
    "cosine_embedding_loss": "cosine_embedding_loss(x, y, t)",
    "triplet_margin_loss": "triplet_margin_loss(x, y, x)",
    "multi_margin_loss": "multi_margin_loss(x, t)",
    "multilabel_margin_loss": "multilabel_margin_loss(x, labels)",
    "all": "all(x)", "any": "any(x)",
    "nll_loss of targets": "nll_loss(logs, classes)",
    "cross_entropy of targets": "cross_entropy(logs, classes)",
    "embedding": "embedding(n, x)", "embedding_bag": "embedding_bag(n[None], x)",
    "embedding of numbers": "embedding(classes, logs)",
    "cumsum": "cumsum(x, 1)", "sort": "sort(x, 1)[0]",
    "scatter_add": "scatter_add(x, 0, zeros_like(x, dtype='int64'), y)",
    "scatter": "scatter(x, 0, zeros_like(x[:1], dtype='int64'), y[:1])",
    "gather": "gather(x, 1, zeros_like(x, dtype='int64') + 2)", "tile": "tile(x, (2, 2))",
    "broadcast_to": "broadcast_to(x, (3, 2, 4))", "repeat_interleave": "repeat_interleave(x, 2, 0)",
    "channel_shuffle": "channel_shuffle(i, 2)", "pixel_unshuffle": "pixel_unshuffle(i, 2)",
    **{name: f"{name}(x)" for name in _BY_DPNP},
    **{name: f"{name}(x, y)" for name in _BY_DPNP_OF_TWO},
    "cumprod": "cumprod(x, 1)", "topk": "topk(x, 2)[0]", "argsort": "argsort(x, 1, stable=True)",
    "outer": "outer(x[0], y[1])", "cosine_similarity": "cosine_similarity(x, y)",
    "pairwise_distance": "pairwise_distance(x, y)", "tril": "tril(x)", "triu": "triu(x)",
    "einsum": "einsum('ij,kj->ik', x, y)", "flip": "flip(x, (1,))", "roll": "roll(x, 1, 1)",
    "grid_sample": "grid_sample(i, i[:, :, :, :2] / 4, align_corners=False)",
    "affine_grid": "affine_grid(x[None, :, :3], (1, 1, 2, 2), False)",
    "one_hot": "one_hot(classes, 3)", "scaled_dot_product_attention":
    "scaled_dot_product_attention(i, i, i)",
    "median": "median(x, 1)[0]", "nanmedian": "nanmedian(x)", "kthvalue": "kthvalue(x, 2)[0]",
    "quantile": "quantile(x, 0.3, 1)", "nansum": "nansum(x, 1)", "nanmean": "nanmean(x)",
    "count_nonzero": "count_nonzero(x, 1)", "aminmax": "aminmax(x, dim=1)[1]",
    "index_fill": "index_fill(x, 1, n, 1)", "take": "take(x, n)", "trace": "trace(x)",
    "index_copy": "index_copy(x, 0, n, y)", "masked_scatter": "masked_scatter(x, x == y, y)",
    "slice_scatter": "slice_scatter(x, y[:, 1:3], 1, 1, 3)", "rot90": "rot90(x)",
    "select_scatter": "select_scatter(x, y[0], 0, 1)", "diff": "diff(x)", "cov": "cov(x)",
    "scatter_reduce": "scatter_reduce(x, 0, zeros_like(x, dtype='int64'), y, 'amax')",
    "scatter_reduce of products": "scatter_reduce(x, 0, zeros_like(x, dtype='int64'), y, 'prod')",
    "cross": "cross(x[:, :3], y[:, 1:], 1)", "tensor_split": "tensor_split(x, 3, 1)[2]",
    "histc": "histc(x, 3)",
    **{name: f"{name}(x)" for name in ("lgamma", "digamma", "sinc", "frac", "signbit", "deg2rad")},
    **{name: f"{name}(x, y)" for name in ("fmax", "fmin", "hypot", "copysign", "xlogy", "heaviside",
                                          "logaddexp2", "isclose", "float_power")},
    "corrcoef": "corrcoef(x)",
}  # fmt: skip
#: Each function with bool, and with two of the others in turn: dpnp compiles a kernel for each
#: dtype of each function.
DRAWN = [
    (name, dtype)
    for n, name in enumerate(CALLS)
    for dtype in (DTYPES[0], DTYPES[1 + n % 5], DTYPES[1 + (n + 2) % 5])
]
VALUES = np.array([[1, 2, 3, 1], [2, 3, 1, 1]])


def numbers(dtype):
    return np.minimum(VALUES, 1) if dtype == "bool" else VALUES


def names(dtype, queue):
    """Return what the calls use."""

    def array(values, kind=dtype):
        return dpnp.asarray(np.asarray(values).astype(kind), sycl_queue=queue)

    small = numbers(dtype)
    image = np.concatenate([small] * 4).reshape(1, 2, 4, 4)
    classes = small[:, 0] if np.dtype(dtype).kind in "iub" else np.array([1, 2])
    return {
        **{n: getattr(F, n) for n in dir(F)},
        "x": array(small), "y": array(small[::-1]), "i": array(image),
        "i4": array(image.reshape(1, 4, 4, 2)), "n": dpnp.asarray([1, 0], sycl_queue=queue),
        "t": dpnp.asarray([1, 2], sycl_queue=queue), "logs": array(small[:, :3], "float32"),
        "classes": array(classes, dtype),
        "labels": dpnp.asarray([[1, 2, -1, 0], [0, -1, -1, -1]], sycl_queue=queue),
    }  # fmt: skip


def reference(name, dtype, queue):
    """Return the float32 result for the same numbers."""
    known = names("float32", queue)
    if dtype == "bool":
        for key, value in known.items():
            if isinstance(value, dpnp.ndarray) and key in ("x", "y", "i", "i4"):
                known[key] = dpnp.minimum(value, 1)
    known["classes"] = dpnp.asarray(
        numbers(dtype)[:, 0] if np.dtype(dtype).kind in "iub" else np.array([1, 2]),
        sycl_queue=queue,
    )
    return dpnp.asnumpy(eval(CALLS[name], known))


@pytest.mark.sweep(48)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "dtype"), DRAWN)
def test_each_dtype_is_correct_or_refused_by_name(name, dtype, queue):
    refusal = None
    try:
        actual = dpnp.asnumpy(eval(CALLS[name], names(dtype, queue)))
    except (TypeError, ValueError, NotImplementedError, sycl_dnn.errors.Unimplemented) as error:
        refusal = str(error)
    if refusal is not None:
        assert re.match(rf"(\w+: )?{name.split(' ')[0]}\b", refusal), refusal
        return
    expected = reference(name, dtype, queue)
    if actual.dtype.kind == "u":
        expected = expected.astype("i8")  # -1 is the largest number, as in NumPy
    expected = expected.astype(actual.dtype) if actual.dtype.kind in "iub" else expected
    tolerance = 5e-3 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_wide_sums_are_exact(name, queue):
    function = getattr(F, name)
    large = dpnp.asarray(np.array([2**64 - 1], "u8"), sycl_queue=queue)
    assert int(function(large)) == 2**64 - 1
    turned = dpnp.asarray(np.array([1 + 2j, 3j], "c8"), sycl_queue=queue)
    assert complex(function(turned)) == {"sum": 1 + 5j, "prod": -6 + 3j}[name]

# SPDX-License-Identifier: Apache-2.0
"""NaN, infinities and extremes: results equal PyTorch's, forward and backward.

The table is ``FUNCTIONS`` times ``INPUTS`` times dtypes. What PyTorch gives for it lies in
special_values.json; ``python tests/functional/test_special_values.py`` writes that file.
"""

import contextlib
import math
import re
from pathlib import Path

import dpnp
import numpy as np
import pytest
import stored_tables

import sycl_dnn
from sycl_dnn import _core
from sycl_dnn import functional as F
from sycl_dnn.trace.capabilities import has_avx512

STORED = Path(__file__).with_name("special_values.json")
TABLE = stored_tables.read(STORED)
nan, inf = math.nan, math.inf
BIG = 3e38
WIDE = 2.0**63
#: Where images are sampled: inside, on points, beyond the border.
PLACES = [[
    [[0.3, -0.6], [0.9, 0.2], [-0.75, -0.25]], [[-1.2, 0.1], [1.5, 0.8], [0.25, -7.0]],
    [[0.1, 0.95], [5.0, 0.0], [0.75, 0.75]],
]]  # fmt: skip
#: By name of the input.
INPUTS = {
    "numbers": [nan, inf, -inf, BIG, -BIG, 0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 25.0, -200.0],
    "rows": [
        [1, nan, 2], [1, inf, 2], [-inf, -inf, -inf], [1, -inf, 2], [inf, inf, 1], [nan, nan, nan],
        [WIDE, WIDE / 2, 1], [-WIDE, -WIDE, -WIDE], [2, 2, 2], [0, -0.0, 1], [inf, -inf, nan],
        [nan, 1, 5], [5, 1, nan],
    ],
    "image": [[
        [[1, nan, 2, 3], [4, 5, inf, 6], [-inf, -inf, 7, -inf], [-inf, -inf, 5, nan]],
        [[nan, 1, -BIG, -BIG], [0, 2, -BIG, -inf], [inf, -inf, 1, 1], [1, nan, 1, 1]],
    ]],
    "borders": [
        0.0, -0.0, 1.0, -1.0, 1.5, -1.5, 0.5, -0.5, nan, inf, -inf, 1e-30, -1e-30, 1e30, -1e30,
        0.999, 1e-3,
    ],
    "denormals": [1e-40, -1e-40, 1e-38, -1e-39, 1.4e-45],
    "numbers twice": [
        [nan, 1, nan, inf, -inf, inf, -inf, 0, 1, 2, BIG, 1, nan, -inf, 1],
        [1, nan, nan, 1, 1, inf, inf, -0.0, 1, 1, -BIG, inf, inf, nan, -inf],
    ],
    "zeros twice": [
        [0, -0.0, 0, 1, BIG, 0, 0, 0, -0.0, -5, -2, -2, 2, 1, inf, 5, -5, 1],
        [0, 0, -0.0, 0, BIG, -1, 0.5, -1, -1, 3, 0, 0.5, 3, nan, 1, -inf, 3, inf],
    ],
}  # fmt: skip
#: Functions as both libraries write them, by the input that they get.
FUNCTIONS = {
    "numbers": [
        "relu(x)", "relu6(x)", "hardtanh(x)", "hardtanh(x, -2.0, 0.5)", "leaky_relu(x)",
        "leaky_relu(x, 0.0)", "elu(x)", "selu(x)", "celu(x)", "celu(x, 2.0)", "gelu(x)",
        "gelu(x, approximate='tanh')", "silu(x)", "mish(x)", "hardswish(x)", "hardsigmoid(x)",
        "sigmoid(x)", "tanh(x)", "softplus(x)", "softplus(x, 2.0, 5.0)", "logsigmoid(x)",
        "softsign(x)", "tanhshrink(x)", "softshrink(x)", "hardshrink(x)", "threshold(x, 0.5, 7.0)",
        "exp(x)", "log(x)", "sqrt(x)", "abs(x)", "square(x)", "neg(x)", "reciprocal(x)",
        "clamp(x, -1.0, 2.0)", "clamp(x, min=0.0)", "clamp(x, max=1.0)", "pow(x, 2.0)",
        "pow(x, 3.0)", "pow(x, 0.0)", "pow(x, 0.5)", "pow(x, -0.5)", "pow(x, -2.0)", "pow(x, 2.5)",
        "x + 1.0", "x * 2.0", "sum(x)", "mean(x)", "amax(x)", "amin(x)",
        "soft_margin_loss(x, ones_like(x), reduction='none')",
        "sin(x)", "cos(x)", "tan(x)", "asin(x)", "acos(x)", "atan(x)", "sinh(x)", "cosh(x)",
        "asinh(x)", "acosh(x)", "atanh(x)", "exp2(x)", "expm1(x)", "log1p(x)", "log2(x)",
        "log10(x)", "rsqrt(x)", "erf(x)", "erfc(x)", "floor(x)", "ceil(x)", "trunc(x)", "round(x)",
        "lgamma(x)", "digamma(x)", "erfinv(x)", "sinc(x)", "frac(x)", "signbit(x)", "deg2rad(x)",
        "rad2deg(x)", "hypot(x, x * 2)", "xlogy(x, abs(x))",
        "sign(x)", "isnan(x)", "isinf(x)", "isfinite(x)", "logical_not(x)", "cumsum(x, 0)",
        "where(x > 0, x, x * 0)",
    ],
    "borders": [
        "lgamma(x)", "digamma(x)", "erfinv(x)", "sinc(x)", "hypot(x, x)", "xlogy(x, x)",
        "logaddexp2(x, -x)", "copysign(x, -x)",
        "acos(x)", "acosh(x)", "asin(x)", "asinh(x)", "atan(x)", "atan2(x, -x)", "atanh(x)",
        "clamp(x, -1.0, 1.0)", "erfc(x)", "exp2(x)", "expm1(x)", "log(x)",
        "kl_div(zeros_like(x), x, reduction='none')", "log10(x)", "log1p(x)", "log2(x)",
        "logaddexp(x, -x)", "logaddexp(x, x)", "logit(x)", "logit(x, 0.0)", "logit(x, 1e-6)",
        "logit(x, 0.2)", "logit(x, 0.5)", "norm(unsqueeze(x, 1), 2.0, 1)",
        "norm(unsqueeze(x, 1), 3.0, 1)", "normalize(unsqueeze(x, 1))", "pow(x, -0.5)",
        "gaussian_nll_loss(zeros_like(x), zeros_like(x), abs(x), reduction='none')",
        "pow(x, 1.5)", "pow(0.5, x)", "rsqrt(x)", "where(x > 0, sqrt(x), x)", "2.0 / x",
    ],
    "denormals": [
        "log(x)", "log10(x)", "log1p(x)", "log2(x)", "logit(x)", "norm(unsqueeze(x, 1), 2.0, 1)",
        "pow(x, 0.5)", "pow(x, 1.5)", "reciprocal(x)", "rsqrt(x)", "sqrt(x)",
        "binary_cross_entropy(abs(x), zeros_like(x), reduction='none') * 1e38",
        "where(x > 0, log(x), x)", "where(x > 0, sqrt(x), x)", "2.0 / x", "exp2(x * 1e42) * 1e42",
    ],
    "rows": [
        "softmax(x, 1)", "softmax(x, 0)", "log_softmax(x, 1)", "log_softmax(x, 0)", "softmin(x, 1)",
        "logsumexp(x, 1)", "logsumexp(x, 0)", "amax(x, 1)", "amin(x, 1)", "amax(x, 0)",
        "amin(x, 0)", "max(x, 1)[0]", "min(x, 1)[0]", "max(x, 0)[0]", "max(x, 1)[1]",
        "min(x, 1)[1]", "max(x)", "min(x)", "argmax(x, 1)", "argmin(x, 1)", "argmax(x)",
        "sum(x, 1)", "mean(x, 1)", "prod(x, 1)", "var(x, 1)", "std(x, 1)", "norm(x, 2.0, 1)",
        "norm(x, 1.0, 1)", "norm(x, inf, 1)", "normalize(x)", "layer_norm(x, (3,))",
        "nll_loss(x, t, reduction='none')", "nll_loss(x, ignored)", "nll_loss(x, ignored, w)",
        "cross_entropy(x, t, reduction='none')", "cross_entropy(x, ignored)",
        "cross_entropy(x, ignored, w)", "cross_entropy(x, t, label_smoothing=0.1)",
        "glu(pad(x, (0, 1)), 1)", "linear(x, w33)",
        "multilabel_soft_margin_loss(x, x, reduction='none')",
        "cumsum(x, 1)", "cumprod(x, 1)", "sort(x, 1)[0]", "sort(x, 0, True)[0]",
        "argsort(x, dim=1, stable=True)", "topk(x, 2)[0]", "topk(x, 2, largest=False)[0]",
        "outer(x[0], x[1])", "cosine_similarity(x, roll(x, 1, 0))",
        "pairwise_distance(x, roll(x, 1, 0))", "local_response_norm(unsqueeze(x, 2), 3)",
        "local_response_norm(unsqueeze(x, 2), 2, 1.0)",
        "median(x, 1)[0]", "nanmedian(x, 0)[0]", "median(x)", "nanmedian(x)",
        "kthvalue(x, 2)[0]", "quantile(x, 0.3, 1)", "nanquantile(x, 0.3, 1)", "nansum(x, 1)",
        "nanmean(x, 1)", "aminmax(x)[0]",
        "nll_loss(x, t, winf, reduction='none')", "cross_entropy(x, t, winf, reduction='none')",
    ],
    "image": [
        "max_pool2d(x, 2)", "max_pool2d(x, 2, return_indices=True)[0]",
        "max_pool2d(x, 2, return_indices=True)[1]", "max_pool2d(x, 2, 1, 1)",
        "adaptive_max_pool2d(x, 2)", "adaptive_max_pool2d(x, 3)", "avg_pool2d(x, 2)",
        "max_pool2d(x, 2, 1, 0, 2)",
        "grid_sample(x, places, align_corners=False)",
        "grid_sample(x, places, padding_mode='border', align_corners=True)",
        "grid_sample(x, places, padding_mode='reflection', align_corners=False)",
        "grid_sample(x, places, 'nearest', align_corners=False)",
        "adaptive_avg_pool2d(x, 3)", "adaptive_avg_pool2d(x, (5, 2))",
        "interpolate(x, (3, 5), mode='area')", "interpolate(x, (5, 3), mode='bilinear')",
        "interpolate(x, 8, mode='bilinear', align_corners=True)",
        "interpolate(x, scale_factor=1.3, mode='bilinear')",
        "interpolate(x, 6, mode='bicubic')",
        "interpolate(x, (3, 2), mode='bilinear', antialias=True)",
        "interpolate(x, (3, 6), mode='bicubic', antialias=True)",
        "interpolate(x[0], 7, mode='linear', align_corners=True)",
        "interpolate(x, (3, 5))", "interpolate(x, (3, 5), mode='nearest-exact')",
        "scaled_dot_product_attention(x, x, x)",
        "scaled_dot_product_attention(x, ones_like(x), ones_like(x), ones_like(x)[0, 0])",
    ],
    "numbers twice": [
        "fmax(x[0], x[1])", "fmin(x[0], x[1])", "hypot(x[0], x[1])", "xlogy(x[0], x[1])",
        "copysign(x[0], x[1])", "logaddexp2(x[0], x[1])", "isclose(x[0], x[1])",
        "heaviside(x[0], x[1])",
        "maximum(x[0], x[1])", "minimum(x[0], x[1])", "mse_loss(x[0], x[1], reduction='none')",
        "l1_loss(x[0], x[1], reduction='none')", "smooth_l1_loss(x[0], x[1], reduction='none')",
        "huber_loss(x[0], x[1], reduction='none')",
        "binary_cross_entropy_with_logits(x[0], x[1], reduction='none')",
        "binary_cross_entropy_with_logits(x[0], sigmoid(x[1]), reduction='none')",
        "hinge_embedding_loss(x[0], x[1], reduction='none')",
        "poisson_nll_loss(x[0], x[1], reduction='none')",
        "margin_ranking_loss(x[0], x[1], x[1], reduction='none')",
        "gaussian_nll_loss(x[0], x[1], square(x[1]), reduction='none')",
        "x[0] + x[1]", "x[0] * x[1]",
        "x[0] / x[1]", "prelu(x[0], x[1][8:9])",
        "atan2(x[0], x[1])", "fmod(x[0], x[1])", "remainder(x[0], x[1])", "pow(x[0], x[1])",
        "div(x[0], x[1], rounding_mode='floor')", "div(x[0], x[1], rounding_mode='trunc')",
        "floor_divide(x[0], x[1])", "logical_and(x[0], x[1])", "logical_or(x[0], x[1])",
        "logical_xor(x[0], x[1])", "kl_div(x[0], x[1], reduction='none')",
    ],
    "zeros twice": [
        "atan2(x[0], x[1])", "pow(x[0], x[1])", "remainder(x[0], x[1])", "fmod(x[0], x[1])",
    ],
}  # fmt: skip
#: Intentional differences from PyTorch's algorithms, by case, or case and dtype,
#: the places to omit.
OTHERWISE: dict[str | tuple[str, str], tuple[int, ...]] = {
    "hardswish(x)": (3,),  # PyTorch multiplies before it divides: 3e38 overflows there
    "softsign(x)": (1, 2, 3, 4),  # PyTorch's gradient at infinity is NaN, here 0, the limit
    # PyTorch's (1 - target) * x is NaN for an infinite x and target 1; here infinity, and
    # NaN for two infinities
    "binary_cross_entropy_with_logits(x[0], x[1], reduction='none')": (3, 4, 5),
    # PyTorch adds infinity to (1 - target) * x, minus infinity; here it is the limit
    "binary_cross_entropy_with_logits(x[0], sigmoid(x[1]), reduction='none')": (4, 6),
    # PyTorch's exp(-x) is infinite from 89 on, and so is its loss; here it is -x
    "soft_margin_loss(x, ones_like(x), reduction='none')": (2, 4, 13),
    # Conversion from float16 turns -0 into 0.
    ("log(x)", "float16"): (6,),
    ("sqrt(x)", "float16"): (6,),
    ("reciprocal(x)", "float16"): (6,),
    ("pow(x, 0.5)", "float16"): (2, 4, 6),  # PyTorch has no root there
    # PyTorch's of infinity is infinity in float16 and NaN in other dtypes; here a primitive's is
    # NaN and a kernel's infinity.
    "gelu(x)": (1, 3),
    # PyTorch sums before it divides: twice -3e38 overflows there
    "adaptive_avg_pool2d(x, 3)": (1,),
    "interpolate(x, (3, 5), mode='area')": (2,),
    # PyTorch multiplies infinities by the weight 0 that elements beyond the border have
    "interpolate(x, (5, 3), mode='bilinear')": (2,),
    ("interpolate(x, (5, 3), mode='bilinear')", "float16"): (1,),
    # PyTorch's gradient at -0 depends on how many elements there are
    "logit(x)": (1,),
    "logit(x, 0.0)": (1,),
    ("logit(x, 0.0)", "float16"): (12,),
    ("borders: pow(x, -0.5)", "float16"): (1, 10, 12, 14),  # PyTorch has no root there
    ("atan2(x, -x)", "float16"): (16,),  # PyTorch's squares underflow
    "norm(unsqueeze(x, 1), 3.0, 1)": (11, 12, 13, 14),  # and its powers
    ("norm(unsqueeze(x, 1), 3.0, 1)", "float16"): (16,),
    ("normalize(unsqueeze(x, 1))", "float16"): (0, 1, 11, 12),  # its eps is 0
    # Its blocked kernel writes 0 next to some NaN
    "scaled_dot_product_attention(x, x, x)": (2,),
    "kthvalue(x, 2)[0]": (2, 5, 7, 8, 9),  # the gradient goes to another one of equal elements
    # PyTorch's gradient is finite at some poles, those of negative integers
    **dict.fromkeys([("numbers: digamma(x)", d) for d in ("float32", "bfloat16")], (4, 8, 10, 13)),
    **dict.fromkeys([("borders: digamma(x)", d) for d in ("float32", "float16")], (3, 14)),
    # PyTorch's gradient cancels near 0
    ("borders: sinc(x)", "float32"): (16,),
    ("borders: sinc(x)", "float16"): (16,),
    "hypot(x[0], x[1])": (10,),  # and multiplies before it divides
    "nanmean(x, 1)": (5,),  # PyTorch's gradient of NaN alone is infinity times 0
    # oneDNN's product of bfloat16 is NaN for several infinities.
    ("linear(x, w33)", "bfloat16"): (4,),
}
#: The table was made with AVX-512; a CPU without it computes these in another way.
WITHOUT_AVX512: dict[str | tuple[str, str], tuple[int, ...]] = {
    "gelu(x)": (1, 3, 4),  # PyTorch and this package return the limit there, but not with AVX-512
    # Conversion from bfloat16 turns -0 into 0.
    ("sqrt(x)", "bfloat16"): (6,),
    ("reciprocal(x)", "bfloat16"): (6,),
}
ON_GPUS = {
    **dict.fromkeys(("elu(", "selu(", "celu(", "hardswish("), "oneDNN's gradient of NaN is NaN"),
    "gelu(x)": "oneDNN's value at infinity is NaN",
}
HAS_AVX512 = has_avx512(_core.Engine("cpu"))
#: Functions that need ``set_nan("propagate")``.
FAST_OTHERWISE = ("max_pool2d(", "adaptive_max_pool2d(", "scaled_dot_product_attention(")
DTYPES = ("float32", "bfloat16", "float16")
TOLERANCE = {"float32": 2e-5, "bfloat16": 2e-2, "float16": 4e-3}
#: Functions without a gradient.
FLAT = (
    "signbit",
    "heaviside",
    "argmax",
    "argmin",
    "argsort",
    "count_nonzero",
    "floor_divide",
    "is",
    "logical_",
)
PAIRS = [(given, case) for given, cases in FUNCTIONS.items() for case in cases]
#: Every case in float32, and in one of the narrow dtypes in turn if PyTorch has it.
CHOSEN = [
    (*p, d)
    for n, p in enumerate(PAIRS)
    for d in (DTYPES[0], DTYPES[1 + n % 2])
    if d == "float32" or d in TABLE.get(f"{p[0]}: {p[1]}", ())
]


def is_flat(case):
    return case.startswith(FLAT) or case.endswith(")[1]")


def expression(case, names):
    """Return the function of ``x`` that a case describes, with the names of one library."""
    return eval(f"lambda x: {case}", {**names, "nan": nan, "inf": inf})


def weights(shape):
    """Return the incoming gradient."""
    return (np.arange(math.prod(shape)).reshape(shape) % 3 + 1).astype("f8")


# --- What PyTorch gives


def by_torch(torch, given, case, dtype):
    """Return the value and the gradient as lists."""
    kind = getattr(torch, dtype)
    x = torch.tensor(INPUTS[given], dtype=torch.float64).to(kind)
    n = len(x) if given == "rows" else 1
    names = {
        **{n: getattr(torch, n) for n in dir(torch) if callable(getattr(torch, n))},
        **{n: getattr(torch.nn.functional, n) for n in dir(torch.nn.functional)},
        "t": torch.arange(n) % 3, "ignored": torch.full((n,), -100),
        "w": torch.ones(3, dtype=kind), "winf": torch.tensor([1.0, inf, 2.0], dtype=kind),
        "w33": torch.ones(3, 3, dtype=kind),
        "places": torch.tensor(PLACES, dtype=kind),
        "softmin": torch.nn.functional.softmin, "norm": torch.norm,
    }  # fmt: skip
    x.requires_grad_(not is_flat(case))
    y = expression(case, names)(x)
    if is_flat(case):
        return [y.tolist(), None]
    y.backward(torch.tensor(weights(tuple(y.shape))).to(kind))
    return [y.detach().double().tolist(), x.grad.double().tolist()]


def write():
    import torch

    table = {}
    for given, case in PAIRS:
        # Conversions to bfloat16 flush denormal numbers to 0.
        for dtype in DTYPES if given != "denormals" else DTYPES[:1]:
            with contextlib.suppress(NotImplementedError):
                row = table.setdefault(f"{given}: {case}", {})
                row[dtype] = by_torch(torch, given, case, dtype)
    stored_tables.write(STORED, table)


# --- What this library gives


def ours(dtype, given, queue):
    """Return the input, and the names that the cases use."""

    def array(value):
        return sycl_dnn.asarray(dpnp.asarray(value, dtype="f4", sycl_queue=queue), dtype)

    n = len(INPUTS[given]) if given == "rows" else 1
    names = {name: getattr(F, name) for name in dir(F)}
    names |= {"w": array([1.0] * 3), "winf": array([1.0, inf, 2.0])}
    names |= {"w33": array([[1.0] * 3] * 3), "places": array(PLACES)}
    names |= {"t": dpnp.asarray(np.arange(n) % 3, sycl_queue=queue)}
    names |= {"ignored": dpnp.full(n, -100, dtype="i8", sycl_queue=queue)}
    return array(INPUTS[given]), names


def values(array):
    if array.dtype in ("bfloat16", np.float16):
        array = F.astype(array, "float32")
    return dpnp.asnumpy(array)


def left_out(given, case, dtype, is_cpu=True):
    """Return the places that are not compared, and their axis."""
    tables = [OTHERWISE] if HAS_AVX512 or not is_cpu else [OTHERWISE, WITHOUT_AVX512]
    keys = (case, (case, dtype), (f"{given}: {case}", dtype))
    places = [n for t in tables for key in keys for n in t.get(key, ())]
    return places, -1 if "numbers" in given or given == "image" else 0


def alike(actual, expected, dtype, what, left_out=((), 0)):
    actual, expected = np.asarray(actual, "f8"), np.asarray(expected, "f8")
    assert actual.shape == expected.shape, f"{what}: {actual.shape}, torch {expected.shape}"
    if left_out[0]:
        actual, expected = (np.delete(a, *left_out) for a in (actual, expected))
    is_near = np.isclose(
        actual, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], equal_nan=True
    )
    assert is_near.all(), f"{what}:\n{actual.tolist()}\ntorch\n{expected.tolist()}"


def value_and_gradient(function, x):
    result, pullback = sycl_dnn.vjp(function, x)
    incoming = dpnp.asarray(weights(result.shape), dtype="f4", sycl_queue=result.sycl_queue)
    return result, pullback(sycl_dnn.asarray(incoming, result.dtype))


def check(given, case, dtype, queue):
    """Compare a case with PyTorch: eager, by ``vjp`` and compiled, forward and backward."""
    x, names = ours(dtype, given, queue)
    function = expression(case, names)
    expected, slope = TABLE[f"{given}: {case}"][dtype]
    places = left_out(given, case, dtype, queue.sycl_device.is_cpu)
    result = function(x)
    assert not case.startswith(("is", "logical_")) or result.dtype == bool
    alike(values(result), expected, dtype, "eager", places)
    alike(values(sycl_dnn.compile(function)(x)), expected, dtype, "compiled", places)
    if slope is None:
        return

    def both(x):
        return value_and_gradient(function, x)

    for mode, run in (("vjp", both), ("compiled vjp", sycl_dnn.compile(both))):
        actual, (gradient,) = run(x)
        alike(values(actual), expected, dtype, f"{mode}, forward", places)
        alike(values(gradient), slope, dtype, f"{mode}, backward", places)


@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("given", INPUTS)
def test_eager_special_values_of_float32_match_pytorch(given, part, queue):
    """All of them; other dtypes, and compiled functions, are another sweep."""
    for case in [c for other, c in PAIRS if other == given][part::6]:
        if queue.sycl_device.is_gpu and case.startswith(tuple(ON_GPUS)):
            continue
        x, names = ours("float32", given, queue)
        function = expression(case, names)
        expected, slope = TABLE[f"{given}: {case}"]["float32"]
        places = left_out(given, case, "float32", queue.sycl_device.is_cpu)
        with sycl_dnn.nan_mode("propagate" if case.startswith(FAST_OTHERWISE) else "fast"):
            if slope is None:
                alike(values(function(x)), expected, "float32", case, places)
                continue
            result, (gradient,) = value_and_gradient(function, x)
        alike(values(result), expected, "float32", case, places)
        alike(values(gradient), slope, "float32", f"{case}, backward", places)


def case_id(value):
    return value if isinstance(value, str) else None


def skip_what_gpus_compute_otherwise(case, queue):
    why = [reason for start, reason in ON_GPUS.items() if case.startswith(start)]
    if why and queue.sycl_device.is_gpu:
        pytest.skip(f"on GPUs {why[0]}")


@pytest.mark.sweep(60)
@pytest.mark.parametrize(("given", "case", "dtype"), CHOSEN, ids=case_id)
def test_special_values_match_pytorch(given, case, dtype, queue):
    """Max pools and attention alone need the mode."""
    skip_what_gpus_compute_otherwise(case, queue)
    with sycl_dnn.nan_mode("propagate" if case.startswith(FAST_OTHERWISE) else "fast"):
        check(given, case, dtype, queue)


@pytest.mark.parametrize("start", FAST_OTHERWISE)
def test_docstrings_describe_the_fast_mode(start):
    """Also of their relatives over other numbers of axes."""
    name = start.partition("(")[0]
    family = re.sub(r"\dd$", "", name)
    relatives = [n for n in F.__all__ if re.sub(r"\dd$", "", n) == family]
    assert name in relatives
    for function in relatives:
        text = getattr(F, function).__doc__
        assert 'set_nan("propagate")' in " ".join(text.split()), function


def test_set_nan_is_part_of_every_key(queue):
    x = dpnp.asarray([[[[nan, -1.0], [2.0, 1.0]]]], dtype="f4", sycl_queue=queue)
    x = dpnp.tile(x, (1, 64, 32, 32))  # few elements are computed by the host, which keeps NaN

    def pool(x):
        return F.max_pool2d(x, 2)[0, 0, 0, :1]

    compiled, planned = sycl_dnn.compile(pool), sycl_dnn.plan(pool, x)
    calls = (pool, compiled, lambda x: sycl_dnn.vjp(pool, x)[0])
    for _ in range(2):
        fast = [float(call(x).item()) for call in calls]
        with sycl_dnn.nan_mode("propagate"):
            right = [float(call(x).item()) for call in calls]
        assert np.isnan(right).all()
        if queue.sycl_device.is_cpu:
            assert fast == [2, 2, 2]
    assert planned is not None
    sycl_dnn.set_nan("propagate")
    try:
        assert np.isnan(pool(x).item())
    finally:
        sycl_dnn.set_nan("fast")
    with pytest.raises(ValueError, match="mode must be one of 'fast', 'propagate', got 'no'"):
        sycl_dnn.set_nan("no")


#: Cases that gave the bounds of clamp the whole gradient before PyTorch 2.14.
SINCE_2_14 = ("clamp(", "hinge_embedding_loss(", "margin_ranking_loss(")


@pytest.mark.parametrize("dtype", DTYPES)
def test_table_matches_pytorch(dtype):
    torch = pytest.importorskip("torch")
    for given, case in PAIRS:
        expected, slope = TABLE[f"{given}: {case}"].get(dtype, (None, None))
        if expected is None and dtype != "float32":
            continue
        actual, gradient = by_torch(torch, given, case, dtype)
        places = left_out(given, case, dtype)
        alike(actual, expected, dtype, case, places)
        if slope is not None and not (case.startswith(SINCE_2_14) and torch.__version__ < "2.14"):
            alike(gradient, slope, dtype, case, places)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", ["gt", "ge", "lt", "le", "eq", "ne"])
@pytest.mark.sweep(3)
def test_comparisons_with_nan_are_false(name, dtype, queue):
    """oneDNN's own say on CPUs that NaN is greater than any number."""
    row = np.array([nan, 1, -1, inf, -inf, 0, -0.0, 2], "f4")
    table = np.repeat(row, 8).reshape(8, 8)
    reference = {"gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal}
    reference |= {"eq": np.equal, "ne": np.not_equal}
    column = np.ascontiguousarray(row[:, None])
    pairs = [(table, table.T.copy()), (table, row), (row, table), (table, column), (column, row)]
    for a, b in [*pairs, (table, 0.0), (0.0, table)]:
        given = [
            v
            if isinstance(v, float)
            else sycl_dnn.asarray(dpnp.asarray(v, sycl_queue=queue), dtype)
            for v in (a, b)
        ]
        result = dpnp.asnumpy(getattr(F, name)(*given))
        assert result.dtype == bool
        np.testing.assert_array_equal(result, reference[name](a, b))


if __name__ == "__main__":
    write()

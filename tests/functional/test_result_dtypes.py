# SPDX-License-Identifier: Apache-2.0
"""Functions and traced operators of bools and integers: values and dtypes are PyTorch's."""

import contextlib

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

INTEGERS = ("bool", "int8", "uint8", "int16", "int32", "int64")
DTYPES = ("bool", "int8", "uint8", "int64", "float32", "bfloat16")
X, Y = [1, 0, 2], [1, 1, 2]
#: Functions of one array.
ALONE = [
    "neg(x)", "abs(x)", "square(x)", "sign(x)", "floor(x)", "trunc(x)", "round(x)", "sqrt(x)",
    "exp(x)", "log(x)", "reciprocal(x)", "sin(x)", "rsqrt(x)", "erf(x)", "log1p(x)", "sum(x)",
    "sum(x,0)", "prod(x,0)", "cumsum(x,0)", "cumprod(x,0)", "amax(x,0)", "amin(x,0)",
    "max(x)", "min(x,0)[0]", "argmax(x)", "any(x)", "all(x)", "isnan(x)", "isfinite(x)",
    "logical_not(x)", "bitwise_not(x)", "nan_to_num(x)", "clamp(x,0,1)", "clamp(x,0.5,1.5)",
    "clamp(x,min=1)", "clamp_max(x,0.5)", "sort(x)[0]", "topk(x,2)[0]", "cummax(x,0)[0]",
    "median(x)", "nanmedian(x,0)[0]", "kthvalue(x,2)[0]", "nansum(x)",
    "count_nonzero(x)", "aminmax(x)[1]", "diff(x)", "trace(x[:,None])", "cov(x)", "bincount(x)",
    "lgamma(x)", "digamma(x+1)", "sinc(x)", "deg2rad(x)", "signbit(x)", "float_power(x,2)",
    "xlogy(x,2)", "copysign(x,-1)", "masked_scatter(x,x>0,x)", "take(x,x>9)",
    "unique(x)", "flip(x,(0,))", "roll(x,1)", "tril(x[:,None])", "diag(x)", "diag(x,-1)",
    "where(x>0,x,1)", "where(x>0,x,1.5)", "where(x>0,True,False)", "masked_fill(x,x>0,True)",
    "repeat_interleave(x,2)", "outer(x,x)", "matmul(x,x)", "cat([x,x])", "stack([x,x])",
    "pad(x,(1,1))", "zeros_like(x)", "full_like(x,2)", "add(x,1)", "add(x,True)",
    "add(x,1.5)", "sub(x,1)", "mul(x,2)", "mul(x,1.5)", "div(x,2)", "pow(x,2)", "pow(x,2.0)",
    "pow(x,0.5)", "pow(2,x)", "pow(2.5,x)", "fmod(x,2)", "fmod(x,2.5)", "remainder(x,2)",
    "remainder(x,2.5)", "floor_divide(x,2)", "floor_divide(x,2.5)", "bitwise_and(x,1)",
    "bitwise_left_shift(x,1)", "eq(x,1)", "div(x,2,rounding_mode='floor')",
    "div(x,2.5,rounding_mode='floor')", "add(x,x,alpha=2)", "sub(x,x,alpha=2)",
]  # fmt: skip
#: Functions of two, and operators of traced values.
PAIRS = [
    "add(x,y)", "sub(x,y)", "mul(x,y)", "div(x,y)", "pow(x,y)", "maximum(x,y)",
    "minimum(x,y)", "fmod(x,y)", "remainder(x,y)", "floor_divide(x,y)", "atan2(x,y)",
    "fmax(x,y)", "fmin(x,y)", "copysign(x,y)", "xlogy(x,y)", "heaviside(x,y)", "isclose(x,y)",
    "float_power(x,y)",
    "bitwise_and(x,y)", "bitwise_left_shift(x,y)", "eq(x,y)", "logical_and(x,y)",
    "where(x>0,x,y)", "div(x,y,rounding_mode='trunc')", "add(x,y,alpha=2)",
    "sub(x,y,alpha=2)", "cat([x,y])", "clamp(x,y,y)",
]  # fmt: skip
OPERATORS = [
    "x+1", "x+True", "x+1.5", "1-x", "x*2", "x*1.5", "x/2", "x//2", "x//2.5", "x%2", "x%2.5",
    "x**2", "x**0.5", "2**x", "2.0**x", "1/x", "x&1", "x|True", "x<<1", "-x", "~x", "abs(x)",
    "x<1", "x==1.5",
]  # fmt: skip
BOTH = [
    "x+y", "x-y", "x*y", "x/y", "x//y", "x%y", "x**y", "x&y", "x<<y", "x<y",
]  # fmt: skip
#: Functions of two floats; an array without axes widens no other.
FLOATS = [
    "add(x,y[1])", "pow(x,y[1])", "fmod(x,y[1])", "where(x>0,x,y[1])", "where(x>0,y[1],x)",
    "where(y>1,x,y)", "logaddexp(x,y[1])", "logaddexp(x,y)", "kl_div(x,y[1],reduction='sum')",
    "kl_div(x,y,reduction='sum')", "poisson_nll_loss(x,y[1])", "poisson_nll_loss(x,y)",
    "pairwise_distance(x,y[1])", "pairwise_distance(x,y)", "mse_loss(x,y[1])", "mse_loss(x,y)",
    "multilabel_soft_margin_loss(x,y)",
]  # fmt: skip
WIDTHS = ("float16", "float32", "float64")
TYPES = {
    **{case: [(d,) for d in INTEGERS] for case in (*ALONE, *OPERATORS)},
    **{case: [(a, b) for a in DTYPES for b in DTYPES if {a, b} & set(INTEGERS)]
       for case in (*PAIRS, *BOTH)},
    **{case: [(a, b) for a in WIDTHS for b in WIDTHS] for case in FLOATS},
}  # fmt: skip


def function_of(case, library):
    return eval(f"lambda x, y: {case}", library)


def by_torch(torch, case, kinds):
    """Return dtype and values; None if PyTorch refuses."""
    functions = {n: getattr(torch, n) for n in dir(torch) if callable(getattr(torch, n))}
    functions |= {n: f for n, f in vars(torch.nn.functional).items() if n == "pad" or "loss" in n}
    args = [torch.tensor(v).to(getattr(torch, k)) for v, k in zip((X, Y), kinds * 2, strict=False)]
    with contextlib.suppress(RuntimeError, NotImplementedError, TypeError):
        result = function_of(case, functions)(*args)
        return [str(result.dtype).removeprefix("torch."), result.double().tolist()]
    return None


def array(values, dtype, queue):
    if dtype == "bfloat16":
        return sycl_dnn.asarray(dpnp.asarray(values, dtype="f4", sycl_queue=queue), dtype)
    return dpnp.asarray(np.array(values).astype(dtype), sycl_queue=queue)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", TYPES)
def test_dtypes_and_values_match_pytorch(case, queue):
    torch = pytest.importorskip("torch")
    function = function_of(case, {n: getattr(F, n) for n in dir(F)})
    if case in OPERATORS or case in BOTH:
        function = sycl_dnn.compile(function)
    wrong = []
    for kinds in TYPES[case]:
        expected = by_torch(torch, case, kinds)
        if expected is None:
            continue
        args = [array(v, k, queue) for v, k in zip((X, Y), kinds * 2, strict=False)]
        actual = function(*args)
        values = F.astype(actual, "float32") if actual.dtype == "bfloat16" else actual
        matches = [str(actual.dtype), dpnp.asnumpy(values).astype("f8")]
        is_near = np.allclose(matches[1], expected[1], rtol=1e-2, equal_nan=True)
        if matches[0] != expected[0] or not is_near:
            wrong.append((kinds, matches, expected))
    assert not wrong

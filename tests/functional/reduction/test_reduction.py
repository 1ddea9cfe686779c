# SPDX-License-Identifier: Apache-2.0
import math

import dpnp
import numpy as np
import pytest
from arrays import to_float32
from functional.case import Case, Spec
from functional.checks import checked
from functional.on_device import to_device
from functional.torch_functions import of_torch

import sycl_dnn
from sycl_dnn import functional as F

NAMES = ("sum", "mean", "prod", "amax", "amin", "var", "std", "logsumexp", "norm")


def torch_over(name):
    """torch's function; torch.prod takes one axis, torch.norm two at most."""

    def call(x, dim=None, keepdim=False, **options):
        import torch

        if np.size(dim) == 3 and name == "prod":
            for axis in sorted(dim, reverse=True):
                x = x.prod(axis, keepdim)
            return x
        if np.size(dim) == 3 and name == "norm":
            return torch.linalg.vector_norm(x, dim=dim, keepdim=keepdim)
        return getattr(torch, name)(x, dim=dim, keepdim=keepdim, **options)

    return call


VALUES = {"amax": "distinct", "amin": "distinct", "prod": "positive"}
SHAPE = (3, 4, 5, 7)
#: Axes: innermost, leading, between, both ends, all but the channels.
DIMS = [3, 0, (1, 2), (0, 3), (0, 2, 3), (1, 2, 3)]


def _case(name, dim, shape=SHAPE, layout="plain", dtype="float32", **kwargs):
    spec = Spec(shape, VALUES.get(name, "normal"), layout=layout)
    torch = torch_over(name) if np.size(dim) == 3 else of_torch(name)
    args = [f"{k}={v}" for k, v in kwargs.items()]
    words = "-".join([name, "x".join(map(str, shape)), str(dim), layout, *args])
    options = {"dim": dim, **kwargs}
    return Case(words, getattr(F, name), (spec,), options, torch, dtype)


CASES = [
    *(_case(name, dim) for name in NAMES for dim in (3, (0, 2, 3))),
    *(_case(name, dim) for name in ("sum", "mean", "amax") for dim in DIMS[1:4]),
    *(_case("sum", dim, layout="channels_last") for dim in DIMS),
    *(_case("amax", dim, layout="channels_last") for dim in (1, (2, 3))),
    *(_case("mean", dim, (6, 5), how) for dim in (0, 1)
      for how in ("transposed", "strided", "reversed")),
    *(_case(name, (0, 2), dtype="bfloat16") for name in NAMES if name != "prod"),
    *(_case(name, 3, dtype="bfloat16") for name in NAMES),
    *(_case(name, -2, keepdim=True) for name in NAMES),
    *(_case(name, None) for name in ("sum", "mean", "amin", "norm")),
    *(_case("norm", 1, p=p) for p in (1, 2, 3, 1.5, float("inf"), -float("inf"))),
    *(_case("var", (0, 2), correction=c) for c in (0, 2)),
    Case("prod-all", F.prod, (Spec((3, 5), "positive"),),
         torch=of_torch("prod")),
    _case("sum", (0, 1), (1, 5, 1)),
    _case("mean", 0, (7, 1)),
    _case("sum", 0, (0, 3)),
    _case("sum", 1, (0, 3)),
    _case("prod", 0, (0, 3)),
    *(Case(f"{name}-{dim}", getattr(F, name), (Spec((3, 5)), dim),
           {"correction": 0}, torch=of_torch(name))
      for name in ("var_mean", "std_mean") for dim in (0, None)),
    Case("max", F.max, (Spec((3, 5), "distinct"),), torch=of_torch("max")),
    Case("max-dim", F.max, (Spec((3, 5, 2), "distinct"), 1),
         torch=lambda x, d: tuple(of_torch("max")(x, d))),
    Case("min-dim", F.min, (Spec((3, 5, 2), "distinct"), -1),
         {"keepdim": True}, torch=lambda x, d, keepdim: tuple(of_torch("min")(x, d, keepdim))),
    Case("max-dim-bf16", F.max, (Spec((3, 5, 2), "distinct"), 0),
         dtype="bfloat16", torch=lambda x, d: tuple(of_torch("max")(x, d))),
]  # fmt: skip
TestCases = checked(CASES, sweep=12)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
def test_integers_are_exact(name, queue):
    x = np.array([[3, 2**31], [5, 7]])
    actual = getattr(F, name)(to_device(x, "int64", queue), 0)
    assert actual.dtype == np.int64
    np.testing.assert_array_equal(dpnp.asnumpy(actual), getattr(np, name)(x, 0))
    assert F.sum(to_device(x % 100, "uint8", queue)).dtype == np.int64
    assert F.sum(to_device(x % 100, "uint8", queue), dtype="float32").dtype == np.float32


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_wide_sums_are_exact(name, queue):
    function = getattr(F, name)
    large = dpnp.asarray(np.array([2**64 - 1], "u8"), sycl_queue=queue)
    assert int(function(large)) == 2**64 - 1
    turned = dpnp.asarray(np.array([1 + 2j, 3j], "c8"), sycl_queue=queue)
    assert complex(function(turned)) == {"sum": 1 + 5j, "prod": -6 + 3j}[name]


def test_product_with_zeros_has_a_gradient(queue):
    x = to_device(np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 3.0]]), "float32", queue)
    _, pullback = sycl_dnn.vjp(F.prod, x, 1)
    grad = pullback(to_device(np.ones(2), "float32", queue))[0]
    assert dpnp.asnumpy(grad).tolist() == [[0, 6, 0], [0, 0, 0]]


def test_mean_of_empty_and_variance_of_one_are_nan(queue):
    assert np.isnan(dpnp.asnumpy(F.mean(to_device(np.ones((0, 2)), "float32", queue), 0))).all()
    assert np.isnan(dpnp.asnumpy(F.var(to_device(np.ones((1, 2)), "float32", queue), 0))).all()


@pytest.mark.parametrize(("dtype", "sizes"), [("f4", (1e38, 1e20, 1e-30)), ("f8", (1e300, 1e-300))])
def test_deviations_whose_squares_are_out_of_range(dtype, sizes, queue):
    """In PyTorch sums of float32 are computed in float64 on CPUs; here numbers are scaled."""
    numbers = np.array([1.0, -1.0, 1.5, 0.25])
    for size in sizes:
        x = dpnp.asarray(numbers * size, dtype=dtype, sycl_queue=queue)
        slope = (numbers - numbers.mean()) / numbers.std(ddof=1) / 3
        for call in (F.std, sycl_dnn.compile(lambda x: F.std(x))):
            assert np.isclose(float(call(x)) / size, numbers.std(ddof=1), rtol=1e-5)
        for gradient in (sycl_dnn.grad(F.std), sycl_dnn.compile(sycl_dnn.grad(F.std))):
            np.testing.assert_allclose(dpnp.asnumpy(gradient(x)), slope, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("name", "dim", "most"),
    [("std", 1, 2), ("std", 0, 3), ("norm", 1, 1), ("norm", 0, 1), ("logsumexp", 0, 1)],
)
@pytest.mark.sweep(3)
def test_gradients_read_what_the_forward_pass_has_not_rounded(name, dim, most, dtype, queue):
    """No pass over all elements computes it again."""
    given = to_device(np.random.default_rng(3).standard_normal((300, 200)), dtype, queue)

    def gradient_of(x):
        y, pullback = sycl_dnn.vjp(lambda x: getattr(F, name)(x, dim), x)
        seed = F.ones(*y.shape, dtype=str(y.dtype), device=queue)
        pullback(seed)
        with sycl_dnn.profile() as p:
            (result,) = pullback(seed)
        return to_float32(result), sum(r.is_execution for r in p.records)

    result, n_steps = gradient_of(given)
    expected, _ = gradient_of(F.astype(given, "float32"))
    assert n_steps <= most
    rtol = {"float32": 0, "bfloat16": 2**-8, "float16": 2**-10}[dtype]
    np.testing.assert_allclose(
        result, expected, rtol=rtol, atol=2**-23 if dtype == "float16" else 0
    )


@pytest.mark.parametrize(("shape", "dim"), [((3, 0), 0), ((0, 3), 1), ((2, 3, 0), (0, 1))])
@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "amax", "amin", "any", "all", "var", "std", "norm", "logsumexp"]
)
def test_empty_results(name, shape, dim, queue):
    if name in ("prod", "any", "all") and not isinstance(dim, int):
        dim = dim[-1]
    x = dpnp.zeros(shape, dtype="float32", sycl_queue=queue)
    options = {"dim": dim} if name != "norm" else {"p": 2, "dim": dim}
    found = getattr(F, name)(x, **options)
    assert found.shape == np.zeros(shape).sum(dim).shape
    assert str(found.dtype) == ("bool" if name in ("any", "all") else "float32")


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64", "bool"])
@pytest.mark.sweep(3)
def test_no_axes_are_truth_of_each_element(shape, dtype, queue):
    """``dim=()`` reduces nothing here, as in torch, while sums reduce all axes."""
    x = (np.arange(math.prod(shape)) % 3).reshape(shape).astype(dtype)
    for function in (F.all, F.any, sycl_dnn.compile(lambda x, **keywords: F.all(x, **keywords))):
        for keepdim in (False, True):
            found = function(dpnp.asarray(x, sycl_queue=queue), dim=(), keepdim=keepdim)
            assert found.dtype == ("uint8" if dtype == "uint8" else "bool")
            np.testing.assert_array_equal(dpnp.asnumpy(found), x != 0)


@pytest.mark.parametrize("shape", [(6, 1), (2, 1, 3), (1,), (1, 1)])
def test_truth_along_axes_of_one_element(shape, queue):
    x = (np.arange(math.prod(shape)) % 3).reshape(shape).astype("f4")
    axis = shape.index(1)
    for function in (F.all, F.any):
        for keepdim in (False, True):
            found = function(dpnp.asarray(x, sycl_queue=queue), axis, keepdim)
            np.testing.assert_array_equal(dpnp.asnumpy(found), x.any(axis, keepdims=keepdim))


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_indices_of_empty_arrays(name, queue):
    x = dpnp.zeros((3, 0), dtype="float32", sycl_queue=queue)
    found = getattr(F, name)(x, dim=0)
    for part in found if isinstance(found, tuple) else (found,):
        assert part.shape == (0,)


def test_norms_of_zeros_have_gradients_of_zero(queue):
    x = to_device(np.zeros((2, 3)), "float32", queue)
    for p in (1, 2, 3):
        for function in (lambda x, p=p: F.norm(x, p, 1), lambda x, p=p: F.normalize(x, p)):
            value, pullback = sycl_dnn.vjp(function, x)
            assert not dpnp.asnumpy(value).any()
            slope = dpnp.asnumpy(pullback(F.ones_like(value))[0])
            assert np.isfinite(slope).all()
            assert value.ndim == 2 or not slope.any()

# SPDX-License-Identifier: Apache-2.0

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

#: Name: keyword arguments to test it with.
FUNCTIONS = {
    "relu": [{}], "relu6": [{}], "hardtanh": [{}, {"min_val": -0.3, "max_val": 2.5}],
    "leaky_relu": [{}, {"negative_slope": 0.3}, {"negative_slope": -0.5}],
    "rrelu": [{}, {"lower": 0.25, "upper": 0.25, "training": True}],
    "elu": [{}, {"alpha": 0.7}, {"alpha": -0.5}], "selu": [{}],
    "celu": [{}, {"alpha": 2.0}, {"alpha": -1.5}], "gelu": [{}, {"approximate": "tanh"}],
    "silu": [{}], "mish": [{}], "hardswish": [{}], "hardsigmoid": [{}], "sigmoid": [{}],
    "tanh": [{}], "softplus": [{}, {"beta": 2.0}, {"beta": -0.5}, {"beta": 1.5, "threshold": 1.0}],
    "logsigmoid": [{}], "softsign": [{}], "tanhshrink": [{}],
    "softshrink": [{}, {"lambd": 0.03}, {"lambd": 0.0}], "hardshrink": [{}, {"lambd": 1.03}],
    "threshold": [{"threshold": 0.11, "value": -3.0}],
}  # fmt: skip
SHAPES = [
    Spec((3, 5, 7), "distinct"),
    Spec((), "positive"),
    Spec((0, 3)),
    Spec((1, 3, 5, 7), "distinct", layout="channels_last"),
    Spec((5, 7), "distinct", layout="strided"),
    Spec((11,), "distinct", layout="reversed"),
    Spec((7, 3, 5), "distinct", layout="transposed"),
]


def make(name, spec, kwargs, dtype="float32"):
    args = [f"{k}={v}" for k, v in kwargs.items()]
    words = "-".join([name, "x".join(map(str, spec.shape)) or "scalar", spec.layout, *args])
    return Case(words, getattr(F, name), (spec,), kwargs, torch=name, dtype=dtype)


VARIANTS = [make(n, SHAPES[0], k) for n, every in FUNCTIONS.items() for k in every]
NARROW = [make(n, SHAPES[0], every[-1], "bfloat16") for n, every in FUNCTIONS.items()]
# One of each kind: a primitive, one that keeps its result, a fused one, one with a choice.
KINDS = ["gelu", "sigmoid", "selu", "softplus", "hardshrink", "threshold"]
SHAPED = [make(n, s, FUNCTIONS[n][0]) for n in KINDS for s in SHAPES[1:]]
HALF = [make(n, SHAPES[0], FUNCTIONS[n][0], "float16") for n in KINDS]
CASES = VARIANTS + NARROW + SHAPED + HALF
TestCases = checked(CASES, sweep=16)


def test_a_view_of_every_other_column(queue):
    """Rows closer than oneDNN can describe are copied."""
    x = np.arange(280, dtype=np.float32).reshape(40, 7) - 140
    view = to_device(x, "float32", queue)[:, ::2]
    y, pullback = sycl_dnn.vjp(F.relu, view)
    np.testing.assert_array_equal(dpnp.asnumpy(y), np.maximum(x[:, ::2], 0))
    np.testing.assert_array_equal(dpnp.asnumpy(pullback(y)[0]), np.maximum(x[:, ::2], 0))


def test_logsigmoid_is_never_positive(queue):
    x = to_device(np.linspace(-40, 90, 4001), "float32", queue)
    y = to_numpy(F.logsigmoid(x))
    assert y.max() <= 0
    assert to_numpy(F.softplus(x)).min() >= 0
    np.testing.assert_allclose(y, -np.log1p(np.exp(-to_numpy(x))), rtol=2e-6, atol=1.2e-7)


INPLACE = ["celu", "elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu",
           "relu6", "rrelu", "selu", "silu", "threshold"]  # fmt: skip


@pytest.mark.parametrize("name", INPLACE)
@pytest.mark.sweep(2)
def test_inplace_writes_the_input(name, queue):
    function, kwargs = getattr(F, name), FUNCTIONS[name][-1]
    values = np.linspace(-7, 7, 24).reshape(2, 3, 4)
    for layout in ("plain", "transposed", "strided"):
        x = to_device(values, "float32", queue, layout)
        expected = to_numpy(function(x, **kwargs))
        assert function(x, **kwargs, inplace=True) is x
        np.testing.assert_array_equal(to_numpy(x), expected)


def test_inplace_of_reversed_arrays(queue):
    x = to_device(np.array([[-1.0, 2.0], [3.0, -4.0]]), "float32", queue)
    for function in (F.relu, lambda v, inplace: F.dropout(v, 1.0, inplace=inplace)):
        reversed_x = x[::-1]
        expected = function(x, inplace=False).tolist()
        assert function(reversed_x, inplace=True) is reversed_x
        assert x.tolist() == expected


def test_inplace_by_position(queue):
    x = to_device(np.array([-1.0, 2.0]), "float32", queue)
    assert F.relu(x, True) is x
    assert dpnp.asnumpy(x).tolist() == [0, 2]


def test_inplace_in_differentiated_functions(queue):
    x = to_device(np.array([-1.0, 2.0]), "float32", queue)
    with pytest.raises(ValueError, match="relu: inplace must be False"):
        sycl_dnn.vjp(F.relu, x, inplace=True)
    with pytest.raises(TypeError, match="elu: an argument of a differentiated function"):
        sycl_dnn.vjp(lambda x: F.elu(x, 1.0, True), x)

    def overwritten(x):
        y = x * 3
        F.relu(y, inplace=True)
        return (y * y).sum()

    for gradient in (sycl_dnn.grad(overwritten), sycl_dnn.compile(sycl_dnn.grad(overwritten))):
        assert gradient(x).tolist() == [0.0, 36.0]
    F.elu(x, 1.0, True)
    np.testing.assert_allclose(x.asnumpy(), [np.expm1(-1.0), 2.0], rtol=1e-6)


def test_integers(queue):
    x = to_device(np.array([-3, 0, 5]), "int32", queue)
    assert dpnp.asnumpy(F.relu(x)).tolist() == [0, 0, 5]
    accepted = {"relu", "relu6", "hardtanh", "threshold", "sigmoid", "tanh", "softsign",
                "tanhshrink"}  # fmt: skip
    for name in FUNCTIONS:
        if name not in accepted:
            with pytest.raises(TypeError, match=f"{name}: input must have a floating-point dtype"):
                getattr(F, name)(x, **FUNCTIONS[name][-1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_documented(name):
    text = getattr(F, name).__doc__
    for part in ("Parameters\n", "Returns\n", "Raises\n", "Source: oneDNN"):
        assert part in text


def test_relu_of_large_integers_is_exact(queue):
    numbers = np.array([2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31), 0])
    x = dpnp.asarray(numbers, dtype="int32", sycl_queue=queue)
    for call in (F.relu, sycl_dnn.compile(lambda x: F.relu(x))):
        np.testing.assert_array_equal(dpnp.asnumpy(call(x)), np.maximum(numbers, 0))


def test_slopes_are_drawn_for_each_element_and_call(queue):
    x = to_device(np.full(4000, -2.0), "float32", queue)
    for call in (F.rrelu, sycl_dnn.compile(lambda x, **o: F.rrelu(x, **o))):
        first, second = (dpnp.asnumpy(call(x, training=True)) / -2 for _ in range(2))
        assert first.min() >= 1 / 8
        assert first.max() <= 1 / 3
        np.testing.assert_allclose([first.mean(), first.std()], [11 / 48, 0.0601], rtol=0.05)
        assert (first != second).mean() > 0.9
    y, pullback = sycl_dnn.vjp(lambda x: F.rrelu(x, training=True), x)
    np.testing.assert_allclose(dpnp.asnumpy(pullback(F.ones_like(x))[0]), dpnp.asnumpy(y) / -2)
    layer = nn.RReLU(0.5, 1.5)
    assert dpnp.asnumpy(layer(x)).std() > 0.1
    assert dpnp.asnumpy(layer.eval()(x)).tolist() == [-2.0] * 4000


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("name", ["elu", "selu", "celu"])
def test_exponential_units_are_accurate_for_small_numbers(name, is_compiled, queue):
    numbers = np.array([-0.0, -1e-45, -1e-30, -1e-9, -1e-4, -0.3, -40, 0.25], "f4")
    call = sycl_dnn.compile(getattr(F, name)) if is_compiled else getattr(F, name)
    found = call(dpnp.asarray(numbers, sycl_queue=queue)).asnumpy()
    alpha, scale = (1.6732632423543772, 1.0507009873554805) if name == "selu" else (1, 1)
    exact = scale * np.where(numbers > 0, numbers, alpha * np.expm1(numbers.astype("f8")))
    np.testing.assert_allclose(found, exact, rtol=2e-7, atol=1.5e-45)
    assert np.signbit(found[0])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", ["gelu", "hardswish", "sigmoid", "tanh"])
def test_one_step_even_if_onednn_lacks_the_dtype(name, dtype, queue):
    """A kernel reads narrow numbers itself; the primitive has conversions before and after it."""
    x = to_device(np.linspace(-3, 3, 40), dtype, queue)
    with sycl_dnn.profile() as profile:
        getattr(F, name)(x)
    assert sum(r.is_execution for r in profile.records) == 1

# SPDX-License-Identifier: Apache-2.0
"""``jvp``, ``hvp``, ``jacobian``, ``hessian``: known derivatives, structures, nesting, refusals."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}
MATRIX = np.array([[1.0, 2.0, -1.0], [0.5, -3.0, 4.0]], "f4")
POINT = np.array([0.3, -0.7, 1.1], "f4")
DIRECTION = np.array([1.0, 2.0, -0.5], "f4")


@pytest.fixture
def on_device(queue):
    return lambda a, dtype="f4": dpnp.asarray(a, dtype=dtype, sycl_queue=queue)


@pytest.fixture(params=[lambda f: f, sycl_dnn.compile], ids=["called", "compiled"])
def wrap(request):
    return request.param


def close(found, expected):
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.asnumpy(), expected, **TOLERANCE)


def slope():
    """The Jacobian of ``tanh(MATRIX @ POINT)``."""
    return (1 - np.tanh(MATRIX @ POINT) ** 2)[:, None] * MATRIX


def curvature():
    """The Hessian of ``sum(sin(MATRIX @ POINT))``."""
    return -(MATRIX.T * np.sin(MATRIX @ POINT)) @ MATRIX


def test_jvp_is_the_jacobian_times_the_tangent(wrap, on_device):
    m = on_device(MATRIX)
    function = wrap(lambda x, v: sycl_dnn.jvp(lambda x: F.tanh(F.mv(m, x)), (x,), (v,)))
    y, dy = function(on_device(POINT), on_device(DIRECTION))
    close(y, np.tanh(MATRIX @ POINT))
    close(dy, slope() @ DIRECTION)


def test_hvp_is_the_hessian_times_the_tangent(wrap, on_device):
    m = on_device(MATRIX)
    function = wrap(lambda x, v: sycl_dnn.hvp(lambda x: F.sum(F.sin(F.mv(m, x))), (x,), (v,)))
    value, (product,) = function(on_device(POINT), on_device(DIRECTION))
    close(value, np.sin(MATRIX @ POINT).sum())
    close(product, curvature() @ DIRECTION)


def test_jacobian_of_more_and_of_fewer_results(wrap, on_device):
    m = on_device(MATRIX)
    close(wrap(sycl_dnn.jacobian(lambda x: F.tanh(F.mv(m, x))))(on_device(POINT)), slope())
    t, numbers = on_device(0.3), np.arange(1, 80)
    many = wrap(sycl_dnn.jacobian(lambda t: F.sin(t * on_device(numbers))))
    close(many(t), numbers * np.cos(0.3 * numbers))
    close(wrap(sycl_dnn.jacobian(F.square))(on_device(numbers / 80)), np.diag(numbers / 40))


def test_hessian(wrap, on_device):
    m = on_device(MATRIX)
    found = wrap(sycl_dnn.hessian(lambda x: F.sum(F.sin(F.mv(m, x)))))(on_device(POINT))
    close(found, curvature())


def test_few_arguments_are_pushed_forward(on_device):
    numbers = on_device(np.arange(1, 50))
    report = sycl_dnn.compile(sycl_dnn.jacobian(lambda t: F.sin(t * numbers))).explain(on_device(1))
    assert len(report.parts) == 1, str(report)


def test_trees_of_arguments_and_results(wrap, on_device):
    def function(p, x):
        y = F.linear(x, p["w"], p["b"])
        return {"y": y * y, "total": y.sum()}

    params = {"w": on_device(MATRIX), "b": on_device([1.0, -1.0])}
    by_both = wrap(sycl_dnn.jacobian(function, (0, 1)))(params, on_device(POINT))
    shapes = sycl_dnn.tree.map(lambda a: a.shape, by_both)
    assert shapes == {
        "y": ({"w": (2, 2, 3), "b": (2, 2)}, (2, 3)), "total": ({"w": (2, 3), "b": (2,)}, (3,))
    }  # fmt: skip
    y = MATRIX @ POINT + [1.0, -1.0]
    close(by_both["y"][0]["w"], np.einsum("i,ij,k->ijk", 2 * y, np.eye(2), POINT))
    close(by_both["y"][0]["b"], np.diag(2 * y))
    close(by_both["total"][1], MATRIX.sum(0))
    second = wrap(sycl_dnn.hessian(lambda p, x: function(p, x)["y"].sum()))(
        params, on_device(POINT)
    )
    close(second["w"]["w"], 2 * np.einsum("ik,j,l->ijkl", np.eye(2), POINT, POINT))
    close(second["b"]["w"], 2 * np.einsum("ik,l->ikl", np.eye(2), POINT))


def test_modules(wrap, queue, on_device):
    """Parameters have derivatives, buffers have None, and statistics are updated once."""
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    net = net.to(device=queue) if hasattr(net, "to") else net
    x = on_device(np.stack([POINT, DIRECTION, POINT * 2]))
    result = wrap(sycl_dnn.jacobian(lambda net, x: net(x)))(net, x)
    assert result[0].weight.shape == (3, 2, 2, 3)
    assert result[1].bias.shape == (3, 2, 2)
    assert result[1].running_mean is None
    tangent = sycl_dnn.tree.map(lambda a: F.ones_like(a) * 0.1, list(net.parameters()))
    _, dy = sycl_dnn.jvp(
        lambda params: F.linear(x, *params[:2]), (list(net.parameters()),), (tangent,)
    )
    close(dy, np.broadcast_to(0.1 * x.asnumpy().sum(1, keepdims=True) + 0.1, (3, 2)))


def test_transforms_nest(wrap, on_device):
    x = on_device(POINT)

    def trace_of_hessian(x):
        return F.sum(F.diagonal(sycl_dnn.hessian(lambda x: F.sum(x**4))(x)))

    close(wrap(sycl_dnn.grad(trace_of_hessian))(x), 24 * POINT)

    def along_ones(x):
        return F.sum(sycl_dnn.jvp(lambda x: x**3, (x,), (F.ones_like(x),))[1])

    close(wrap(sycl_dnn.grad(along_ones))(x), 6 * POINT)
    twice = wrap(sycl_dnn.jacobian(sycl_dnn.jacobian(lambda x: x * x * x)))
    expected = np.zeros((3, 3, 3), "f4")
    expected[range(3), range(3), range(3)] = 6 * POINT
    close(twice(x), expected)
    inner = sycl_dnn.compile(lambda x: F.sum(F.exp(x)))
    close(wrap(sycl_dnn.hessian(inner))(x), np.diag(np.exp(POINT)))


def test_auxiliary_results_and_keywords(on_device):
    x, v = on_device(POINT), on_device(DIRECTION)

    def function(x, scale=1.0):
        return scale * x * x, "unchanged"

    y, dy, aux = sycl_dnn.jvp(function, (x,), (v,), has_aux=True)
    close(y, POINT**2)
    close(dy, 2 * POINT * DIRECTION)
    result, other = sycl_dnn.jacobian(function, has_aux=True)(x, scale=3.0)
    close(result, np.diag(6 * POINT))
    assert aux == other == "unchanged"


def test_one_run_draws_one_mask(on_device):
    """Values and all rows or columns belong to the same random numbers."""
    x = on_device(np.ones(40))
    for function in (lambda x: F.dropout(x, 0.5), lambda x: F.cat([F.dropout(x, 0.5), x])):
        rows, y = sycl_dnn.jacobian(lambda x, f=function: (y := f(x), y), has_aux=True)(x)
        close(rows.sum(1), y.asnumpy())
    y, dy = sycl_dnn.jvp(lambda x: F.dropout(x, 0.5), (x,), (x,))
    close(dy, y.asnumpy())


def test_integers_have_no_tangents(on_device):
    x, v, n = on_device(POINT), on_device(DIRECTION), on_device([2, 0], "i8")
    y, dy = sycl_dnn.jvp(lambda x, n: x[n] * 2, (x, n), (v, None))
    close(y, POINT[[2, 0]] * 2)
    close(dy, DIRECTION[[2, 0]] * 2)


def test_python_may_depend_on_values(on_device):
    def function(x):
        return x * x if float(x.sum()) > 0 else x

    x = on_device(POINT)
    close(sycl_dnn.jacobian(function)(x), np.diag(2 * POINT))
    close(sycl_dnn.jacobian(function)(-x), np.eye(3))
    close(sycl_dnn.jvp(function, (-x,), (x,))[1], POINT)


@pytest.mark.parametrize(
    ("result", "argument", "shape"),
    [(lambda x: x, (0, 2), (0, 2, 0, 2)), (lambda x: x.sum(0), (0, 2), (2, 0, 2)),
     (lambda x: x[:0], (2, 2), (0, 2, 2, 2)), (lambda x: x.sum(), (), ())],
)  # fmt: skip
def test_empty_arrays_and_numbers(result, argument, shape, on_device):
    assert sycl_dnn.jacobian(result)(on_device(np.zeros(argument))).shape == shape


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_dtypes(dtype, on_device):
    x = F.asarray(on_device(POINT), dtype=dtype)
    for result in (
        sycl_dnn.jacobian(lambda x: x * x)(x), sycl_dnn.jvp(F.sin, (x,), (x,))[1],
        sycl_dnn.hessian(lambda x: F.sum(x * x * x))(x),
        sycl_dnn.hvp(lambda x: F.sum(x * x), (x,), (x,))[1][0],
    ):  # fmt: skip
        assert str(result.dtype) == dtype


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: sycl_dnn.jvp(3, (x,), (x,)), TypeError, "jvp: function must be callable"),
        (lambda x: sycl_dnn.jvp(F.sin, x, x), TypeError, "primals must be a tuple"),
        (lambda x: sycl_dnn.jvp(F.sin, (x,), x), TypeError, "tangents must be a tuple"),
        (lambda x: sycl_dnn.jvp(F.sin, (x,), (x[:2],)), ValueError, r"s\[0\] .*\(3,\).*\(2,\)"),
        (lambda x: sycl_dnn.jvp(F.sin, (x,), (x.astype("i4"),)), ValueError, "int32"),
        (lambda x: sycl_dnn.jvp(F.sin, (x,), ()), ValueError, "tangents must be a tuple of 1"),
        (lambda x: sycl_dnn.jvp(lambda x: 3.0, (x,), (x,)), TypeError, "jvp.*floating-point"),
        (lambda x: sycl_dnn.hvp(F.sin, (x,), (x,)), ValueError, "hvp.*one element"),
        (lambda x: sycl_dnn.jacobian(None), TypeError, "jacobian: function must be callable"),
        (lambda x: sycl_dnn.jacobian(F.sin, "x"), TypeError, "argnums"),
        (lambda x: sycl_dnn.jacobian(F.sin, 1)(x), ValueError, "argnums"),
        (lambda x: sycl_dnn.jacobian(F.sin)(x.astype("i4")), TypeError, "floating-point"),
        (lambda x: sycl_dnn.jacobian(lambda x: x > 0)(x), TypeError, "bool"),
        (lambda x: sycl_dnn.hessian(F.sin)(x), ValueError, "hessian.*one element"),
    ],
)  # fmt: skip
def test_refusals(call, error, words, on_device):
    with pytest.raises(error, match=words):
        call(on_device(POINT))

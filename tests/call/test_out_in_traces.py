# SPDX-License-Identifier: Apache-2.0
"""``out=`` inside functions that are traced: a write to a traced value."""

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn


def loss(x):
    y, z = x * 1, F.zeros_like(x)
    F.mul(x, 5, out=y)
    same = F.add(x, 1, out=z)
    F.exp(x[0], out=z[0])
    return F.sum(y * y) + F.sum(same)


def expected_loss(x):
    return 25 * (x * x).sum() + np.exp(x[0]).sum() + (x[1:] + 1).sum()


X = np.array([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]], "f4")
GRADIENT = 50 * X + np.stack([np.exp(X[0]), np.ones(3, "f4")])
#: By name: the loss or its gradient.
WAYS = {
    "compile": lambda x: sycl_dnn.compile(loss)(x), "plan": lambda x: sycl_dnn.plan(loss, x)(),
    "value": lambda x: sycl_dnn.value_and_grad(loss)(x)[0],
    "jvp": lambda x: sycl_dnn.jvp(loss, (x,), (x,))[0], "grad": sycl_dnn.grad(loss),
    "compiled grad": lambda x: sycl_dnn.compile(sycl_dnn.grad(loss))(x),
    "vmap": lambda x: sycl_dnn.vmap(loss)(F.stack([x, x]))[1],
    "checkpoint": sycl_dnn.grad(lambda x: sycl_dnn.checkpoint(loss)(x)),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_out_is_written_in_traced_functions(way):
    x = F.asarray(X)
    for _ in range(2):
        expected = GRADIENT if way in ("grad", "compiled grad", "checkpoint") else expected_loss(X)
        np.testing.assert_allclose(WAYS[way](x).asnumpy(), expected, rtol=1e-5)


@sycl_dnn.compile
def both(x):
    return x * 5, x + 1


def nested_loss(x):
    y, z = x * 1, F.zeros_like(x)
    same = both(x, out=(y, z))
    assert same[0] is y
    both(y, out=(z, y))  # each is read before it is written
    return F.sum(z) + F.sum(y * y)


@pytest.mark.parametrize("transform", [sycl_dnn.compile, lambda f: lambda x: f(x)])
def test_compiled_functions_write_out_in_traced_ones(transform):
    x = F.asarray(X)
    for _ in range(2):
        value, slope = transform(sycl_dnn.value_and_grad(nested_loss))(x)
        np.testing.assert_allclose(value.asnumpy(), (25 * X + (5 * X + 1) ** 2).sum(), rtol=1e-5)
        np.testing.assert_allclose(slope.asnumpy(), 25 + 10 * (5 * X + 1), rtol=1e-5)


def test_compiled_functions_over_captured_arrays_write_out():
    captured = F.ones(3)

    @sycl_dnn.compile
    def outer(x):
        y, z = x * 1, x * 1
        both(captured, out=(y, z))
        return x + y

    assert outer(F.ones(3)).tolist() == [6] * 3
    F.mul(captured, 2, out=captured)  # writes by this package are seen
    assert outer(F.ones(3)).tolist() == [11] * 3


def test_out_of_a_compiled_function_that_does_not_fit_is_refused():
    captured = F.zeros(3)
    for out, error in (
        (lambda x: (x * 1, captured), TypeError), (lambda x: (x * 1,), ValueError),
        (lambda x: (x * 1, F.zeros_like(x)[:2]), ValueError),
    ):  # fmt: skip
        with pytest.raises(error, match="^both: out must"):
            sycl_dnn.grad(lambda x, out=out: F.sum(both(x, out=out(x))[0]))(F.ones(3))


def test_out_may_be_an_argument_or_a_buffer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scaled", F.zeros(3))

        def forward(self, x):
            F.mul(x, 2, out=self.scaled)
            return self.scaled + 1

    def write(a, b):
        F.mul(a, 3, out=b)
        return b + 1

    a, b, net = F.ones(3), F.zeros(3), Net()
    assert sycl_dnn.compile(write)(a, b).tolist() == [4] * 3
    assert b.tolist() == [3] * 3
    assert net(a).tolist() == [3] * 3
    assert net.scaled.tolist() == [2] * 3


def test_out_that_is_captured_or_does_not_fit_is_refused():
    captured = F.zeros(3)

    def refused(out, error):
        for transform in (sycl_dnn.compile, sycl_dnn.grad):
            with pytest.raises(error, match=r"^(mul|sort).*: .*(out|write)"):
                transform(lambda x: F.sum(F.mul(x, 2, out=out(x))))(F.ones(3))

    refused(lambda x: captured, TypeError)
    refused(lambda x: F.zeros_like(x)[:2], ValueError)
    refused(lambda x: F.astype(F.zeros_like(x), "float16"), ValueError)


def test_out_that_a_gradient_is_taken_of_is_refused():
    with pytest.raises(TypeError, match=r"relu\(out=\): an argument of a differentiated function"):
        sycl_dnn.vjp(lambda x: F.relu(F.ones(3), out=x), F.ones(3))

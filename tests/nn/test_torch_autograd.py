# SPDX-License-Identifier: Apache-2.0
"""``torch.autograd`` in model code: functions with their own gradient, gradients in a forward."""

import dpnp
import numpy as np
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.nn import torch_names as th


class Swish(th.autograd.Function):
    """``x * sigmoid(x)``, which saves its argument."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * th.sigmoid(x)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        s = th.sigmoid(x)
        return dy * (s * (1 + x * (1 - s)))


class Scaled(th.autograd.Function):
    """A product with a number whose gradient is reversed; it has torch's methods."""

    @staticmethod
    def forward(ctx, x, factor, label):
        ctx.factor, ctx.label, ctx.shape = factor, label, x.size()
        return x.mul(factor).view(-1)

    @staticmethod
    def backward(ctx, dy):
        assert ctx.label == "reversed"
        return dy.neg().mul(ctx.factor).view(*ctx.shape), None, None


class Clipped(th.autograd.Function):
    """Two results, of which the second has no gradient; ``backward`` writes to a part."""

    @staticmethod
    def forward(ctx, x):
        mask = x.abs() > 1
        sign = x.sign()
        ctx.mark_non_differentiable(sign)
        ctx.save_for_backward(mask)
        return x.clone(), sign

    @staticmethod
    def backward(ctx, dy, d_sign):
        (mask,) = ctx.saved_tensors
        dx = dy.clone()
        dx[mask] = 0
        return dx + d_sign


class Product(th.autograd.Function):
    """A product of matrices without ``ctx`` in its forward."""

    @staticmethod
    def forward(a, b):
        return a.matmul(b)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.rows = output.shape[0]

    @staticmethod
    def backward(ctx, dy):
        a, b = ctx.saved_tensors
        da = dy @ b.t() if ctx.needs_input_grad[0] else None
        return da, a.transpose(0, 1) @ dy * ctx.rows


X = np.linspace(-2, 2, 8, dtype="f4")


def _x():
    return dpnp.asarray(X)


def test_own_gradient_and_its_derivatives():
    def loss(function):
        return lambda x: (function(x) * x).sum()

    ours, reference = loss(Swish.apply), loss(F.silu)
    for transform in (sycl_dnn.grad, lambda f: sycl_dnn.grad(lambda x: sycl_dnn.grad(f)(x).sum())):
        expected = transform(reference)(_x()).asnumpy()
        np.testing.assert_allclose(transform(ours)(_x()).asnumpy(), expected, rtol=2e-6, atol=2e-6)
        compiled = sycl_dnn.compile(transform(ours))(_x()).asnumpy()
        np.testing.assert_allclose(compiled, expected, rtol=2e-6, atol=2e-6)


def test_arguments_that_are_not_arrays():
    def loss(x):
        return (Scaled.apply(x, 3.0, "reversed") * F.arange(8)).sum()

    x = _x().reshape(2, 4)
    value, dx = sycl_dnn.value_and_grad(loss)(x)
    assert float(value) == pytest.approx(float((3 * X * np.arange(8)).sum()))
    assert dx.tolist() == (-3.0 * np.arange(8.0)).reshape(2, 4).tolist()


def test_results_without_a_gradient():
    def loss(x):
        y, sign = Clipped.apply(x)
        return (y * 2 + sign * 5).sum()

    for transform in (sycl_dnn.grad(loss), sycl_dnn.compile(sycl_dnn.grad(loss))):
        assert transform(_x()).tolist() == np.where(np.abs(X) > 1, 0.0, 2.0).tolist()


def test_forward_without_ctx():
    a, b = F.randn(3, 4), F.randn(4, 5)
    da, db = sycl_dnn.grad(lambda a, b: Product.apply(a, b).sum(), (0, 1))(a, b)
    np.testing.assert_allclose(da.asnumpy(), np.tile(b.asnumpy().sum(1), (3, 1)), rtol=1e-5)
    expected = 3 * np.tile(a.asnumpy().sum(0)[:, None], (1, 5))
    np.testing.assert_allclose(db.asnumpy(), expected, rtol=1e-5, atol=1e-5)
    _, pullback = sycl_dnn.vjp(lambda b: Product.apply(a, b), b)  # ``a`` is captured
    np.testing.assert_allclose(pullback(F.ones(3, 5))[0].asnumpy(), expected, rtol=1e-5, atol=1e-5)


class Net(nn.Module):
    """A module that calls three of the functions."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(F.randn(4, 4))

    def forward(self, x):
        y = Scaled.apply(Swish.apply(x), 0.5, "reversed").view(x.shape)
        return Product.apply(y, self.weight)


def test_modules_run_as_programs():
    net, x = Net(), _x().reshape(2, 4)
    y = F.silu(x) * 0.5
    expected = (y @ net.weight.data).asnumpy()
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    compiled = sycl_dnn.compile(lambda net, x: net(x))(net, x)
    np.testing.assert_allclose(compiled.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    gradient = sycl_dnn.grad(lambda net: net(x).sum())(net)
    expected = 2 * np.tile(y.asnumpy().sum(0)[:, None], (1, 4))
    np.testing.assert_allclose(gradient.weight.data.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_arrays_have_torch_methods_in_a_function():
    assert Scaled.apply(_x(), 2.0, "").tolist() == (2 * X).tolist()


def test_a_function_without_backward_is_refused():
    class Forward(th.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(NotImplementedError, match="must define backward"):
        sycl_dnn.grad(lambda x: Forward.apply(x).sum())(_x())


def test_equal_runs_are_traced_once():
    n_traced = []

    class Counted(th.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            n_traced.append(1)
            return dy * 2

    for _ in range(4):
        sycl_dnn.grad(lambda x: Counted.apply(x).sum())(_x())
    assert len(n_traced) == 1


def test_threads_share_a_function():
    wrong = []

    def work(number):
        factor = float(number)
        for n in range(20):
            x = F.full((4,), float(n))
            _, dx = sycl_dnn.value_and_grad(lambda x: Scaled.apply(x, factor, "reversed").sum())(x)
            if dx.tolist() != [-factor] * 4:
                wrong.append((factor, n))

    in_threads(8, work)
    assert not wrong


# --- Gradients inside of functions


def _residual(net, x):
    """Burgers' equation for ``u(x, t)``, as programs for torch write it."""
    x.requires_grad_(True)
    u = net(x)
    du = th.autograd.grad(u, x, grad_outputs=th.ones_like(u), create_graph=True)[0]
    u_x = du[:, 0:1]
    u_xx = th.autograd.grad(u_x, x, th.ones_like(u_x), create_graph=True)[0][:, 0:1]
    return du[:, 1:2] + u * u_x - 0.01 * u_xx


def _reference(net, x):
    """The same by ``jvp``."""
    along_x, along_t = (F.broadcast_to(F.tensor(v), x.shape) for v in ([1.0, 0.0], [0.0, 1.0]))

    def slope(x):
        return sycl_dnn.jvp(net, (x,), (along_x,))[1]

    u, u_t = sycl_dnn.jvp(net, (x,), (along_t,))
    u_x, u_xx = sycl_dnn.jvp(slope, (x,), (along_x,))
    return u_t + u * u_x - 0.01 * u_xx


def _network():
    return nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))


class Residual(nn.Module):
    """A module whose forward differentiates."""

    def __init__(self):
        super().__init__()
        self.net = _network()

    def forward(self, x):
        return _residual(self.net, x)


def test_modules_may_differentiate_in_forward():
    module, x = Residual(), F.randn(6, 2)
    expected = sycl_dnn.compile(_reference)(module.net, x).asnumpy()
    np.testing.assert_allclose(module(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    compiled = sycl_dnn.compile(lambda module, x: module(x))
    for _ in range(2):
        np.testing.assert_allclose(compiled(module, x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    assert compiled.cache_info().misses == 1


def test_inputs_may_be_captured_and_intermediate():
    x = _x()

    def loss(w):
        u = F.sin(w * x)
        by_x, by_u = th.autograd.grad((u * u).sum(), [x, u])
        return (by_x * by_u).sum()

    w = 1.5
    u = np.sin(w * X.astype("f8"))
    expected = (2 * u * w * np.cos(w * X) * 2 * u).sum()
    for function in (lambda w: sycl_dnn.value_and_grad(loss)(w)[0], sycl_dnn.compile(loss)):
        assert float(function(F.tensor(w))) == pytest.approx(expected, rel=1e-5)


def test_several_outputs_add_their_gradients():
    def both(x):
        y, z = x * x, x * 3
        return th.autograd.grad([y, z], x, [F.ones_like(y), 2 * F.ones_like(z)])[0]

    np.testing.assert_allclose(sycl_dnn.compile(both)(_x()).asnumpy(), 2 * X + 6, rtol=1e-6)


def test_unused_inputs():
    def gradient(x, y, **options):
        return th.autograd.grad((x * x).sum(), [x, y], **options)

    def zeros(x, y):
        return gradient(x, y, allow_unused=True, materialize_grads=True)[1]

    def missing(x, y):
        assert gradient(x, y, allow_unused=True)[1] is None
        return x

    for transform in (sycl_dnn.compile, lambda f: lambda *args: sycl_dnn.vjp(f, *args)[0]):
        assert transform(zeros)(_x(), _x()).tolist() == [0.0] * 8
        transform(missing)(_x(), _x())
        with pytest.raises(RuntimeError, match=r"inputs\[1\] must be used"):
            transform(gradient)(_x(), _x())


def test_errors_name_the_argument():
    x = _x()
    with pytest.raises(TypeError, match="outputs must be values of a function"):
        th.autograd.grad(x * x, x)
    with pytest.raises(ValueError, match=r"array of shape \(8,\) for outputs\[0\]"):
        sycl_dnn.vjp(lambda x: th.autograd.grad(x * x, x)[0], x)
    with pytest.raises(ValueError, match=r"grad_outputs\[0\] must have shape \(8,\), got \(3,\)"):
        sycl_dnn.vjp(lambda x: th.autograd.grad(x * x, x, F.ones(3))[0], x)
    with pytest.raises(ValueError, match="one array for each of 1 outputs, got 2"):
        sycl_dnn.vjp(lambda x: th.autograd.grad(x * x, x, [x, x])[0], x)
    with pytest.raises(TypeError, match=r"inputs\[1\] must be an array, got float"):
        sycl_dnn.vjp(lambda x: th.autograd.grad((x * x).sum(), [x, 1.0])[0], x)
    with pytest.raises(TypeError, match=r"use sycl_dnn.compile"):
        sycl_dnn.plan(lambda x: th.autograd.grad((x * x).sum(), x)[0], x)
    with pytest.raises(RuntimeError, match="requires_grad: must be True"):
        sycl_dnn.vjp(lambda x: x.requires_grad_(False), x)


def test_derivatives_of_functions():
    x = F.tensor([1.0, 2.0])
    functional, func = th.autograd.functional, th.func

    def cubes(x):
        return (x * x * x).sum()

    assert functional.jacobian(lambda x: x * x, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    (jacobian,) = functional.jacobian(lambda x: x * x, (x,))
    assert jacobian.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert functional.hessian(cubes, x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert functional.vjp(cubes, x)[1].tolist() == [3.0, 12.0]
    assert functional.jvp(cubes, x, F.ones(2))[1].tolist() == 15.0
    assert functional.hvp(cubes, (x,), (F.ones(2),))[1][0].tolist() == [6.0, 12.0]
    gradient, value = func.grad_and_value(cubes)(x)
    assert gradient.tolist() == func.grad(cubes)(x).tolist() == [3.0, 12.0]
    assert float(value) == 9.0
    assert func.jacrev(func.grad(cubes))(x).tolist() == func.hessian(cubes)(x).tolist()


def test_functions_that_write_to_their_input():
    class Net(nn.Module):
        def forward(self, x):
            y = x * 1
            th.relu_(y)
            th.clamp_(y, max=1.0)
            return y

    assert Net()(_x()).tolist() == np.clip(X, 0, 1).tolist()


class Assigned(th.autograd.Function):
    """Assigns a part of its first argument and returns it, as solvers of ODEs do."""

    @staticmethod
    def forward(ctx, whole, part, index):
        ctx.index = index
        whole.data[index] = part
        return whole

    @staticmethod
    def backward(ctx, dy):
        return dy, dy[ctx.index], None


class Counted(th.autograd.Function):
    """Counts in an argument that it does not return."""

    @staticmethod
    def forward(ctx, x, count):
        count.add_(1)
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return dy * 2, None


def test_writes_to_arguments_are_seen():
    class Net(nn.Module):
        def forward(self, x):
            whole, count = th.zeros(2, 8), th.zeros(())
            same = Assigned.apply(whole, x * x, 1)
            y = Counted.apply(x, count)
            return (whole * same).sum() + (y * count).sum()

    value, dx = sycl_dnn.value_and_grad(lambda net, x: net(x), 1)(Net(), _x())
    assert float(value) == pytest.approx(float((X**4).sum() + 2 * X.sum()), rel=1e-6)
    np.testing.assert_allclose(dx.asnumpy(), 4 * X**3 + 2, rtol=1e-5)
    np.testing.assert_allclose(float(Net()(_x())), float(value), rtol=1e-6)


TABLE = th.tensor([1.0, 2.0]) / 4


def test_arrays_made_at_import_have_torch_methods():
    class Net(nn.Module):
        def forward(self, x):
            return x[:2].view(2) * TABLE.to(x.device).clone().view(-1)

    assert TABLE.dim() == 1
    assert TABLE.float().tolist() == [0.25, 0.5]
    assert Net()(_x()).tolist() == (X[:2] * np.array([0.25, 0.5], "f4")).tolist()


class Again(th.autograd.Function):
    """A function of the caller, called again by ``backward``: a checkpoint of old code."""

    @staticmethod
    def forward(ctx, function, x):
        ctx.function = function
        return function(x)

    @staticmethod
    def backward(ctx, dy):
        return None, ctx.function(dy)


@pytest.mark.parametrize("wrap", [lambda f: f, sycl_dnn.compile])
def test_functions_are_not_kept_for_backward(wrap):
    compute = wrap(sycl_dnn.grad(lambda x: Again.apply(F.exp, x).sum()))
    with pytest.raises(AttributeError, match=r"'function': .*sycl_dnn\.checkpoint\(function\)"):
        compute(F.ones(2))

# SPDX-License-Identifier: Apache-2.0
"""Gradients of converted modules that torch defines otherwise than by the forward pass."""

import pytest
from torch_modules.test_conversion import Called, arrays, close

import sycl_dnn
from sycl_dnn import functional as F

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

# Each exports both modes, half a second or more.
pytestmark = [pytest.mark.torch, pytest.mark.slow]


def test_results_of_no_grad_are_constants():
    def forward(x):
        with torch.no_grad():
            y = x * 3
        return (x * y).sum() + (x.detach() * x).sum()

    result = sycl_dnn.from_torch(Called(forward), torch.ones(3))
    assert sycl_dnn.grad(result)(F.ones(3)).tolist() == [4, 4, 4]


def _written_in_place(z):
    with torch.no_grad():
        z.mul_(2).clamp_(max=1.5)
        z[:, 0] = z[:, 1] * 3
    return z.sin()


def _written_through_views(z):
    view = z.view(2, 2, 3)
    with torch.no_grad():
        first, second = view.chunk(2, 0)
        second.add_(first * 2)
    return z.exp() + view.flatten(0, 1)


def _returned_from_a_block(z):
    with torch.no_grad():
        y = z.mul_(2)
    return y.sin() * z


def _written_twice(z):
    y = torch.zeros_like(z)
    y[1:] = z[1:] * 2
    with torch.no_grad():
        y[:2] = z[:2] * 5
    return y * y


def _detached(z):
    part = z.detach()[1:]
    part[:, 0] = 0
    part += 1
    return z.tanh()


@pytest.mark.parametrize("f", [
    _written_in_place, _written_through_views, _returned_from_a_block, _written_twice, _detached,
])  # fmt: skip
def test_writes_without_gradients_leave_gradients_as_they_were(f):
    x = torch.randn(4, 3, requires_grad=True)
    f(x + 1).sum().backward()
    result = sycl_dnn.from_torch(Called(lambda x: f(x + 1)), x.detach())
    close(result(*arrays(x)), f(x + 1))
    close(sycl_dnn.grad(lambda x: F.sum(result(x)))(*arrays(x)), x.grad)


def test_values_written_to_buffers_without_gradients_are_constants():
    class Queue(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 3)
            self.register_buffer("queue", torch.zeros(8, 3))

        def forward(self, x):
            z = self.layer(x)
            with torch.no_grad():
                self.queue[4:] = z
            return (self.queue[4:] * z).sum()

    net, x = Queue(), torch.randn(4, 4)
    result = sycl_dnn.from_torch(net, x)
    grads = sycl_dnn.grad(lambda net, x: net(x))(result, *arrays(x))
    net(x).backward()
    close(grads.layer.weight, net.layer.weight.grad)


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -grad


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        y = torch.sigmoid(x)
        return grad * y * (1 + x * (1 - y))


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(x, n):
        return x**n

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0], None


@pytest.mark.parametrize("f", [Swish.apply, lambda x: Squared.apply(x, 2)])
def test_functions_with_the_derivative_of_their_forward_are_converted(f):
    x = torch.randn(3, 4, requires_grad=True)
    f(x).sum().backward()
    result = sycl_dnn.from_torch(Called(f), x.detach(), dynamic={0: "n"})
    close(sycl_dnn.grad(lambda x: F.sum(result(x)))(*arrays(x)), x.grad)


@pytest.mark.parametrize("f", [Reversed.apply, lambda x: Squared.apply(x, 3)])
def test_functions_with_another_gradient_have_none(f):
    x = torch.ones(3)
    result = sycl_dnn.from_torch(Called(lambda x: f(x) + x), x)
    close(result(*arrays(x)), f(x) + x)
    with pytest.raises(NotImplementedError, match=r"Function (Reversed|Squared) has a gradient"):
        sycl_dnn.grad(lambda x: F.sum(result(x)))(*arrays(x))


def test_hooks_of_gradients_are_refused():
    def forward(x):
        x.register_hook(lambda grad: grad * 2)
        return x * 2

    with pytest.raises(RuntimeError, match=r"register_hook.*\n.*hooks of tensors"):
        sycl_dnn.from_torch(Called(forward), torch.ones(3))
    net = nn.Sequential(nn.Linear(3, 2))
    net[0].register_full_backward_hook(lambda *_: None)
    with pytest.raises(NotImplementedError, match="the module 0 must have no hooks"):
        sycl_dnn.from_torch(net, torch.ones(1, 3))
    net = nn.Linear(3, 2)
    net.weight.register_hook(lambda grad: grad * 2)
    with pytest.raises(NotImplementedError, match="the parameter weight must have no hooks"):
        sycl_dnn.from_torch(net, torch.ones(1, 3))

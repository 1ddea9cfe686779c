# SPDX-License-Identifier: Apache-2.0
"""``torch_names.func``: modules with other parameters, gradients of samples, ensembles."""

import numpy as np
import pytest

from sycl_dnn import functional as F
from sycl_dnn import nn, tree
from sycl_dnn.nn import torch_names as torch


def _net():
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 3)).eval()


def _near(actual, expected):
    np.testing.assert_allclose(actual.asnumpy(), expected.asnumpy(), rtol=2e-5, atol=1e-6)


def test_call_with_other_parameters():
    net, other, x = _net(), _net(), F.randn(5, 4)
    state = dict(other.named_parameters()), dict(other.named_buffers())
    before = [v.copy() for v in tree.leaves(net)]
    _near(torch.func.functional_call(net, state, (x,)), other(x))
    _near(torch.func.functional_call(net, state[0] | state[1], x), other(x))
    for own, kept in zip(tree.leaves(net), before, strict=True):
        _near(own, kept)
    partial = torch.func.functional_call(net, {"0.bias": other[0].bias}, x)
    net[0].bias = other[0].bias
    _near(partial, net(x))


def test_tied_weights_have_one_value():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x))

    net, x, w = Tied(), F.randn(2, 4), F.randn(4, 4)
    _near(torch.func.functional_call(net, {"first.weight": w}, x), x @ w.T @ w.T)


def test_gradients_of_samples_as_written_for_torch():
    net, data, targets = _net(), F.randn(8, 4), F.asarray(np.arange(8) % 3)
    params = {k: v.detach() for k, v in net.named_parameters()}
    buffers = {k: v.detach() for k, v in net.named_buffers()}

    def compute_loss(params, buffers, sample, target):
        batch, targets = sample.unsqueeze(0), target.unsqueeze(0)
        predictions = torch.func.functional_call(net, (params, buffers), (batch,))
        return torch.nn.functional.cross_entropy(predictions, targets)

    each = torch.func.vmap(torch.func.grad(compute_loss), in_dims=(None, None, 0, 0))
    gradients = each(params, buffers, data, targets)
    for i in range(8):
        of_sample = torch.func.grad(compute_loss)(params, buffers, data[i], targets[i])
        for name, gradient in of_sample.items():
            _near(gradients[name][i], gradient)


def test_ensembles():
    nets, x = [_net() for _ in range(4)], F.randn(5, 4)
    params, buffers = torch.func.stack_module_state(nets)
    base = _net()

    def call(params, buffers, x):
        return torch.func.functional_call(base, (params, buffers), (x,))

    results = torch.vmap(call, in_dims=(0, 0, None))(params, buffers, x)
    for net, result in zip(nets, results, strict=True):
        _near(result, net(x))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda n: torch.func.functional_call(n, {"9.bias": 1}, ()), RuntimeError, "has no 9.bias"),
        (lambda n: torch.func.functional_call(n, {}, (), strict=True), RuntimeError, "lacks 0.b"),
        (lambda n: torch.func.functional_call(n, ({"0.bias": 1}, {"0.bias": 1})), ValueError,
         "must not have a name twice"),
        (lambda n: torch.func.functional_call(n, {}, (), tie_weights=False), ValueError,
         "tie_weights must be True"),
        (lambda n: torch.func.stack_module_state([n, n[0]]), RuntimeError, "of one class"),
        (lambda n: torch.vmap(n, randomness="same"), ValueError, "'error' or 'different'"),
    ],
)  # fmt: skip
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call(_net())

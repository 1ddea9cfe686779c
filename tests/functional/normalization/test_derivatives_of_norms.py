# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the orders 1 to 3 of norms of samples, in float64; NaN as in PyTorch."""

import numpy as np
import pytest
from compared_with_torch import torch
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F


def _normalized(x, axes, w, b, eps=1e-5, is_centered=True):
    """The definition, since torch's own third derivatives omit that of the statistics."""
    x = x - x.mean(axes, keepdim=True) if is_centered else x
    return x / ((x * x).mean(axes, keepdim=True) + eps).sqrt() * w + b


def _grouped(x, groups, w, b):
    rows = x.reshape(x.shape[0], groups, -1)
    return _normalized(rows, 2, 1, 0).reshape(x.shape) * _of_channels(w, x) + _of_channels(b, x)


def _of_channels(v, x):
    return v.reshape(-1, *[1] * (x.ndim - 2))


#: name: shape of the input and the vectors, the function, and its definition in torch.
NORMS = {
    "group_norm": (
        (3, 6, 2, 3), (6,), lambda f, x, w, b: f.group_norm(x, 3, w, b),
        lambda x, w, b: _grouped(x, 3, w, b),
    ),
    "group_norm of vectors": (
        (3, 8), (8,), lambda f, x, w, b: f.group_norm(x, 2, w, b),
        lambda x, w, b: _grouped(x, 2, w, b),
    ),
    "instance_norm": (
        (2, 3, 5), (3,), lambda f, x, w, b: f.instance_norm(x, None, None, w, b),
        lambda x, w, b: _grouped(x, 3, w, b),
    ),
    "batch_norm": (
        (3, 2, 4), (2,), lambda f, x, w, b: f.batch_norm(x, None, None, w, b, training=True),
        lambda x, w, b: _normalized(x, (0, 2), w[:, None], b[:, None]),
    ),
    "layer_norm": (
        (4, 2, 3), (2, 3), lambda f, x, w, b: f.layer_norm(x, (2, 3), w, b),
        lambda x, w, b: _normalized(x, (1, 2), w, b),
    ),
    "rms_norm": (
        (4, 6), (6,), lambda f, x, w, b: f.rms_norm(x, (6,), w, 1e-5) + b,
        lambda x, w, b: _normalized(x, 1, w, b, is_centered=False),
    ),
}  # fmt: skip


def _data(shape, vector):
    rng = np.random.default_rng(7)
    x, mark = (rng.standard_normal(shape) for _ in range(2))
    w, b = (rng.uniform(0.5, 1.5, vector) for _ in range(2))
    return (x, w, b), mark


def _torch_gradients(definition, arrays, mark, order):
    args = [torch.tensor(a, requires_grad=True) for a in arrays]
    value = (definition(*args).sin() * torch.tensor(mark)).sum()
    for _ in range(order):
        found = torch.autograd.grad(value, args, create_graph=True)
        value = sum((g * g.cos()).sum() for g in found)
    return [g.detach().numpy() for g in found]


def _gradients(function, arrays, mark, order):
    numbers = tuple(range(len(arrays)))

    def value(*args):
        return F.sum(F.sin(function(F, *args)) * mark)

    for _ in range(order - 1):
        slopes = sycl_dnn.grad(value, argnums=numbers)

        def value(*args, slopes=slopes):
            return sum(F.sum(g * F.cos(g)) for g in slopes(*args))

    return sycl_dnn.grad(value, argnums=numbers)(*arrays)


@pytest.mark.float64
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", NORMS)
def test_derivatives_of_every_order(queue, name, order):
    shape, vector, function, definition = NORMS[name]
    arrays, mark = _data(shape, vector)
    expected = _torch_gradients(definition, arrays, mark, order)
    placed = [to_device(a, "float64", queue) for a in arrays]
    actual = _gradients(function, placed, to_device(mark, "float64", queue), order)
    for ours, theirs in zip(actual, expected, strict=True):
        scale = max(np.abs(theirs).max(), 1.0)
        np.testing.assert_allclose(to_numpy(ours) / scale, theirs / scale, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "group_norm"])
def test_values_do_not_leak_between_rows(queue, name, dtype):
    """NaN and infinities in values and gradients, as in torch."""
    shape, vector, function, _ = NORMS[name]
    (x, w, b), mark = _data(shape, vector)
    x[1].flat[2], x[2].flat[0] = np.nan, np.inf
    kind = getattr(torch, dtype)
    args = [torch.tensor(a).to(kind).requires_grad_() for a in (x, w, b)]
    value = function(torch.nn.functional, *args)
    expected = [value, *torch.autograd.grad(value, args, torch.tensor(mark).to(kind))]
    placed = [to_device(a, dtype, queue) for a in (x, w, b)]
    value, pullback = sycl_dnn.vjp(lambda *a: function(F, *a), *placed)
    for ours, theirs in zip(
        (value, *pullback(to_device(mark, dtype, queue))), expected, strict=True
    ):
        ours, theirs = to_numpy(ours).astype(float), theirs.detach().float().numpy()
        assert (np.isnan(ours) == np.isnan(theirs)).all()

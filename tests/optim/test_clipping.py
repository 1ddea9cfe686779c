# SPDX-License-Identifier: Apache-2.0
"""Gradient norms of every order propagate NaN, as in torch, eager and compiled."""

import math

import numpy as np
import pytest
from arrays import to_float32

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

ORDERS = (2.0, 1.0, 3.0, 0.5, 0.0, -1.0, math.inf, -math.inf)
NAN, INF = math.nan, math.inf
#: Elements of several arrays.
VALUES = {
    "finite": [[1.0, -5.0, 2.0], [3.0, 4.0]], "first": [[NAN, 1.0], [2.0]],
    "middle": [[1.0, NAN, 2.0], [2.0]], "last": [[1.0], [2.0, NAN]],
    "infinite": [[1.0, INF], [2.0]], "both": [[-INF, 1.0], [NAN]], "zero": [[0.0, 0.0], [0.0]],
}  # fmt: skip


def on_device(values, dtype="float32"):
    return F.astype(F.asarray(np.asarray(values, "f4")), dtype)


def expected(values, order, max_norm=1.0):
    """The norm of the norms and the scaled gradients, in float64."""
    with np.errstate(all="ignore"):
        norms = [np.linalg.norm(np.array(v), order) for v in values]
        norm = np.linalg.norm(np.array(norms), order)
        factor = max_norm / (norm + 1e-6)
        factor = factor if math.isnan(factor) else min(factor, 1.0)
        return norm, [np.array(v) * factor for v in values]


def clipped(way, grads, order):
    """The norm and the gradients by each of the forms."""
    if way == "in place":
        norm = nn.utils.clip_grad_norm_(grads, 1.0, order)
        return norm, grads
    if way == "in place, compiled":

        @sycl_dnn.compile
        def call(grads):
            return nn.utils.clip_grad_norm_(grads, 1.0, order), grads

        return call(grads)
    call = lambda grads: optim.clip_grad_norm(grads, 1.0, order)[::-1]  # noqa: E731
    return (sycl_dnn.compile(call) if way == "new, compiled" else call)(grads)


@pytest.mark.sweep(32)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("way", ["in place", "in place, compiled", "new", "new, compiled"])
def test_norms_of_every_order_propagate_nan(way, kind, order):
    target, scaled = expected(VALUES[kind], order)
    norm, found = clipped(way, [on_device(v) for v in VALUES[kind]], order)
    np.testing.assert_allclose(float(norm), target, rtol=2e-5)
    for a, b in zip(found, scaled, strict=True):
        np.testing.assert_allclose(to_float32(a), b, rtol=2e-5)


@pytest.mark.parametrize("order", [2.0, INF, 0.5])
def test_error_if_nonfinite_raises_for_nan_and_infinity(order):
    for bad in ([1.0, NAN, 2.0], [INF, 1.0]):
        grads = {"a": on_device([1.0]), "b": on_device(bad)}
        for call in (nn.utils.clip_grad_norm_, optim.clip_grad_norm):
            with pytest.raises(RuntimeError, match="is non-finite"):
                call(grads, 1.0, order, error_if_nonfinite=True)
        assert grads["a"].tolist() == [1.0]
    compiled = sycl_dnn.compile(
        lambda g: optim.clip_grad_norm(g, 1.0, order, error_if_nonfinite=True)
    )
    with pytest.raises(RuntimeError, match="no value while a function is traced"):
        compiled([on_device([1.0])])
    good = [on_device([3.0, 4.0])]
    assert float(nn.utils.clip_grad_norm_(good, 1.0, error_if_nonfinite=True)) == 5.0


@pytest.mark.parametrize("order", [2.0, INF, -INF])
def test_dtypes_may_differ_and_trees_may_be_empty(order):
    grads = [on_device([3.0, -4.0]), on_device([2.0], "bfloat16"), on_device([8.0], "float16")]
    target, scaled = expected([[3.0, -4.0], [2.0], [8.0]], order)
    actual, norm = optim.clip_grad_norm([*grads, None], 1.0, order)
    np.testing.assert_allclose(float(norm), target, rtol=1e-5)
    assert [str(g.dtype) for g in actual[:3]] == ["float32", "bfloat16", "float16"]
    for a, b in zip(actual, scaled, strict=False):
        np.testing.assert_allclose(to_float32(a), b, rtol=1e-2)
    for empty in ([], {}, [None], [F.zeros((0,))]):
        assert float(optim.global_norm(empty, order)) == 0
        assert float(nn.utils.clip_grad_norm_(empty, 1.0, order)) == 0


def test_clamping_keeps_nan():
    grads = [on_device([NAN, 5.0, -INF])]
    assert to_float32(optim.clip_grad_value(grads, 1.0)[0]).tolist()[1:] == [1.0, -1.0]
    nn.utils.clip_grad_value_(grads, 2.0)
    assert math.isnan(grads[0][0])
    assert grads[0][1:].tolist() == [2.0, -2.0]


def test_buffers_and_frozen_parameters_have_no_gradient_to_clip():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net.freeze(lambda name: name == "0.bias")
    grads = sycl_dnn.tree.map(lambda p: p * 0 + 100.0, net)
    trained = [net[0].weight, net[1].weight, net[1].bias]
    target = 100 * math.sqrt(sum(p.numel() for p in trained))
    actual, norm = optim.clip_grad_norm(grads, 1.0)
    assert float(norm) == pytest.approx(target)
    assert actual[1].running_mean.tolist() == [100.0, 100.0]
    assert float(nn.utils.clip_grad_norm_(grads, 1.0)) == pytest.approx(target)
    assert grads[0].bias.tolist() == grads[1].running_var.tolist() == [100.0, 100.0]


@pytest.mark.parametrize("call", [nn.utils.clip_grad_norm_, optim.clip_grad_norm])
def test_parameters_in_place_of_gradients_are_refused(call):
    net = nn.Linear(2, 2)
    before = net.weight.tolist()
    for provided in (net.parameters(), list(net.parameters()), [net.weight]):
        with pytest.raises(TypeError, match=f"{call.__name__}: grads must be .*value_and_grad"):
            call(provided, 0.1)
    assert net.weight.tolist() == before
    with pytest.raises(TypeError, match="must be floating-point, got int64 at 'a.0'"):
        call({"a": [F.arange(3)]}, 1.0)

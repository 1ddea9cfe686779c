# SPDX-License-Identifier: Apache-2.0
"""Functions whose results have shapes that depend on values: gradients, modules, refusals."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.nn import torch_names as torch

VALUES = np.array([0.5, -1.0, 2.0, -3.0, 4.0, 0.25], "f4")


@pytest.fixture
def x(queue):
    return dpnp.asarray(VALUES, sycl_queue=queue)


CASES = {
    "mask": lambda x: (x[x > 0] ** 2).sum(),
    "mask of two axes": lambda x: (x.reshape(2, 3)[x.reshape(2, 3) > 0] ** 2).sum(),
    "mask of the last axis": lambda x: (F.stack([x, -x])[..., x > 0] ** 2).sum() / 2,
    "mask and a number": lambda x: (F.stack([x, -x])[0, x > 0] ** 2).sum(),
    "mask of the host": lambda x: (x[VALUES > 0] ** 2).sum(),
    "masked_select": lambda x: (F.masked_select(x, x > 0) ** 2).sum(),
    "nonzero": lambda x: (x[F.nonzero(x > 0)[:, 0]] ** 2).sum(),
    "nonzero as tuple": lambda x: (x[F.nonzero(input=x > 0, as_tuple=True)] ** 2).sum(),
    "method nonzero": lambda x: (x[(x > 0).nonzero()] ** 2).sum(),
    "where of a condition": lambda x: (x[torch.where(x > 0)] ** 2).sum(),
    "repeat_interleave": lambda x: (F.repeat_interleave(x, (x > 0).astype("int64")) ** 2).sum(),
    "slice": lambda x: (F.sort(x, descending=True)[0][: (x > 0).sum()] ** 2).sum(),
    "number of true": lambda x: (x**2).sum() - (x[x < 0] ** 2).sum() * (len(x[x > 0]) / 4),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_select_what_values_select(name, x):
    value, gradient = sycl_dnn.value_and_grad(CASES[name])(x)
    assert float(value) == pytest.approx(np.sum(VALUES[VALUES > 0] ** 2))
    np.testing.assert_allclose(gradient.asnumpy(), np.where(VALUES > 0, 2 * VALUES, 0))


def test_other_values_select_others(x):
    grad = sycl_dnn.grad(CASES["mask"])
    for values in (VALUES, -VALUES, abs(VALUES), -abs(VALUES), VALUES):
        actual = grad(dpnp.asarray(values, sycl_queue=x.sycl_queue)).asnumpy()
        np.testing.assert_allclose(actual, np.where(values > 0, 2 * values, 0))


def test_a_captured_mask_is_read_at_each_call(x):
    mask = dpnp.asarray(VALUES > 0, sycl_queue=x.sycl_queue)
    grad = sycl_dnn.grad(lambda x: (x[mask] ** 2).sum())
    np.testing.assert_allclose(grad(x).asnumpy(), np.where(VALUES > 0, 2 * VALUES, 0))
    mask[...] = dpnp.logical_not(mask)
    np.testing.assert_allclose(grad(x).asnumpy(), np.where(VALUES > 0, 0, 2 * VALUES))


def test_second_derivatives_of_what_a_mask_selects(x):
    inner = sycl_dnn.grad(lambda x: (x[x > 0] ** 3).sum())
    actual = sycl_dnn.grad(lambda x: inner(x).sum())(x).asnumpy()
    np.testing.assert_allclose(actual, np.where(VALUES > 0, 6 * VALUES, 0))


def test_results_are_constants_to_gradients(x):
    actual = sycl_dnn.grad(lambda x: (F.unique(x) * x).sum())(x).asnumpy()
    np.testing.assert_allclose(actual, np.sort(VALUES))


class Selecting(nn.Module):
    """What detectors and sparse models do: branches, masks, numbers of elements."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        y = self.layer(x)
        if y.sum() < -1000:
            return y[:0]
        chosen = y[y > 0]
        return chosen * chosen.numel() + y.nonzero().size(0)


def test_modules_that_need_values_run_at_each_call(x):
    net = Selecting().to(x.sycl_queue)
    y = net.layer(x)
    expected = y[y > 0] * int((y > 0).sum()) + 6
    for _ in range(3):
        np.testing.assert_allclose(net(x).asnumpy(), expected.asnumpy(), rtol=1e-6)
    value, grads = sycl_dnn.value_and_grad(lambda net: net(x).sum())(net)
    assert float(value) == pytest.approx(float(expected.sum()), rel=1e-5)
    count = int((y > 0).sum())
    np.testing.assert_allclose(grads.layer.bias.asnumpy(), (y > 0).asnumpy() * float(count))


def test_modules_that_contain_one_run_at_each_call(x):
    net = nn.Sequential(nn.Linear(6, 6), Selecting(), nn.ReLU()).to(x.sycl_queue)
    assert net(x).shape == net[1](net[0](x)).shape


@pytest.mark.parametrize("name", [n for n in CASES if n != "mask of the host"])
def test_compiled_functions_refuse_by_name(name, x):
    with pytest.raises(TypeError, match=r"not known while a|output_size must be given"):
        sycl_dnn.compile(CASES[name])(x)


def test_masks_must_have_the_sizes_of_their_axes(x):
    with pytest.raises(IndexError, match=r"sizes of its axes, \(6,\), got \(3,\)"):
        sycl_dnn.grad(lambda x: x[x[:3] > 0].sum())(x)
    with pytest.raises(IndexError, match=r"sizes of its axes, \(3,\), got \(6,\)"):
        sycl_dnn.grad(lambda x: x.reshape(2, 3)[..., x > 0].sum())(x)


def test_masked_select_broadcasts_and_checks(x):
    y = F.stack([x, -x])
    np.testing.assert_array_equal(
        F.masked_select(y, x > 0).asnumpy(), np.r_[VALUES[VALUES > 0], -VALUES[VALUES > 0]]
    )
    np.testing.assert_array_equal(
        F.masked_select(x, y > 0).asnumpy(), np.r_[VALUES[VALUES > 0], VALUES[VALUES < 0]]
    )
    assert F.masked_select(x, x > 9).shape == (0,)
    with pytest.raises(TypeError, match="masked_select: mask must be an array of bool, got float"):
        F.masked_select(x, x)
    with pytest.raises(TypeError, match="masked_select: mask must be an array, got bool"):
        F.masked_select(x, True)
    with pytest.raises(ValueError, match="broadcast"):
        F.masked_select(x, y[:, :3] > 0)


def grid_steps(x):
    """A time grid is checked and read, as solvers of differential equations do."""
    t = F.linspace(0.0, 1.0, 5, device=x.sycl_queue if isinstance(x, dpnp.ndarray) else None)
    assert (t[1:] > t[:-1]).all()
    for end, start in zip(t[1:].tolist(), t[:-1].tolist(), strict=True):
        x = x + (end - start) * F.sin(x)
    even = F.arange(6) % 2 == 0
    return (x[even] ** 2).sum()


def test_values_that_depend_on_no_array_are_known_while_a_function_is_traced(x):
    expected, expected_grad = sycl_dnn.value_and_grad(grid_steps)(x)
    value, grad = sycl_dnn.compile(sycl_dnn.value_and_grad(grid_steps))(x)
    assert float(value) == pytest.approx(float(expected), rel=1e-6)
    np.testing.assert_allclose(grad.asnumpy(), expected_grad.asnumpy(), rtol=1e-5)


def test_a_rule_may_read_them_in_the_reverse_pass(x):
    @sycl_dnn.custom_vjp
    def scaled(x):
        return 2 * x

    scaled.defvjp(lambda x: (2 * x, None), lambda _, dy: (dy * float(F.arange(3).sum()),))
    np.testing.assert_array_equal(sycl_dnn.grad(lambda x: scaled(x).sum())(x).asnumpy(), [3.0] * 6)


VARYING = {
    "an argument": lambda x: F.zeros_like(x) + x,
    "random numbers": lambda x: F.rand(6),
}


@pytest.mark.parametrize("name", VARYING)
def test_values_that_may_vary_are_refused_in_compiled_functions(name, x):
    with pytest.raises(TypeError, match="not known while a"):
        sycl_dnn.compile(lambda x: x if (VARYING[name](x) > 0).all() else -x)(x)


def test_a_number_that_varies_is_read_at_each_call(x):
    scale = sycl_dnn.compile(lambda x, s: x * 2 if (F.full((3,), s) > 1).all() else x * 3)
    for s in (0.5, 2.0, 0.25, 1.5, 0.75, 4.0):
        np.testing.assert_allclose(scale(x, s).asnumpy(), VALUES * (2 if s > 1 else 3))

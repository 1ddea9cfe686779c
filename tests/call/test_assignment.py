# SPDX-License-Identifier: Apache-2.0
"""Assignments to elements in differentiated functions and in modules."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.nn import torch_names as torch

VALUES = np.array([[0.5, -1.0, 2.0], [-3.0, 4.0, 0.25]], "f4")


@pytest.fixture
def x(queue):
    return dpnp.asarray(VALUES, sycl_queue=queue)


#: What is assigned to a copy of x: key and value of both.
ASSIGNED = {
    "number": lambda y, x: (0, 3.0),
    "row": lambda y, x: (1, x[0] * 2),
    "element": lambda y, x: ((0, -1), x[1, 1]),
    "column": lambda y, x: ((slice(None), 1), x[:, 0]),
    "slices": lambda y, x: ((slice(0, 2), slice(None, None, 2)), x[:, :2] * 3),
    "reversed": lambda y, x: ((..., slice(None, None, -1)), x),
    "broadcast": lambda y, x: (slice(None), x[:1]),
    "more axes than the place": lambda y, x: (0, x[None, 1]),
    "integers": lambda y, x: ((np.array([1, 0]),), x * 5),
    "mask": lambda y, x: (y > 0, 0.0),
    "mask of rows": lambda y, x: (y[:, 0] > 0, -1.0),
    "mask and as many values": lambda y, x: (y > 0, y[y > 0] ** 2),
    "nothing": lambda y, x: (slice(0, 0), 1.0),
    "everything": lambda y, x: (..., x * x),
}


def by_numpy(name):
    """Return the values after the assignment."""
    x, y = VALUES, VALUES * 2
    key, value = ASSIGNED[name](y, x)
    y[key] = value
    return y


@pytest.mark.parametrize("name", ASSIGNED)
@pytest.mark.sweep(2)
def test_values_and_gradients(name, x):
    def function(x):
        y = x * 2
        key, value = ASSIGNED[name](y, x)
        y[key] = value
        return (y * y).sum()

    gradient_of = sycl_dnn.value_and_grad(function)
    ways = [gradient_of, gradient_of]
    if not name.endswith("as many values"):  # whose number is known where the code runs only
        ways.append(sycl_dnn.compile(gradient_of))
    for way in ways:
        value, gradient = way(x)
        assert float(value) == pytest.approx(np.sum(by_numpy(name) ** 2), rel=1e-6)
    for place in ((0, 0), (0, 1), (1, 1), (1, 2)):  # central differences
        moved = []
        for step in (1e-2, -1e-2):
            far = VALUES.astype("f8")
            far[place] += step
            y = far * 2
            key, assigned = ASSIGNED[name](y, far)
            y[key] = assigned
            moved.append(np.sum(y * y))
        assert float(gradient[place]) == pytest.approx(
            (moved[0] - moved[1]) / 2e-2, rel=1e-2, abs=1e-2
        )


def decoded(x, n=3):
    """What decoders do: the outputs of steps are written into an array."""
    out = F.zeros(n, 3)
    h = x[0]
    for t in range(n):
        h = F.tanh(h * 1.5 + x[1])
        out[t] = h
        if t and float(out[t - 1].sum()) > 100:
            break
    out[0, 1:] *= 2
    return (out**2).sum()


def test_loops_that_fill_an_array(x):
    def collected(x):
        h, rows = x[0], []
        for _ in range(3):
            h = F.tanh(h * 1.5 + x[1])
            rows.append(h)
        rows[0] = F.cat([rows[0][:1], rows[0][1:] * 2])
        return (F.stack(rows) ** 2).sum()

    expected = sycl_dnn.value_and_grad(collected)(x)
    for _ in range(3):
        actual = sycl_dnn.value_and_grad(decoded)(x)
        np.testing.assert_allclose(actual[1].asnumpy(), expected[1].asnumpy(), rtol=1e-5)
        assert float(actual[0]) == pytest.approx(float(expected[0]))


def test_a_run_that_leaves_a_known_path_repeats_assignments(x):
    def function(x, n):
        y = x * 2
        z = y + 1
        y[0] = x[1]
        w = y * z
        for _ in range(n):
            y[1] = y[0] * 2
            w = w + y
        return w.sum()

    for n in (1, 3, 2, 0, 3):
        y = VALUES * 2
        z = y + 1
        y[0] = VALUES[1]
        w = y * z
        for _ in range(n):
            y[1] = y[0] * 2
            w = w + y
        assert float(sycl_dnn.vjp(function, x, n)[0]) == pytest.approx(w.sum(), rel=1e-6)


def test_other_names_and_views_of_the_tensor_see_it(x):
    def named(x):
        y = z = x * 2
        y[0] = 1.0
        return (z * y).sum()

    assert float(sycl_dnn.vjp(named, x)[0]) == 3 + np.sum((VALUES[1] * 2) ** 2)

    def viewed(x):
        y = x * 2
        row = y[1]
        y[0] = 1.0
        return (row * y).sum()

    expected = np.sum((VALUES[1] * 2) * (1 + VALUES[1] * 2))
    assert float(sycl_dnn.vjp(viewed, x)[0]) == pytest.approx(expected, rel=1e-6)

    def of_a_view(x):
        y = x * 2
        row = y[1]
        row[0] = 5.0
        return y.sum()

    changed = VALUES * 2
    changed[1, 0] = 5.0
    assert float(sycl_dnn.vjp(of_a_view, x)[0]) == pytest.approx(changed.sum(), rel=1e-6)


def test_parts_of_empty_arrays_and_whole_arrays(x):
    def function(x):
        y, z = x[:0] * 2, x * 1
        y[0:0], y[..., :1], y[y > 0] = 1.0, 2.0, 3.0
        z.fill(4)
        return y.sum() + (z * x).sum()

    gradient = sycl_dnn.value_and_grad(function)
    for way in (gradient, sycl_dnn.compile(gradient)):
        value, slope = way(x)
        assert float(value) == pytest.approx(4 * VALUES.sum())
        assert slope.tolist() == np.full_like(VALUES, 4).tolist()
    with pytest.raises(IndexError, match="5 is out of range for axis 1"):
        sycl_dnn.vjp(lambda x: (x[:0] * 2).__setitem__((..., 5), 1.0), x)


def test_arguments_and_captured_arrays_are_refused(x):
    def assigned(x):
        x[0] = 1.0
        return x.sum()

    def view(x):
        x[0][1] = 1.0
        return x.sum()

    for function in (assigned, view):
        with pytest.raises(TypeError, match="an argument of a differentiated function"):
            sycl_dnn.grad(function)(x)
    np.testing.assert_array_equal(x.asnumpy(), VALUES)
    with pytest.raises(TypeError, match=r"float\(\).*not known"):
        sycl_dnn.compile(decoded)(x)


def test_values_that_do_not_fit_are_refused(x):
    def function(x):
        y = x * 2
        y[0] = x[:, :2]
        return y.sum()

    with pytest.raises(ValueError, match=r"assignment: values must broadcast to \(3,\), got shape"):
        sycl_dnn.grad(function)(x)


class Decoder(nn.Module):
    """The usual decoder: zeros, then a step into each row."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 3)

    def forward(self, x):
        out = torch.zeros(4, *x.shape, device=x.device)
        h = torch.zeros_like(x)
        for t in range(4):
            h = self.cell(x, h)
            out[t] = h
        out[out < 0] = 0.5
        return out


def test_modules_that_assign(x):
    sycl_dnn.manual_seed(0)  # some weights make all states negative, which have no gradient
    net = Decoder().to(x.sycl_queue)
    h, rows = F.zeros_like(x), []
    for _ in range(4):
        h = net.cell(x, h)
        rows.append(h)
    expected = F.stack(rows)
    expected = F.where(expected < 0, F.full_like(expected, 0.5), expected)
    np.testing.assert_allclose(net(x).asnumpy(), expected.asnumpy(), rtol=1e-6)
    value, gradients = sycl_dnn.value_and_grad(lambda net: (net(x) ** 2).sum())(net)
    assert float(value) == pytest.approx(float((expected**2).sum()), rel=1e-5)
    assert float(F.abs(gradients.cell.weight_ih).sum()) > 0

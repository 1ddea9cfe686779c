# SPDX-License-Identifier: Apache-2.0
"""``inplace=True`` in the forward of a module writes the input."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

#: The function, and what it is called with in addition to its input.
ROWS = {
    "celu": {}, "dropout": {"p": 0.0}, "elu": {}, "hardsigmoid": {}, "hardswish": {},
    "hardtanh": {}, "leaky_relu": {"negative_slope": 0.2}, "mish": {}, "relu": {}, "relu6": {},
    "selu": {}, "silu": {}, "threshold": {"threshold": 0.1, "value": 2.0},
}  # fmt: skip


class Net(nn.Module):
    def __init__(self, name, by_position=False):
        super().__init__()
        self.name, self.by_position = name, by_position

    def forward(self, x):
        function, words = getattr(F, self.name), ROWS[self.name]
        if not self.by_position:
            return function(x, **words, inplace=True)
        values = (
            [*words.values(), True, True] if self.name == "dropout" else [*words.values(), True]
        )
        usual = {"celu": [1.0], "elu": [1.0], "hardtanh": [-1.0, 1.0]}.get(self.name, [])
        return function(x, *usual, *values)


@pytest.mark.parametrize("by_position", [False, True], ids=["named", "by position"])
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.sweep(4)
def test_inplace_is_accepted_in_forward(name, by_position):
    values = np.linspace(-7, 7, 12).astype("f4").reshape(3, 4)
    x, net = dpnp.asarray(values), Net(name, by_position)
    expected = dpnp.asnumpy(getattr(F, name)(x, **ROWS[name]))
    for call in (net, sycl_dnn.compile(lambda net, x: net(x))):
        x[...] = dpnp.asarray(values)
        actual = call(x) if call is net else call(net, x)
        np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=1e-6)
        np.testing.assert_array_equal(dpnp.asnumpy(x), dpnp.asnumpy(actual))
    x[...] = dpnp.asarray(values)
    if name != "dropout":  # which drops nothing here
        with pytest.raises(TypeError, match="argument of a differentiated function"):
            sycl_dnn.grad(lambda x: F.sum(net(x)))(x)
    grads = sycl_dnn.grad(lambda x: F.sum(net(x * 1)))(x)
    other = sycl_dnn.grad(lambda x: F.sum(getattr(F, name)(x, **ROWS[name])))(x)
    np.testing.assert_allclose(dpnp.asnumpy(grads), dpnp.asnumpy(other), rtol=1e-6)


def test_gradients_of_values_that_were_changed():
    class Net(nn.Module):
        def forward(self, x):
            y = x * 1.0
            z = y.view(2, 2)
            z.mul_(3.0)
            F.relu(z, inplace=True)
            return (z * z).sum()

    x = dpnp.asarray(np.array([-1.0, 2.0, 3.0, -4.0], "f4"))
    for _ in range(2):
        assert sycl_dnn.grad(lambda x: Net()(x))(x).tolist() == [0, 36, 54, 0]


@pytest.mark.parametrize("name", ROWS)
def test_the_docstring_documents_inplace(name):
    text = " ".join(getattr(F, name).__doc__.split())
    assert "stand for the result from then on" in text


def test_an_array_that_the_forward_captures_is_not_an_input():
    """torch would write to it at each call."""
    held = dpnp.asarray(np.array([-1.0, 2.0], "f4"))

    class Net(nn.Module):
        def forward(self, x):
            return x + F.relu(held, inplace=True)

    with pytest.raises(TypeError, match="relu: cannot write to an array that the forward captures"):
        Net()(dpnp.ones(2, dtype="f4"))
    assert held.tolist() == [-1.0, 2.0]

# SPDX-License-Identifier: Apache-2.0
"""``inplace=True`` in the forward of a module: accepted; its input must not be read afterwards."""

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
def test_inplace_is_accepted_in_forward(name, by_position):
    values = np.linspace(-7, 7, 12).astype("f4").reshape(3, 4)
    x, net = dpnp.asarray(values), Net(name, by_position)
    wanted = dpnp.asnumpy(getattr(F, name)(x, **ROWS[name]))
    for call in (net, sycl_dnn.compile(lambda net, x: net(x))):
        made = call(x) if call is net else call(net, x)
        np.testing.assert_allclose(dpnp.asnumpy(made), wanted, rtol=1e-6)
    np.testing.assert_array_equal(dpnp.asnumpy(x), values)
    grads = sycl_dnn.grad(lambda x: F.sum(net(x)))(x)
    other = sycl_dnn.grad(lambda x: F.sum(getattr(F, name)(x, **ROWS[name])))(x)
    np.testing.assert_allclose(dpnp.asnumpy(grads), dpnp.asnumpy(other), rtol=1e-6)


def _unused(x, write):
    write(x)
    return x


def _read_in_a_sum(x, write):
    return write(x) + x


def _read_in_a_list(x, write):
    return F.cat([write(x), x])


def _read_by_a_method(x, write):
    write(x)
    return x.view(-1)


@pytest.mark.parametrize("use", [_unused, _read_in_a_sum, _read_in_a_list, _read_by_a_method])
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("relu", lambda x: F.relu(x, inplace=True)),
        ("silu", lambda x: F.silu(x, inplace=True)),
        ("dropout", lambda x: F.dropout(x, 0.5, True, True)),
        ("ReLU", nn.ReLU(inplace=True)),
        ("dropout", nn.Dropout(0.5, inplace=True)),
    ],
    ids=["relu", "silu", "dropout", "ReLU", "Dropout"],
)
def test_values_that_torch_would_have_changed_cannot_be_read(name, write, use):
    class Reader(nn.Module):
        def forward(self, x):
            return use(x * 1.0, write)

    x = dpnp.asarray(np.linspace(-1, 1, 4).astype("f4"))
    for call in (Reader(), sycl_dnn.grad(lambda x: F.sum(Reader()(x)))):
        with pytest.raises(
            RuntimeError, match=rf"read after {name}\(inplace=True\).*use the result"
        ):
            call(x)


def test_outside_of_modules_it_writes_the_input_and_is_refused_in_traces():
    x = dpnp.asarray(np.array([-1.0, 2.0], "f4"))
    assert F.relu(x, inplace=True) is x
    assert x.tolist() == [0.0, 2.0]
    with pytest.raises(ValueError, match="relu: inplace must be False"):
        sycl_dnn.vjp(F.relu, x, inplace=True)


@pytest.mark.parametrize("name", ROWS)
def test_the_docstring_documents_inplace(name):
    text = " ".join(getattr(F, name).__doc__.split())
    assert "later reads of the input raise RuntimeError" in text


def test_an_array_that_the_forward_captures_is_not_an_input():
    """torch would write to it at each call."""
    held = dpnp.asarray(np.array([-1.0, 2.0], "f4"))

    class Net(nn.Module):
        def forward(self, x):
            return x + F.relu(held, inplace=True)

    with pytest.raises(TypeError, match="relu: cannot write to an array that the forward captures"):
        Net()(dpnp.ones(2, dtype="f4"))
    assert held.tolist() == [-1.0, 2.0]


def test_methods_that_write_are_named_as_methods():
    class Net(nn.Module):
        def forward(self, x):
            x = x * 1.0
            x.add_(1.0)
            return x

    with pytest.raises(RuntimeError, match=r"read after add_\(\), which does not write"):
        Net()(dpnp.ones(2, dtype="f4"))

# SPDX-License-Identifier: Apache-2.0
"""Views, clones and gradients of what a buffer or an argument held before it was written."""

import dpnp
import numpy as np
import pytest
from function_modules import Net

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

A, B, X = np.array([1.0, 2.0, 3.0]), np.array([10.0, 11.0, 12.0]), np.full(3, 7.0)


class Two(nn.Module):
    """A module with two buffers; ``write`` returns what is multiplied by the weight."""

    def __init__(self, write):
        super().__init__()
        self.register_buffer("a", F.tensor(A.astype("f4")))
        self.register_buffer("b", F.tensor(B.astype("f4")))
        self.weight, self.write = nn.Parameter(F.ones(3)), write

    def forward(self, x):
        result = self.write(self, x)
        return (result * self.weight).sum(), result


def _swapped(m, x):
    m.a, m.b = m.b, m.a
    return x


def _exchanged(m, x):
    t = m.a.clone()
    m.a.copy_(m.b)
    m.b.copy_(t)
    return t


def _turned(m, x):
    t = m.b.flip(0)
    m.b = m.a.reshape(3, 1)[:, 0]
    m.a = t
    return x


def _assigned(m, x):
    y = m.a * 1
    m.a = m.a + x
    return y


def _added(m, x):
    y = m.a.clone()
    m.a.add_(x)
    return y


def _viewed(m, x):
    view = m.a.view(3, 1)
    m.a = m.a + x
    return view[:, 0]


def _detached(m, x):
    y = m.a.detach()
    m.a = m.a + x
    return y


#: What a call returns and the new buffers.
WRITES = {
    "swapped": (_swapped, X, B, A), "exchanged": (_exchanged, A, B, A),
    "turned": (_turned, X, B[::-1], A), "assigned": (_assigned, A, A + X, B),
    "added": (_added, A, A + X, B), "viewed": (_viewed, A, A + X, B),
    "detached": (_detached, A, A + X, B),
}  # fmt: skip


def _gradient(net, x):
    (_, result), grads = sycl_dnn.value_and_grad(lambda net: net(x), has_aux=True)(net)
    return result, grads.weight


def _pulled_back(net, x):
    (_, result), pullback = sycl_dnn.vjp(lambda net: net(x), net)
    return result, pullback((F.ones(()), None))[0].weight


WAYS = {
    "called": lambda net, x: net(x)[1:], "gradient": _gradient, "pullback": _pulled_back,
    "compiled": sycl_dnn.compile(lambda net, x: net(x)[1:]),
    "compiled gradient": sycl_dnn.compile(_gradient),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.sweep(2)
def test_values_read_before_a_write_are_kept(name, way):
    write, *expected = WRITES[name]
    net = Two(write)
    # The gradient of the weight is the result.
    results = WAYS[way](net, dpnp.asarray(X, dtype="f4"))
    for array in results:
        np.testing.assert_allclose(array.asnumpy(), expected[0])
    np.testing.assert_allclose(net.a.asnumpy(), expected[1])
    np.testing.assert_allclose(net.b.asnumpy(), expected[2])


#: Functions whose results are arrays of their own in torch, also where nothing changes.
COPIES = {
    "clone": lambda x: x.clone(), "part": lambda x: x[1:].clone(), "copy": lambda x: x.copy(),
    "to": lambda x: x.to("float32", copy=True), "cat": lambda x: F.cat([x]),
    "cat empty": lambda x: F.cat([x, x[:0]]),
    "stack": lambda x: F.stack([x]), "repeat": lambda x: x.repeat(1, 1),
    "tile": lambda x: F.tile(x, (1,)), "roll": lambda x: x.roll(3, 1),
    "pad": lambda x: F.pad(x, (0, 0)),
    "sum": lambda x: x[:1].sum(0), "sort": lambda x: x[:, :1].sort(1)[0],
    "repeat_interleave": lambda x: F.repeat_interleave(x, 1, 0), "diag": lambda x: F.diag(x),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.sweep(2)
def test_copies_are_not_changed_with_the_argument_nor_the_argument_with_them(name):
    def written(x):
        result = COPIES[name](x)
        x.zero_()
        return result

    values = np.arange(1, 7, dtype="f4").reshape(2, 3)
    x = dpnp.asarray(values)
    expected = Net(COPIES[name])(x).asnumpy()
    for call in (Net(COPIES[name]), sycl_dnn.compile(lambda x: Net(COPIES[name])(x))):
        result = call(x)
        result += 1
        np.testing.assert_array_equal(x.asnumpy(), values)
    np.testing.assert_array_equal(Net(written)(x).asnumpy(), expected)
    assert not x.any()


def test_contiguous_shares_memory_only_where_it_does_not_copy():
    def written(take):
        def function(x):
            x = x * 2
            taken = take(x)
            x.zero_()
            return taken

        return Net(function)(F.ones(2, 3))

    assert not written(lambda x: x.contiguous()).any()
    with pytest.raises(RuntimeError, match="may share memory with one"):
        written(lambda x: x.transpose(0, 1).contiguous())


@pytest.mark.parametrize("name", ["copy", "__pos__", "conj", "flatten"])
def test_methods_that_copy_in_dpnp_copy_outside_of_modules(name):
    def function(x):
        y = x * 2
        copy = getattr(y, name)()
        y += 1
        return copy

    result, pullback = sycl_dnn.vjp(function, F.ones(2, 3))
    assert result.ravel().tolist() == [2.0] * 6
    assert pullback(result)[0].ravel().tolist() == [4.0] * 6


@pytest.mark.parametrize("is_compiled", [False, True])
def test_gradients_of_frozen_statistics_ignore_a_later_update(is_compiled):
    values = np.random.default_rng(0).normal(size=(5, 3)).astype("f4")

    def loss(x, net, is_updated):
        result = F.sum(net.eval()(x) ** 3)
        if is_updated:
            net.train()(x)
        return result

    gradients = sycl_dnn.grad(loss)
    gradients = sycl_dnn.compile(gradients) if is_compiled else gradients
    x = dpnp.asarray(values)
    net = nn.BatchNorm1d(3)
    found = gradients(x, net, True).asnumpy()
    assert int(net.num_batches_tracked) == 1
    np.testing.assert_allclose(found, 3 * values**2 * (1 + 1e-5) ** -1.5, rtol=1e-5)


def test_a_checkpointed_function_that_reads_statistics_on_both_sides_of_an_update_is_refused():
    net = nn.BatchNorm1d(3)

    def thrice(x):
        return net.eval()(x).sum() + net.train()(x).sum() + net.eval()(x).sum()

    gradient = sycl_dnn.grad(lambda x: sycl_dnn.checkpoint(thrice)(x))
    for call in (gradient, sycl_dnn.compile(gradient)):
        with pytest.raises(RuntimeError, match="was written to afterwards"):
            call(F.ones(4, 3))

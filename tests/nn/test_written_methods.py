# SPDX-License-Identifier: Apache-2.0
"""In-place methods and ``*_like`` functions in the forward of a module."""

import operator

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

#: By name: what is called, under both libraries; ``y`` has the shape of ``x``.
CALLS = {
    "add_": lambda x, y: x.add_(y, alpha=2), "sub_": lambda x, y: x.sub_(1.5),
    "mul_": lambda x, y: x.mul_(y), "div_": lambda x, y: x.div_(y.exp()),
    "pow_": lambda x, y: x.pow_(2), "clamp_": lambda x, y: x.clamp_(min=-0.5, max=0.5),
    "clamp_min_": lambda x, y: x.clamp_min_(0.1), "clamp_max_": lambda x, y: x.clamp_max_(0.1),
    "relu_": lambda x, y: x.relu_(), "sigmoid_": lambda x, y: x.sigmoid_(),
    "tanh_": lambda x, y: x.tanh_(), "exp_": lambda x, y: x.exp_(), "neg_": lambda x, y: x.neg_(),
    "sqrt_": lambda x, y: (x * x + 1).sqrt_(), "abs_": lambda x, y: x.abs_(),
    "zero_": lambda x, y: x.zero_() + y, "fill_": lambda x, y: x.fill_(2) * y,
    "copy_": lambda x, y: x.copy_(y), "lerp_": lambda x, y: x.lerp_(y, 0.25),
    "masked_fill_": lambda x, y: x.masked_fill_(y > 0, 3.0),
    "addcmul_": lambda x, y: x.addcmul_(y, y, value=0.5),
    "addcdiv_": lambda x, y: x.addcdiv_(y, y.exp()), "tril_": lambda x, y: x.tril_(),
    "several": lambda x, y: x.mul_(2).add_(y[0]).clamp_(min=0),
    "clone": lambda x, y: x.clone().add_(1) * x,
    "new_zeros": lambda x, y: x + x.new_zeros(3, 4) + y.new_zeros((4,)),
    "new_ones": lambda x, y: x * x.new_ones(4),
    "new_full": lambda x, y: x * x.new_full((3, 1), 2.5),
    "sort": lambda x, y: x.sort(0, descending=True)[0] * x.sort().indices,
    "argsort": lambda x, y: x * x.argsort(dim=0, descending=True),
    "cumsum": lambda x, y: x.cumsum(dim=1) * x.cumprod(dim=-1),
    "where": lambda x, y: x.where(y > 0, y) + (x > 0).where(y > 0, x > y) * x.nelement(),
    "lerp": lambda x, y: x.lerp(y, 0.5), "clamp_min": lambda x, y: x.clamp_min(0.2).clamp_max(1),
    "masked_fill": lambda x, y: x.masked_fill(y > 0, float("-inf")).softmax(-1),
    "unbind": lambda x, y: x.unbind(1)[2], "select": lambda x, y: x.select(1, -1),
    "diagonal": lambda x, y: x.diagonal(), "addcmul": lambda x, y: x.addcmul(x, y),
    "index_add": lambda x, y: x.index_add(0, (y[:, 0] > 9).long(), y),
}  # fmt: skip
VALUES = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("f4")


class Net(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, x, y):
        return self.call(x * 1.0, y)


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_match_torch(name):
    torch = pytest.importorskip("torch")
    call = CALLS[name]
    net, arrays = Net(call), [dpnp.asarray(v) for v in VALUES]
    tensors = [torch.tensor(v, requires_grad=True) for v in VALUES]
    expected = call(tensors[0] * 1.0, tensors[1])
    expected.square().sum().backward()
    for run in (net, lambda *a: sycl_dnn.compile(lambda net, *a: net(*a))(net, *a)):
        np.testing.assert_allclose(dpnp.asnumpy(run(*arrays)), expected.detach(), rtol=1e-5)
    grads = sycl_dnn.grad(lambda x, y: F.sum(F.square(net(x, y))), (0, 1))(*arrays)
    for found, tensor in zip(grads, tensors, strict=True):
        slope = np.zeros((3, 4)) if tensor.grad is None else tensor.grad
        np.testing.assert_allclose(dpnp.asnumpy(found), slope, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(dpnp.asnumpy(arrays[0]), VALUES[0])


#: Aliases through which torch would read the new values.
READERS = {
    "itself": lambda x, write: (write(x), x)[1],
    "a slice of it": lambda x, write: (write(x), x[0])[1],
    "an earlier view": lambda x, write: (lambda v: (write(x), v)[1])(x.view(-1)),
    "an earlier slice": lambda x, write: (lambda v: (write(x), v * 2)[1])(x[:, 1:]),
    "what it is a view of": lambda x, write: (write(x.transpose(0, 1)), x)[1],
    "what it is a part of": lambda x, write: (write(x.chunk(2, 1)[0]), x + 1)[1],
    "what it is a slice of": lambda x, write: (write(x[:, :2]), x)[1],
    "what was reshaped": lambda x, write: (write(x.transpose(0, 1).reshape(-1)), x)[1],
    "what it was reshaped from": lambda x, write: (lambda v: (write(x), v)[1])(x.reshape(-1)),
    "what it was detached from": lambda x, write: (write(x.detach()), x)[1],
    "what contiguous returned": lambda x, write: (write(x.contiguous()), x)[1],
    "a sum of both": lambda x, write: write(x) + x,
}  # fmt: skip


def _in_part(function, part):
    """Return a function that changes a part of an array."""

    def changed(v):
        result = v.copy()
        result[part] = function(v[part])
        return result

    return changed


#: The reader's results, by what the writer makes of values.
CHANGED = {
    "itself": lambda f: f, "a slice of it": lambda f: lambda v: f(v)[0],
    "an earlier view": lambda f: lambda v: f(v).reshape(-1),
    "an earlier slice": lambda f: lambda v: f(v)[:, 1:] * 2, "what it is a view of": lambda f: f,
    "what it is a part of": lambda f: lambda v: _in_part(f, np.s_[:, :2])(v) + 1,
    "what it is a slice of": lambda f: _in_part(f, np.s_[:, :2]),
    "what it was detached from": lambda f: f,
    "what contiguous returned": lambda f: f, "a sum of both": lambda f: lambda v: f(v) + f(v),
}  # fmt: skip
WRITERS = {
    "add_": (lambda x: x.add_(1), lambda v: v + 1),
    "relu": (lambda x: F.relu(x, inplace=True), lambda v: np.maximum(v, 0)),
    "silu": (lambda x: F.silu(x, inplace=True), lambda v: v / (1 + np.exp(-v))),
    "dropout": (lambda x: F.dropout(x, 1.0, True, True), lambda v: 0 * v),
    "ReLU": (nn.ReLU(inplace=True), lambda v: np.maximum(v, 0)),
    "Dropout": (nn.Dropout(1.0, inplace=True), lambda v: 0 * v),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.sweep(3)
def test_values_that_torch_would_have_changed_are_changed_or_refused(reader, name):
    write, function = WRITERS[name]
    net = Net(lambda x, y: READERS[reader](x, write))
    x = dpnp.asarray(VALUES[0])
    compiled = sycl_dnn.compile(lambda net, x, y: net(x, y))
    for call in (net, lambda x, y: sycl_dnn.vjp(net, x, y)[0], lambda x, y: compiled(net, x, y)):
        for _ in range(2):
            if reader in CHANGED:
                expected = CHANGED[reader](function)(VALUES[0])
                np.testing.assert_allclose(call(x, x).asnumpy(), expected, rtol=1e-6)
            else:
                with pytest.raises(RuntimeError, match="may share memory with one"):
                    call(x, x)


class Counting(nn.Module):
    def __init__(self, write):
        super().__init__()
        self.register_buffer("count", F.zeros(3))
        self.weight, self.write = nn.Parameter(F.ones(3)), write

    def forward(self, x):
        self.write(self, x)
        return (x * self.count).sum()


def _whole(m, x):
    m.count += x
    m.count.mul_(2).add_(1)


def _view(m, x):
    m.count[:1].fill_(5)
    m.count[1:] += x[1:]


def _data(m, x):
    m.count.data = m.count.data + x


WRITES = {
    "assigned": (lambda m, x: setattr(m, "count", m.count.clone().add_(1)), lambda c, x: c + 1),
    "whole": (_whole, lambda c, x: 2 * (c + x) + 1),
    "view": (_view, lambda c, x: np.concatenate([[5], c[1:] + x[1:]])),
    "copied": (lambda m, x: m.count.copy_(m.count + x), lambda c, x: c + x),
    "data": (_data, lambda c, x: c + x),
    "methods of data": (lambda m, x: m.count.data.mul_(2).add_(x), lambda c, x: 2 * c + x),
    "relu": (lambda m, x: F.relu(m.count.sub_(x), inplace=True),
             lambda c, x: np.maximum(c - x, 0)),
}  # fmt: skip
WAYS = {
    "called": lambda net, x: net(x),
    "vjp": lambda net, x: sycl_dnn.vjp(lambda net: net(x), net)[0],
    "captured": lambda net, x: sycl_dnn.vjp(lambda x: net(x), x)[0],
    "compiled": sycl_dnn.compile(lambda net, x: net(x)),
    "compiled gradient": sycl_dnn.compile(
        lambda net, x: sycl_dnn.value_and_grad(lambda net: net(x))(net)[0]),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.sweep(2)
def test_buffers_are_written_as_in_torch(name, way):
    write, function = WRITES[name]
    net, values = Counting(write), np.array([1.0, -2.0, 3.0], "f4")
    memory, expected = net._buffers["count"], np.zeros(3)
    for _ in range(3):
        result = WAYS[way](net, dpnp.asarray(values))
        expected = function(expected, values)
        np.testing.assert_allclose(net.count.asnumpy(), expected)
        np.testing.assert_allclose(float(result), np.sum(values * expected), rtol=1e-6)
    assert net._buffers["count"] is memory


@pytest.mark.parametrize("way", ["called", "captured", "compiled"])
def test_parameters_are_written_as_in_torch(way):
    def write(m, x):
        m.weight.data.copy_(x)
        m.weight.mul_(2)

    net, values = Counting(write), np.array([1.0, -2.0, 3.0], "f4")
    memory = net._parameters["weight"]
    for number in (1, 2):
        WAYS[way](net, dpnp.asarray(number * values))
        np.testing.assert_array_equal(net.weight.asnumpy(), 2 * number * values)
    assert net._parameters["weight"] is memory


@pytest.mark.parametrize("way", ["vjp", "compiled gradient"])
def test_parameters_are_not_written_where_they_have_a_gradient(way):
    net, x = Counting(lambda m, x: m.weight.mul_(2)), F.ones(3)
    before = net.weight.asnumpy().copy()
    with pytest.raises(TypeError, match=r"mul_: .* must not be written to|mul_: an argument of"):
        WAYS[way](net, x)
    np.testing.assert_array_equal(net.weight.asnumpy(), before)
    net.weight.requires_grad = False
    if way == "vjp":
        WAYS[way](net, x)
        np.testing.assert_array_equal(net.weight.asnumpy(), 2 * before)


def test_data_of_parameters_with_a_gradient_is_written():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(F.full((4,), 2.0))

        def forward(self, x):
            self.weight.data[1:3].zero_()
            return (self.weight * self.weight * x).sum()

    net, x = Masked(), dpnp.arange(1, 5, dtype="f4")
    value, grads = sycl_dnn.value_and_grad(lambda net: net(x))(net)
    assert float(value) == 4 * (1 + 4)
    np.testing.assert_array_equal(grads.weight.asnumpy(), [4, 0, 0, 16])
    np.testing.assert_array_equal(net.weight.asnumpy(), [2, 0, 0, 2])


def test_gradients_do_not_see_writes_to_data():
    class Scaled(nn.Module):
        def forward(self, x):
            y = x * 2
            values = y.data
            values.mul_(3)
            values.add_(1)
            return (y * y).sum() + values.sum()

    value, grad = sycl_dnn.value_and_grad(lambda x: Scaled()(x))(F.arange(1.0, 5.0))
    # torch: y is 6 * x + 1, its slope to x remains 2.
    np.testing.assert_allclose(float(value), 1268)
    np.testing.assert_allclose(grad.asnumpy(), [28, 52, 76, 100])


class Centered(nn.Module):
    """Subtracts the mean of earlier batches, and returns that."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", F.zeros(3))

    def forward(self, x):
        before = self.mean
        y = (x - self.mean) ** 2
        self.mean = 0.5 * self.mean + 0.5 * x.mean(0)
        return y.sum() + (self.mean * x).sum(), before


@pytest.mark.parametrize("is_compiled", [False, True])
def test_tensors_read_before_an_assignment_and_gradients_keep_the_old_values(is_compiled):
    net, values, mean = Centered(), VALUES[0][:, :3], np.zeros(3)
    call = lambda net, x: sycl_dnn.value_and_grad(lambda x: net(x), has_aux=True)(x)  # noqa: E731
    call = sycl_dnn.compile(call) if is_compiled else call
    for _ in range(3):
        (_, before), slope = call(net, dpnp.asarray(values))
        np.testing.assert_allclose(before.asnumpy(), mean, rtol=1e-5, atol=1e-7)
        old, mean = mean, 0.5 * mean + 0.5 * values.mean(0)
        np.testing.assert_allclose(net.mean.asnumpy(), mean, rtol=1e-5, atol=1e-7)
        # The new mean depends on x, too.
        expected = 2 * (values - old) + mean + 0.5 / 3 * values.sum(0)
        np.testing.assert_allclose(slope.asnumpy(), expected, rtol=1e-4, atol=1e-6)


OPERATORS = {
    "alias": lambda y, z: [y, (y := operator.iadd(y, z))][0],
    "row": lambda y, z: (y.__setitem__(0, operator.imul(y[0], 3.0)), y)[1],
    "view": lambda y, z: (operator.isub(y[1], z[0]), y)[1],
    "nested view": lambda y, z: (operator.itruediv(y[1:][0], 2.0), y)[1],
    "transposed": lambda y, z: (operator.iadd(y.swapaxes(0, 1)[1], 2.0), y)[1],
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_write_to_their_left_operand(name):
    def numpy(v):
        y, z = v * 2, v + 1
        return np.sum(OPERATORS[name](y, z) * y)

    class Net(nn.Module):
        def forward(self, x):
            y, z = x * 2, x + 1
            return (OPERATORS[name](y, z) * y).sum()

    values = VALUES[0].astype("f8")[:, :3]
    x, expected = dpnp.asarray(values.astype("f4")), numpy(values)
    slope = np.zeros_like(values)
    for place in np.ndindex(values.shape):
        step = np.zeros_like(values)
        step[place] = 1e-6
        slope[place] = (numpy(values + step) - numpy(values - step)) / 2e-6
    net = Net()
    plain = lambda x: (OPERATORS[name](y := x * 2, x + 1) * y).sum()  # noqa: E731
    for function in (net, lambda x: net(x), plain):
        gradient = sycl_dnn.value_and_grad(function)
        for way in (gradient, sycl_dnn.compile(gradient)):
            for _ in range(2):
                value, found = way(x)
                assert float(value) == pytest.approx(expected, rel=1e-4)
                np.testing.assert_allclose(found.asnumpy(), slope, rtol=1e-3, atol=1e-4)


def test_results_that_are_the_input_itself_are_apart():
    class Net(nn.Module):
        def forward(self, x):
            y = x * 1.0
            z = F.pad(y, (0, 0))
            z += 1
            return y, z

    for call in (Net(), sycl_dnn.compile(lambda x: Net()(x))):
        y, z = call(F.ones(2))
        assert (y.tolist(), z.tolist()) == ([1, 1], [2, 2])


def test_writes_after_flatten_do_not_need_its_argument():
    class Net(nn.Module):
        def forward(self, x):
            y = F.relu(F.flatten(x * 1.0, 1), inplace=True)
            y = y.reshape(-1)
            y -= 1
            return y

    for _ in range(2):
        assert Net()(F.full((1, 2, 2), 3.0)).tolist() == [2, 2, 2, 2]


def test_a_repeated_view_is_not_written():
    class Net(nn.Module):
        def forward(self, x):
            y = x * 1.0
            z = y.expand(3, 2)
            z += 1
            return y

    with pytest.raises(RuntimeError, match=r"\+=: more than one element .* is a single one"):
        Net()(F.ones(1, 2))


def test_in_place_random_numbers_equal_those_of_the_functions():
    x = F.ones(100, 50)
    calls = {
        "bernoulli_": (lambda x, y: x.new_empty(x.shape).bernoulli_(0.3), 0.3, 0.21),
        "normal_": (lambda x, y: x.normal_(2.0, 3.0), 2.0, 9.0),
        "uniform_": (lambda x, y: x.uniform_(-1, 1), 0.0, 1 / 3),
    }
    for name, (call, mean, variance) in calls.items():
        net = Net(call)
        first, again = (dpnp.asnumpy(net(x, x)) for _ in range(2))
        assert (first != again).any(), name
        assert abs(first.mean() - mean) < 5 * (variance / first.size) ** 0.5, name
        assert abs(first.var() - variance) < 0.1 * variance, name


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x, y: x.add_(x.new_ones(2, 3, 4)), ValueError, r"add_\(\): the result must have"),
        (lambda x, y: x.long().mul_(0.5), TypeError, "must have dtype int64, got float32"),
    ],
)
def test_results_of_another_shape_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        Net(call)(*(dpnp.asarray(v) for v in VALUES))


def test_new_arrays_in_init():
    class Made(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(F.ones(2, 3))
            self.register_buffer("zeros", self.weight.new_zeros(3))
            self.register_buffer("full", self.weight.new_full((2,), 7, dtype="int64"))

    result = Made()
    assert result.zeros.tolist() == [0, 0, 0]
    assert result.full.tolist() == [7, 7]
    assert result.full.dtype == np.int64


@pytest.mark.parametrize("name", ["+=", "=", "method", "slice"])
def test_gradients_do_not_see_writes_to_data_of_values(name):
    class Net(nn.Module):
        def forward(self, x):
            y = x * 3
            if name == "+=":
                y.data += 1
            elif name == "=":
                y.data = x * 3 + 1
            elif name == "method":
                y.data.add_(1)
            else:
                y.data[:] = x * 3 + 1
            return (y * x).sum()

    x = F.asarray(np.array([1.0, 2.0, -4.0], "f4"))
    differentiated = sycl_dnn.value_and_grad(Net())
    for function in (differentiated, sycl_dnn.compile(differentiated)):
        value, gradient = function(x)
        assert float(value) == 3 * 21 - 1
        assert gradient.tolist() == [3 + 4, 6 + 7, -12 - 11]  # of 3 x times x, and y itself

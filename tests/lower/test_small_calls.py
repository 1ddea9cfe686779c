# SPDX-License-Identifier: Apache-2.0
"""Small primitives of eager calls and of both passes of ``vjp``, which the host computes."""

import dpctl
import dpnp
import numpy as np
import pytest
from host_steps import assert_near, numbers
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import _core, nn, tree
from sycl_dnn import functional as F

pytestmark = pytest.mark.cpu  # host work is for CPUs


@pytest.fixture
def drawn(queue):
    """Return a function that makes arrays of a shape, the same in each run."""
    rng = np.random.default_rng(5)
    return lambda *shape: dpnp.asarray(rng.normal(size=shape).astype("f4"), sycl_queue=queue)


def _compare(call, tolerance=2e-6):
    """Compare a call with that of oneDNN's primitives."""
    with sycl_dnn.kernel_mode("never"):
        expected = call()
    for _ in range(3):  # the last one without Python
        assert_near(call(), expected, tolerance)


def _implementations(call):
    call()
    with sycl_dnn.profile() as profile:
        call()
    return {r.implementation.partition("+")[0] for r in profile.records if r.kind == "primitive"}


def _opens_a_lane(call):
    """Whether a repeated call submits a host task rather than compute in this thread."""
    call()
    call()
    before, _ = _core.host_lane()
    call()
    return _core.host_lane()[0] > before


CALLS = {
    "linear": lambda a: lambda: F.linear(a(7, 5), a(6, 5), a(6)),
    "linear of one": lambda a: lambda: F.linear(a(1, 1), a(1, 1), a(1)),
    "linear of many axes": lambda a: lambda: F.linear(a(2, 3, 4, 5), a(6, 5)),
    "matmul": lambda a: lambda: F.matmul(a(7, 5), a(5, 6)),
    "batches": lambda a: lambda: F.matmul(a(3, 1, 7, 5), a(2, 5, 6)),
    "one row": lambda a: lambda: F.matmul(a(5), a(5, 6)),
    "conv1d": lambda a: lambda: F.conv1d(a(2, 3, 12), a(4, 3, 3), a(4), stride=2, padding=2),
    "conv2d": lambda a: lambda: F.conv2d(a(2, 3, 9, 8), a(17, 3, 3, 2), a(17), padding=(1, 0)),
    "conv2d in rows": lambda a: lambda: F.conv2d(a(1, 4, 5, 5), a(6, 4, 1, 1)),
    "depthwise": lambda a: lambda: F.conv2d(a(2, 8, 7, 6), a(8, 1, 3, 3), groups=8, dilation=2),
    "max_pool2d": lambda a: lambda: F.max_pool2d(a(2, 3, 9, 8), 3, 2, 1),
    "layer_norm": lambda a: lambda: F.layer_norm(a(4, 6, 9), (9,), a(9), a(9)),
    "tanh": lambda a: lambda: F.tanh(a(40, 33)),
    "sigmoid": lambda a: lambda: F.sigmoid(a(40, 33)),
}


def _fixed(drawn):
    """Return a function that makes an array of each shape once."""
    arrays = {}
    return lambda *shape: arrays.setdefault(shape, drawn(*shape))


@pytest.mark.parametrize("name", CALLS)
def test_calls_have_the_values_of_primitives(name, drawn):
    call = CALLS[name](_fixed(drawn))
    _compare(call)
    assert _implementations(call) == {"host"}
    assert not _opens_a_lane(call)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32"])
def test_other_dtypes_are_left_to_others(dtype, drawn):
    x, w = (F.astype(drawn(*shape) * 4, dtype) for shape in ((7, 5), (6, 5)))
    _compare(lambda: F.linear(x, w), tolerance=1e-2 if "float16" in dtype else 2e-6)


LAYOUTS = {
    "transposed": lambda x: dpnp.asarray(x.T.copy()).T,
    "part": lambda x: dpnp.concatenate([x, x], axis=1)[:, : x.shape[1]],
    "every other": lambda x: dpnp.repeat(x, 2, 0)[::2],
    "reversed": lambda x: dpnp.flip(dpnp.flip(x, 0).copy(), 0),
    "repeated": lambda x: dpnp.broadcast_to(x[:1], x.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_operands(layout, drawn):
    arranged = LAYOUTS[layout]
    x, w, image = arranged(drawn(8, 6)), arranged(drawn(5, 6)), drawn(2, 3, 8, 7)
    _compare(lambda: (F.linear(x, w), F.matmul(w, F.transpose(x, 0, 1))))
    _compare(lambda: (F.layer_norm(x, (6,)), F.tanh(x), F.softmax(x, 1)))
    weights = dpnp.asarray(arranged(drawn(4, 27)).reshape(4, 3, 3, 3))
    _compare(lambda: F.conv2d(dpnp.moveaxis(dpnp.moveaxis(image, 1, -1).copy(), -1, 1), weights))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("widths", [(37, 37), (21, 7000), (3, 1, 50)])
def test_concatenations_are_copies_of_bytes(widths, axis, dtype, drawn):
    shapes = [tuple(n if a == axis else 5 for a in range(3)) for n in widths]
    parts = [F.astype(drawn(*shape), dtype) for shape in shapes]
    expected = np.concatenate([numbers(part)[0] for part in parts], axis)
    for _ in range(3):
        np.testing.assert_array_equal(numbers(F.cat(parts, axis))[0], expected)
    if min(shapes[0][axis:]) > 20:
        assert _implementations(lambda: F.cat(parts, axis)) == {"host"}


def test_large_calls_are_left_to_onednn(drawn):
    x, w = drawn(300, 300), drawn(300, 300)
    assert "host" not in _implementations(lambda: F.linear(x, w))
    assert "host" not in _implementations(lambda: F.layer_norm(x, (300,)))


def test_nan_and_infinities_remain(drawn):
    x, eye = drawn(4, 4), dpnp.eye(4, dtype="f4", sycl_queue=drawn(1).sycl_queue)
    x[0], x[1, 1] = np.nan, np.inf
    assert np.isnan(numbers(F.linear(x, eye))[0][0]).all()
    assert np.isnan(numbers(F.layer_norm(x, (4,)))[0][:2]).all()
    assert np.isnan(numbers(F.tanh(dpnp.tile(x, (40, 4))))[0][0]).all()


@pytest.mark.parametrize("places", ["result", "source", "weights", "part"])
def test_results_in_memory_of_arguments(places, drawn):
    whole, w = drawn(6, 8), drawn(8, 8)
    x = whole[:, :8]
    out = {"result": drawn(6, 8), "source": x, "weights": w[:6], "part": whole}[places]
    x_, w_ = dpnp.asnumpy(x), dpnp.asnumpy(w)
    F.linear(x, w, out=out)
    np.testing.assert_allclose(dpnp.asnumpy(out), x_ @ w_.T, 0, 1e-5)
    before = dpnp.asnumpy(out)
    F.layer_norm(out, (8,), out=out)
    expected = (before - before.mean(1, keepdims=True)) / np.sqrt(
        before.var(1, keepdims=True) + 1e-5
    )
    np.testing.assert_allclose(dpnp.asnumpy(out), expected, 0, 1e-5)


@pytest.mark.parametrize("name", ["linear", "conv2d", "conv1d", "depthwise"])
def test_frozen_weights_are_packed_once(name, drawn):
    arrays = _fixed(drawn)
    CALLS[name](arrays)()
    frozen = {}

    def array(*shape):
        is_weight = (
            name == "linear" and shape[0] == 6 or name != "linear" and shape[0] in (4, 8, 17)
        )
        value = arrays(*shape)
        if is_weight and len(shape) > 1:
            return frozen.setdefault(shape, sycl_dnn.freeze(value))
        return value

    _compare(CALLS[name](array))
    assert frozen
    assert _implementations(CALLS[name](array)) == {"host"}


# --- Both passes of gradients


def _mlp(x, layers, activation):
    for w, b in layers[:-1]:
        x = activation(F.linear(x, w, b))
    return F.linear(x, *layers[-1])


@pytest.mark.parametrize("activation", [F.tanh, F.relu, F.sigmoid, F.gelu, F.silu])
@pytest.mark.parametrize("sizes", [(4, 16, 16, 1), (1, 1), (3, 40, 2)])
def test_gradients_of_networks(activation, sizes, drawn):
    layers = [(drawn(n, k) / k**0.5, drawn(n)) for k, n in zip(sizes, sizes[1:], strict=False)]
    x, y = drawn(33, sizes[0]), drawn(33, sizes[-1])
    step = sycl_dnn.value_and_grad(lambda layers: F.mse_loss(_mlp(x, layers, activation), y))
    _compare(lambda: step(layers), tolerance=1e-5)
    if activation not in (F.gelu, F.silu):  # larger kernels, which are compiled
        assert _implementations(lambda: step(layers)) <= {"host", "interpreted"}
        assert not _opens_a_lane(lambda: step(layers))


def test_gradients_of_modules(drawn):
    net = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 3))
    x = drawn(9, 6)
    net, classes = net.to(x.sycl_queue), dpnp.asarray(np.arange(9) % 3, sycl_queue=x.sycl_queue)
    step = sycl_dnn.value_and_grad(lambda net: F.cross_entropy(net(x), classes))
    _compare(lambda: step(net), tolerance=1e-5)
    value, gradients = step(net)
    assert type(gradients) is nn.Sequential
    compiled = sycl_dnn.compile(sycl_dnn.value_and_grad(
        lambda net: F.cross_entropy(net(x), classes)
    ))  # fmt: skip
    for result, expected in zip(numbers((value, gradients)), numbers(compiled(net)), strict=True):
        np.testing.assert_allclose(result, expected, 1e-4, 1e-5)


def test_gradients_of_images(drawn):
    image, w, gain = drawn(2, 3, 8, 8), drawn(4, 3, 3, 3), drawn(4)

    def loss(image, w, gain):
        y = F.max_pool2d(F.relu(F.conv2d(image, w, gain, padding=1)), 2)
        return (F.adaptive_avg_pool2d(y, 1) ** 2).sum()

    _compare(lambda: sycl_dnn.value_and_grad(loss, (0, 1, 2))(image, w, gain), tolerance=1e-5)


def test_second_derivatives(drawn):
    x, w = drawn(3, 4), drawn(4, 4)

    def slope(x, w):
        return (sycl_dnn.grad(lambda x: F.tanh(F.linear(x, w)).sum())(x) ** 2).sum()

    _compare(lambda: sycl_dnn.value_and_grad(slope, (0, 1))(x, w), tolerance=1e-5)


def test_arrays_that_a_function_captures_are_read_in_each_call(drawn):
    x, w = drawn(5, 4), drawn(4, 4)
    gradient = sycl_dnn.grad(lambda x: F.linear(F.tanh(F.linear(x, w)), w).sum())
    for scale in (1, 2, 3):
        w[:] = w * scale
        w_, x_ = dpnp.asnumpy(w).astype("f8"), dpnp.asnumpy(x).astype("f8")
        inner = w_.sum(0) * (1 - np.tanh(x_ @ w_.T) ** 2)
        np.testing.assert_allclose(dpnp.asnumpy(gradient(x)), inner @ w_, 1e-3, 1e-4)


def test_updated_buffers(drawn):
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    x = drawn(8, 4)
    net = net.to(x.sycl_queue)
    twin = tree.map(lambda v: v.copy() if hasattr(v, "copy") else v, net)
    for _ in range(3):
        for module, mode in ((net, "auto"), (twin, "never")):
            with sycl_dnn.kernel_mode(mode):
                sycl_dnn.grad(lambda net: (net(x) ** 2).sum())(module)
    for value, expected in zip(numbers(net), numbers(twin), strict=True):
        np.testing.assert_allclose(value, expected, 1e-5, 1e-6)


# --- Other work


def test_pending_work_is_awaited(drawn):
    big, w = drawn(600, 600), drawn(4, 8)
    expected = (dpnp.asnumpy(big) @ dpnp.asnumpy(big))[:6, :8] @ dpnp.asnumpy(w).T
    for i in range(20):
        product = F.matmul(big, big) if i % 2 else dpnp.matmul(big, big)
        result = F.linear(product[:6, :8], w)
        product *= 0  # the result has been read before
        np.testing.assert_allclose(dpnp.asnumpy(result), expected, 1e-3, 1e-2)


def test_queues_in_order(drawn):
    queue = dpctl.SyclQueue("cpu", property="in_order")
    x, w = (dpnp.asarray(dpnp.asnumpy(drawn(8, 8)), sycl_queue=queue) for _ in range(2))
    step = sycl_dnn.value_and_grad(lambda x: (F.tanh(F.linear(F.exp(x / 9), w)) ** 2).sum())
    _compare(lambda: (F.linear(dpnp.matmul(x, x), w), F.layer_norm(x, (8,)), step(x)), 1e-5)


def test_threads_share_calls(drawn):
    w = drawn(16, 16) / 4
    xs = [drawn(8, 16) for _ in range(4)]
    step = sycl_dnn.value_and_grad(lambda x: (F.tanh(F.linear(x, w)) ** 2).sum())
    expected = [numbers((F.linear(x, w), step(x))) for x in xs]

    def work(number):
        for i in range(60):
            at = (number + i) % 4
            results = numbers((F.linear(xs[at], w), step(xs[at])))
            for result, value in zip(results, expected[at], strict=True):
                np.testing.assert_array_equal(result, value)

    in_threads(4, work)

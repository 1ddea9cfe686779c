# SPDX-License-Identifier: Apache-2.0
"""Every kernel and each of its operands, as every kind of view, in every way to call."""

import dpnp
import numpy as np
import pytest
from kernel_cases import host

import sycl_dnn
from sycl_dnn import functional as F

#: By name: how an array of these values is viewed as part of a larger one.
VIEWS = {
    "strided": lambda a, q: _larger(a, q)[(slice(None, None, 2),) * a.ndim],
    "offset": lambda a, q: _put(np.concatenate([np.full((3, *a.shape[1:]), 7.0), a]), q)[3:],
    "negative": lambda a, q: _put(a[::-1], q)[::-1],
    "column": lambda a, q: _put(np.stack([0 * a, a, 0 * a], -1), q)[..., 1],
    "transposed": lambda a, q: dpnp.transpose(_put(a.T, q)),
    "channels_last": lambda a, q: dpnp.moveaxis(_put(np.moveaxis(a, 1, -1), q), -1, 1),
    "expanded": lambda a, q: dpnp.broadcast_to(_put(a.ravel()[:1], q), a.shape),
}
OF_VECTORS = ["strided", "offset", "negative", "column", "expanded"]


def _put(values, queue):
    return dpnp.asarray(np.ascontiguousarray(values, np.float32), sycl_queue=queue)


def _larger(a, queue):
    whole = np.full([2 * s for s in a.shape], 7.0)
    whole[(slice(None, None, 2),) * a.ndim] = a
    return _put(whole, queue)


#: Name, function of an image (N, C, H, W) and vectors (C,), number of vectors.
FUNCTIONS = [
    ("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), 2),
    ("batch_norm_of_weight", lambda x, w: F.batch_norm(x, None, None, w, training=True), 1),
    ("given_batch_norm", lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b), 4),
    ("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), 2),
    ("instance_norm", lambda x, w, b: F.instance_norm(x, None, None, w, b), 2),
    ("prelu", lambda x, w: F.prelu(x, w), 1),
    ("relu", lambda x: F.relu(x), 0),
    ("silu", lambda x: F.silu(x), 0),
    ("average", lambda x: F.adaptive_avg_pool2d(x, 1), 0),
    ("sums", lambda x: F.sum(x, (2, 3)), 0),
    ("softmax_of_channels", lambda x: F.softmax(x, 1), 0),
    ("log_softmax", lambda x: F.log_softmax(x, -1), 0),
    ("softmax_of_rows", lambda x: F.softmax(F.reshape(x, (6, 48)), -1), 0),
    ("max_pool", lambda x: F.max_pool2d(x, 2), 0),
    ("interpolate", lambda x: F.interpolate(x, (5, 7), mode="bilinear"), 0),
    ("taken", lambda x: F.index_select(x, 1, dpnp.arange(1, 4, sycl_queue=x.sycl_queue)), 0),
]


def _cases():
    for name, _, n_vectors in FUNCTIONS:
        yield from ((name, "row_major", 0, view) for view in VIEWS)
        for layout in ("row_major", "channels_last"):
            for i in range(n_vectors):
                yield from ((name, layout, 1 + i, view) for view in OF_VECTORS)


def _operands(n_vectors, layout, place, view, queue):
    """Return the operands, dense, and the same with one of them as a view."""
    rng = np.random.default_rng(1)
    values = [rng.standard_normal((2, 8, 3, 6))]
    values += [rng.uniform(0.5, 2.0, 8) for _ in range(n_vectors)]
    if view == "expanded":
        values[place] = np.full_like(values[place], values[place].flat[0])
    dense = [_put(v, queue) for v in values]
    viewed = list(dense)
    if layout == "channels_last":
        viewed[0] = VIEWS[layout](values[0], queue)
    viewed[place] = VIEWS[view](values[place], queue)
    assert np.array_equal(viewed[place].asnumpy(), dense[place].asnumpy())
    return dense, viewed


def _weighted(function):
    """Return a loss whose gradient differs for each element."""

    def loss(*arrays):
        y = function(*arrays)
        return F.sum(F.mul(y, F.cos(F.reshape(F.arange(y.size), y.shape))))

    return loss


def _weights_of(value):
    numbers = np.cos(np.arange(value.size)).reshape(value.shape)
    return _put(numbers, value.sycl_queue)


def _vjp(function, arrays):
    value, pullback = sycl_dnn.vjp(function, *arrays)
    return [value, *pullback(_weights_of(value))]


def _slopes(function, arrays):
    return sycl_dnn.grad(_weighted(function), argnums=tuple(range(len(arrays))))


#: What returns the value, all gradients, or both, by way to call.
WAYS = {
    "eager": lambda f, a: [f(*a)],
    "compile": lambda f, a: [sycl_dnn.compile(f)(*a)],
    "plan": lambda f, a: [sycl_dnn.plan(f, *a)()],
    "vjp": _vjp,
    "grad": lambda f, a: [f(*a), *_slopes(f, a)(*a)],
    "compiled grad": lambda f, a: [f(*a), *sycl_dnn.compile(_slopes(f, a))(*a)],
    "compiled vjp": lambda f, a: sycl_dnn.compile(lambda *b: _vjp_inside(f, b))(*a),
}


def _vjp_inside(function, arrays):
    value, pullback = sycl_dnn.vjp(function, *arrays)
    return [value, *pullback(F.cos(F.reshape(F.arange(value.size), value.shape)))]


@pytest.mark.sweep(48)
@pytest.mark.parametrize(("name", "layout", "place", "view"), list(_cases()))
def test_views_of_operands(queue, name, layout, place, view):
    _, function, n_vectors = next(row for row in FUNCTIONS if row[0] == name)
    dense, viewed = _operands(n_vectors, layout, place, view, queue)
    with sycl_dnn.kernel_mode("never"):
        expected = [host(a) for a in _vjp(function, dense)]
    for mode, ways in (("always", WAYS), ("never", ("vjp", "compiled grad"))):
        for way in ways:
            with sycl_dnn.kernel_mode(mode):
                result = WAYS[way](function, viewed)
            assert len(result) in (1, len(expected))
            for number, (mine, other) in enumerate(zip(result, expected, strict=False)):
                _check(mine, other, (mode, way, number))


def _check(mine, other, which):
    assert np.abs(host(mine) - other).max() < 2e-4 * max(np.abs(other).max(), 1), which

# SPDX-License-Identifier: Apache-2.0
"""``vmap``: axes, trees, nesting, gradients, writes, refusals. Its functions: test_mapped.py."""

import dpnp
import numpy as np
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, vmap
from sycl_dnn.nn import torch_names


@pytest.fixture
def x(queue):
    return dpnp.asarray(np.arange(12, dtype="f4").reshape(3, 4) / 7 - 0.8, sycl_queue=queue)


def _near(actual, expected):
    np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=2e-5, atol=2e-6)


def _each(function, *arrays):
    return np.stack([dpnp.asnumpy(function(*rows)) for rows in zip(*arrays, strict=True)])


def test_axes_of_arguments_and_results(x):
    weights = dpnp.arange(4, dtype="f4", sycl_queue=x.sycl_queue)
    expected = dpnp.asnumpy(x * weights)
    _near(vmap(lambda a, b: a * b, (0, None))(x, weights), expected)
    _near(vmap(lambda a, b: a * b, (-1, None))(x.T, weights), expected)
    _near(vmap(lambda a: a * weights, out_axes=1)(x), expected.T)
    _near(vmap(lambda a: a * weights, out_axes=-1)(x), expected.T)
    same, each = vmap(lambda a: (weights + 1, a), out_axes=(None, 0))(x)
    _near(same, dpnp.asnumpy(weights + 1))
    _near(each, dpnp.asnumpy(x))
    _near(vmap(lambda a: weights * 1)(x), np.stack([dpnp.asnumpy(weights)] * 3))


def test_trees(x):
    def f(values, scale):
        return {"y": values["a"] * scale + values["b"][0]}

    result = vmap(f, ({"a": 0, "b": None}, None))({"a": x, "b": (x[0],)}, 2.0)
    _near(result["y"], dpnp.asnumpy(x * 2 + x[0]))
    _near(vmap(f, (0, None))({"a": x, "b": (x,)}, 2.0)["y"], dpnp.asnumpy(x * 2 + x))


def test_nested_and_named_arguments(x):
    outer = vmap(vmap(lambda a, b, c: a * b + c, (None, 0, None)), (0, None, None))
    a = dpnp.asnumpy(x)
    _near(outer(x[:, 0], x[:, 1], x[0, 0]), a[:, 0][:, None] * a[:, 1] + a[0, 0])
    matrix = vmap(lambda row: vmap(lambda v, other: v - other, (0, None))(row, row[0]))(x)
    _near(matrix, a - a[:, :1])
    _near(vmap(lambda row, *, bias: row + bias)(x, bias=x[0]), a + a[0])


def test_gradients_of_samples_and_of_all(x):
    w = dpnp.asarray(np.linspace(-1, 1, 20, dtype="f4").reshape(4, 5), sycl_queue=x.sycl_queue)

    def loss(w, row):
        return (F.tanh(row @ w) ** 2).sum()

    each = _each(lambda row: sycl_dnn.grad(loss)(w, row), x)
    _near(vmap(sycl_dnn.grad(loss), (None, 0))(w, x), each)
    _near(vmap(lambda row: sycl_dnn.grad(lambda w: loss(w, row))(w))(x), each)
    _near(vmap(lambda row: sycl_dnn.grad(lambda v: loss(v, row))(w * 1))(x), each)
    _near(sycl_dnn.grad(lambda w: vmap(loss, (None, 0))(w, x).sum())(w), each.sum(0))
    _near(sycl_dnn.grad(lambda w: vmap(lambda row: loss(w, row))(x).sum())(w), each.sum(0))
    values, gradients = vmap(sycl_dnn.value_and_grad(loss), (None, 0))(w, x)
    _near(values, _each(lambda row: loss(w, row), x))
    _near(gradients, each)


@pytest.mark.parametrize("order", ["vjp", "jvp", "hvp", "jacobian", "hessian"])
def test_transforms_of_samples(x, order):
    def f(row):
        return F.sin(row * row[0]).sum() if order in ("hvp", "hessian") else F.sin(row * row[0])

    def derivative(row):
        if order == "vjp":
            return sycl_dnn.vjp(f, row)[1](row)[0]
        if order == "jvp":
            return sycl_dnn.jvp(f, (row,), (row,))[1]
        if order == "hvp":
            return sycl_dnn.hvp(f, (row,), (row,))[1][0]
        return getattr(sycl_dnn, order)(f)(row)

    _near(vmap(derivative)(x), _each(derivative, x))


def test_rows_of_jacobians_are_mapped_pullbacks(x):
    def jacobian(row):
        _, pullback = sycl_dnn.vjp(lambda v: F.cumsum(v * v, 0), row)
        return vmap(lambda dy: pullback(dy)[0])(F.eye(4))

    rows = 2 * np.tril(np.ones((4, 4), "f4")) * dpnp.asnumpy(x)[:, None]
    _near(sycl_dnn.compile(jacobian)(x[1]), rows[1])
    for mapped in (vmap(jacobian), sycl_dnn.compile(vmap(jacobian))):
        _near(mapped(x), rows)


def test_modules(x):
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).to(x.sycl_queue)
    _near(vmap(net)(x), dpnp.asnumpy(net(x)))

    def loss(net, row):
        return (net(row) ** 2).sum()

    gradients = vmap(sycl_dnn.grad(loss), (None, 0))(net, x)
    for i in range(3):
        of_sample = sycl_dnn.tree.leaves(sycl_dnn.grad(loss)(net, x[i]))
        for batch, gradient in zip(sycl_dnn.tree.leaves(gradients), of_sample, strict=True):
            _near(batch[i], dpnp.asnumpy(gradient))
    nets = [nn.Linear(4, 2).to(x.sycl_queue) for _ in range(3)]
    stacked = sycl_dnn.tree.map(lambda *parts: F.stack(list(parts)), *nets)
    _near(
        vmap(lambda net, row: net(row))(stacked, x),
        _each(lambda i: nets[int(i)](x[int(i)]), np.arange(3)),
    )


def test_weights_of_samples(x):
    weights = F.stack([x, x * 2, x + 1])
    _near(vmap(F.linear)(x, weights), _each(F.linear, x, weights))
    _near(vmap(F.linear)(x, weights, x[:, :3]), _each(F.linear, x, weights, x[:, :3]))
    _near(vmap(F.linear, (None, 0))(x, x), _each(lambda w: F.linear(x, w), x))
    images = F.reshape(F.cat([x] * 8), (3, 2, 4, 4))
    kernels = F.reshape(F.cat([x] * 3), (3, 3, 2, 2, 1))

    def convolved(image, kernel):
        return F.conv2d(F.unsqueeze(image, 0), kernel, padding=1)

    _near(vmap(convolved)(images, kernels), _each(convolved, images, kernels))


def test_laplacian_of_a_network(x):
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to(x.sycl_queue)

    def laplacian(point):
        return F.trace(sycl_dnn.hessian(lambda p: net(p)[0])(point))

    expected = _each(laplacian, x)
    _near(vmap(laplacian)(x), expected)
    _near(sycl_dnn.compile(vmap(laplacian))(x), expected)


def test_compiled_and_planned(x):
    mapped = vmap(lambda row: F.softmax(row, 0) * row.max())
    expected = dpnp.asnumpy(mapped(x))
    _near(sycl_dnn.compile(mapped)(x), expected)
    _near(sycl_dnn.plan(mapped, x)(), expected)
    _near(vmap(sycl_dnn.compile(lambda row: F.softmax(row, 0) * row.max()))(x), expected)


@pytest.mark.parametrize("dtypes", ["i1 u1", "u1 i1", "f2 f4", "i4 f4", "? i8", "i1 i8"])
def test_samples_without_axes_are_promoted_as_samples(dtypes, queue):
    first, second = dtypes.split()
    a, b, c = (
        dpnp.asarray(v, dtype=t, sycl_queue=queue)
        for v, t in (([3, 4, 2], first), ([[5, 2], [3, 7], [1, 9]], second), (100, second))
    )
    a = -a if first == "i1" else a
    for f in (F.add, F.mul, F.lt, F.remainder, F.div, F.maximum, F.atan2,
              lambda p, q: F.where(F.gt(q, 2), p, q)):  # fmt: skip
        for other, axis in ((b, 0), (b[0], None), (c, None), (b[:, 0], 0)):
            rows = other if axis == 0 else [other] * 3
            expected = [f(p, q) for p, q in zip(a, rows, strict=True)]
            actual = vmap(f, (0, axis))(a, other)
            assert actual.dtype == expected[0].dtype
            _near(actual, np.stack([dpnp.asnumpy(row) for row in expected]))


def test_indices_and_writes(x):
    places = dpnp.asarray(np.array([[0, 2], [1, 1], [3, 0]]), sycl_queue=x.sycl_queue)

    def f(row, index):
        y = F.zeros_like(row)
        y[index] = row[:2]
        y[1:] += row[index[0]]
        y *= 2
        return y

    _near(vmap(f)(x, places), _each(lambda *a: sycl_dnn.vjp(f, *a)[0], x, places))
    _near(vmap(lambda row: row[np.array([2, 0])])(x), dpnp.asnumpy(x)[:, [2, 0]])
    _near(vmap(lambda row: row[None, ::-1])(x), dpnp.asnumpy(x)[:, None, ::-1])
    _near(vmap(_without_negatives)(x), np.maximum(dpnp.asnumpy(x), 0))
    target = x.copy()
    vmap(lambda row: row.__imul__(3))(target)
    _near(target, dpnp.asnumpy(x) * 3)


@pytest.mark.parametrize(
    "view",
    [
        lambda v: v.T, lambda v: v.mT, lambda v: F.movedim(v, source=0, destination=1),
        lambda v: F.permute(v, range(2)), lambda v: F.diagonal(v),
        lambda v: F.unflatten(v, 0, (2, 1)),
    ],
)  # fmt: skip
def test_views_of_samples_see_writes(x, view):
    def f(row):
        matrix = F.reshape(row * 1, (2, 2)) * 1
        part = view(matrix)
        part[0] *= 5
        matrix += 1
        return matrix, part

    for found, expected in zip(
        vmap(f)(x), zip(*(sycl_dnn.vjp(f, row)[0] for row in x), strict=True), strict=True
    ):
        _near(found, dpnp.asnumpy(F.stack(list(expected))))
    assert dpnp.asnumpy(vmap(f)(x)[0][0, 0, 0]) == 5 * dpnp.asnumpy(x)[0, 0] + 1


@pytest.mark.parametrize(
    "view",
    [
        lambda v: F.transpose(v, 0, -1),
        lambda v: F.swapaxes(v, 0, 0),
        lambda v: F.movedim(v, -1, 0),
        lambda v: F.squeeze(v, 0),
    ],
    ids=["transpose", "swapaxes", "movedim", "squeeze"],
)
def test_views_of_numbers_are_the_numbers(x, view):
    def doubled(value):
        value = value * 2
        view(value)[...] = value + 1
        return value

    _near(vmap(doubled)(x[0]), dpnp.asnumpy(x[0] * 2 + 1))
    _near(vmap(view)(x[0]), dpnp.asnumpy(x[0]))
    with pytest.raises((ValueError, IndexError)):
        vmap(lambda v: F.transpose(v, 0, 1))(x[0])


def test_arrays_without_axes_do_not_widen(x):
    scales = dpnp.asarray(np.array([1, 2, 3], "f4"), sycl_queue=x.sycl_queue)
    result = vmap(lambda row, scale: F.astype(row, "float16") * scale)(x, scales)
    assert result.dtype == np.float16
    _near(result, (dpnp.asnumpy(x).astype("f2") * np.array([[1], [2], [3]], "f2")))


def test_arrays_are_filled_by_values_of_samples(x):
    values = dpnp.asarray(np.array([1.0, 2.0, 3.0], "f4"), sycl_queue=x.sycl_queue)
    filled = vmap(lambda row, v: F.masked_fill(row, row > 0, v))(x, values)
    whole = dpnp.asnumpy(x)
    _near(filled, np.where(whole > 0, [[1.0], [2.0], [3.0]], whole))


def test_masks_of_samples_without_axes_stay_masks(x):
    def filled(value, other):
        return F.masked_fill(value, F.logical_or(value > other, other < -1), -5.0)

    first, second = x[:, 0], x[:, 1]
    _near(vmap(filled)(first, second), dpnp.asnumpy(filled(first, second)))
    gradients = vmap(sycl_dnn.grad(lambda v, o: F.sum(filled(v, o))))(first, second)
    _near(gradients, dpnp.asnumpy(filled(first, second)) != -5)
    _near(vmap(filled, (None, 0))(x, second), _each(lambda o: filled(x, o), second))


def test_arguments_by_name_come_in_any_order(x):
    w = F.randn(3, 4, 2, device=x.device)
    _near(vmap(lambda a, b: F.matmul(other=b, input=a))(x, w), _each(F.matmul, x, w))
    _near(vmap(lambda a: F.softmax(dim=0, input=a))(x), dpnp.asnumpy(F.softmax(x, 1)))
    with pytest.raises(TypeError, match="positional"):
        vmap(lambda a: F.exp(a, 1, 2))(x)


def test_no_axes_are_not_all_of_the_batch(x):
    for function in (F.sum, F.all, F.amax, F.std):
        for none in ((), []):
            _near(vmap(lambda a: function(a, none))(x), _each(lambda a: function(a, none), x))  # noqa: B023
    ones = F.zeros(300, 1, 2, device=x.device)
    assert vmap(F.squeeze)(ones).shape == (300, 2)


def test_other_axes_never_reach_the_batch(x):
    for wrong in (1, -2):
        with pytest.raises((ValueError, IndexError)):
            vmap(lambda row: F.softmax(row, wrong))(x)  # noqa: B023
        with pytest.raises((ValueError, IndexError)):
            vmap(lambda row: F.sum(row, wrong))(x)  # noqa: B023
    assert vmap(lambda row: F.squeeze(F.unsqueeze(row, 0)))(x[:1]).shape == (1, 4)
    assert vmap(lambda row: row.reshape(2, -1))(x).shape == (3, 2, 2)
    assert vmap(lambda v: F.softmax(v, 0))(x[:, 0]).tolist() == [1.0, 1.0, 1.0]
    assert vmap(lambda row: row.sum())(x[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("draw", "count"),
    [
        (lambda row: F.dropout(row, 0.5), 4), (lambda row: F.bernoulli(row * 0.5), 4),
        (lambda row: F.rand_like(row), 4), (lambda row: F.randn_like(row), 4),
        (lambda row: F.rrelu(-row, training=True), 4), (lambda row: F.multinomial(row, 32), 4),
        (lambda row: F.gumbel_softmax(row, dim=0), 4),
        (lambda row: F.alpha_dropout(row, 0.5, True), 4),
        (lambda row: F.dropout1d(row.reshape(64, 1), 0.5), 4),
        (lambda row: F.dropout2d(row.reshape(1, 64, 1), 0.5), 4),
        (lambda row: F.dropout2d(row.reshape(2, 32, 1, 1), 0.5), 4),
        (lambda row: F.feature_alpha_dropout(row.reshape(1, 64, 1), 0.5, True), 4),
        (lambda row: nn.Dropout(0.5).train()(row), 4),
        (lambda row: row + F.rand(64), 1), (lambda row: F.rand_like(F.ones(64)) + row, 1),
    ],
)  # fmt: skip
@pytest.mark.sweep(3)
def test_random_numbers_of_mapped_arrays_differ(x, draw, count):
    ones = dpnp.ones((4, 64), dtype="f4", sycl_queue=x.sycl_queue)
    rows = dpnp.asnumpy(vmap(draw)(ones))
    assert len({row.tobytes() for row in rows}) == count
    assert not np.array_equal(rows, dpnp.asnumpy(vmap(draw)(ones)))


def test_running_statistics_are_not_those_of_samples(x):
    net = nn.BatchNorm1d(4).to(x.sycl_queue)
    with pytest.raises(TypeError, match="must not be updated by samples of vmap that share them"):
        vmap(lambda row: net(F.stack([row, row * 2])))(x)
    net.eval()
    _near(vmap(lambda row: net(F.unsqueeze(row, 0))[0])(x), dpnp.asnumpy(net(x)))


def test_repeated_calls_follow_their_arguments(x):
    mapped = vmap(lambda row, factor: row * factor.sum(), (0, None))
    for factor in (1.0, 2.0, 5.0):
        _near(mapped(x, F.full_like(x[0], factor)), dpnp.asnumpy(x) * 4 * factor)
    assert mapped(x[:2], x[0]).shape == (2, 4)


def test_threads(x):
    mapped, failures = vmap(lambda row: F.logsumexp(row * row, 0)), []
    expected = dpnp.asnumpy(mapped(x))

    def work(_):
        for _ in range(50):
            if not np.array_equal(dpnp.asnumpy(mapped(x)), expected):
                failures.append(1)

    in_threads(4, work)
    assert not failures


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: vmap(3), TypeError, "function must be callable, got int"),
        (lambda x: vmap(F.relu, None)(x), ValueError, "at least one array"),
        (lambda x: vmap(F.relu, 2)(x), ValueError, r"got 2 for shape \(3, 4\)"),
        (lambda x: vmap(F.relu, "0")(x), TypeError, "an int, None or a tuple, got str"),
        (lambda x: vmap(F.add, (0,))(x, x), ValueError, "got 1 for 2"),
        (lambda x: vmap(F.add)(x, x[:2]), ValueError, r"same size, got \[3, 2\]"),
        (lambda x: vmap(F.relu, ({"a": 0},))(x), ValueError, "in_axes must be .* a tree"),
        (lambda x: vmap(lambda r: r, out_axes=None)(x), ValueError, "out_axes must be the axis"),
        (lambda x: vmap(lambda r: r, out_axes=2)(x), ValueError, r"out_axes must be in \[-2, 2\)"),
        (lambda x: vmap(lambda r: r if r.sum() > 0 else -r)(x), TypeError, "differs along"),
        (lambda x: vmap(lambda r: float(r[0]))(x), TypeError, "differs along the axis"),
        (lambda x: vmap(lambda r: r[r > 0])(x), TypeError, "index: a value differs along"),
        (lambda x: vmap(lambda r: sycl_dnn.vjp(lambda v: v * 2, r)[1](1.0))(x), ValueError,
         "pullback: dy must be an array nested like the result"),
        (lambda x: vmap(_write_to_shared)(x), TypeError, "cannot be written to an array"),
        (lambda x: vmap(lambda r: r.trace())(x), TypeError, r"use diagonal\(\).sum"),
        (lambda x: vmap(_Doubled.apply)(x), RuntimeError, "cannot write to a tensor"),
        (lambda x: vmap(F.histc)(F.cat([x] * 100)), NotImplementedError, "1 to 256, got 300"),
    ],
)  # fmt: skip
def test_refusals(x, call, error, text):
    with pytest.raises(error, match=text):
        call(x)


class _Doubled(torch_names.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(2)


class _Scaled(torch_names.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, n):
        ctx.save_for_backward(x, w)
        return x * w * n

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        return dy * w * x, dy.sum() * torch_names.ones_like(w), None


def _with_rule():
    scaled = sycl_dnn.custom_vjp(lambda x, w, n: x * w * n)
    scaled.defvjp(
        lambda x, w, n: (x * w * n, (x, w)),
        lambda kept, dy: (dy * kept[1] * kept[0], dy.sum() * F.ones_like(kept[1]), None),
    )
    return scaled


@pytest.mark.parametrize("run", [lambda f: f, sycl_dnn.compile], ids=["called", "compiled"])
@pytest.mark.parametrize(
    "scaled",
    [_with_rule(), _Scaled.apply, sycl_dnn.checkpoint(lambda x, w, n: F.sin(x * w) * n)],
    ids=["custom_vjp", "Function", "checkpoint"],
)
def test_rules_of_users_are_mapped(x, scaled, run):
    def loss(row, w):
        return (scaled(row, w, 2.0) ** 2).sum()

    def by_rows(function):
        return lambda x, w: [F.stack(v) for v in zip(*map(function, x, [w] * 3), strict=True)]

    def squares(mapped):
        return lambda x, w: sum((v**2).sum() for v in mapped(x, w))

    w, grads = x[1] * 2 - 1, sycl_dnn.grad(loss, (0, 1))
    mapped, each = vmap(grads, (0, None)), by_rows(grads)
    for actual, expected in (
        (run(mapped)(x, w), each(x, w)),
        (run(sycl_dnn.grad(lambda x, w: vmap(loss, (0, None))(x, w).sum(), (0, 1)))(x, w),
         sycl_dnn.grad(lambda x, w: sum(loss(r, w) for r in x), (0, 1))(x, w)),
        (run(sycl_dnn.grad(squares(mapped), (0, 1)))(x, w),
         sycl_dnn.grad(squares(each), (0, 1))(x, w)),
        (run(vmap(lambda w: mapped(x, w)))(F.stack([w, -w])),
         [F.stack(v) for v in zip(each(x, w), each(x, -w), strict=True)]),
        (run(sycl_dnn.grad(lambda w: vmap(lambda r: scaled(w, r, 1.0).sum())(x).sum()))(w),
         sycl_dnn.grad(lambda w: sum(scaled(w, r, 1.0).sum() for r in x))(w)),
    ):  # fmt: skip
        for a, b in zip(actual, expected, strict=True):
            np.testing.assert_allclose(dpnp.asnumpy(a), dpnp.asnumpy(b), rtol=2e-5, atol=1e-5)


def test_a_checkpoint_of_samples_drops_the_same_elements_again(x):
    dropped = sycl_dnn.checkpoint(lambda r: F.dropout(r, 0.5, training=True) * r)
    value, grad = sycl_dnn.value_and_grad(lambda v: vmap(dropped)(v).sum())(F.ones(4, 100))
    assert 0 < float(value) * 2 == float(grad.sum()) < 1600


def _without_negatives(row):
    row = row * 1
    row[row < 0] = 0
    return row


def _write_to_shared(row):
    y = F.zeros(4)
    y[0] = row[0]
    return y


def test_values_of_samples_cannot_leave(x):
    leaked = []
    vmap(lambda row: leaked.append(row) or row)(x)
    with pytest.raises(RuntimeError, match="after its trace had ended"):
        leaked[0] + 1


def test_empty_samples(x):
    empty = F.reshape(F.cat([x] * 2)[:0], (0, 2, 3, 0))
    for shape in ((3, 0, 2, 4), (3, 2, 4, 0)):
        images = F.zeros(shape, device=x.device)
        for function in (F.relu, lambda v: F.local_response_norm(v, 3), lambda v: F.softmax(v, 0)):
            assert vmap(function)(images).shape == shape
    assert vmap(F.relu)(empty).shape == (0, 2, 3, 0)


def test_images_with_one_element_per_group_are_refused_as_alone():
    x = F.ones(3, 1, 2, 1)
    with pytest.raises(ValueError, match="group_norm: input must have more than 1 value per group"):
        sycl_dnn.vmap(lambda a: F.group_norm(a, 2))(x)

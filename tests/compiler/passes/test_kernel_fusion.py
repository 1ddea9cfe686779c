# SPDX-License-Identifier: Apache-2.0
"""Kernels that a function records one after another become fewer kernels, with equal values."""

import dpnp
import numpy as np
import pytest
from arrays import normal

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import grad
from sycl_dnn.compiler.passes import kernel_units
from sycl_dnn.lower import kernel_passes


def _loss(x, v):
    return F.sum(F.sin(F.exp(x * 0.5) * v + 1.0) * F.mean(F.square(x), 0))


def test_gradients_outside_of_compiled_functions_are_fused(queue, clean_cache):
    """They are the same in each call, and those of the functions one by one up to rounding."""
    both = sycl_dnn.value_and_grad(_loss, argnums=(0, 1))

    def executed():
        with sycl_dnn.profile() as profile:
            value, grads = both(normal(queue, 64, 2000), normal(queue, 2000))
        n_executed = sum(record.is_execution for record in profile.records)
        return n_executed, [dpnp.asnumpy(a) for a in (value, *grads)]

    (n_fused, first), (_, again) = executed(), executed()
    assert all(map(np.array_equal, first, again))
    sycl_dnn.cache.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_passes, "_passes", ())
        n_alone, alone = executed()
    assert n_fused <= n_alone / 2
    for a, b in zip(first, alone, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-4)


def compiled_twice(function, *args, **kwargs):
    """Return the steps and results of a function with fusion, then without."""
    found = []
    for switch in (True, False):
        passes = {"fuse_kernels": switch, "run_on_host": False}
        compiled = sycl_dnn.compile(function, passes=passes, **kwargs)
        results = compiled(*args)
        results = results if isinstance(results, tuple) else (results,)
        found.append((compiled.explain(*args).n_steps, [dpnp.asnumpy(r) for r in results]))
    return found


#: Function of a matrix (6, 40), a vector (40,) and an image (2, 8, 5, 7) -> steps with fusion.
CASES = {
    "chain": (lambda x, v, i: F.sin(F.exp(x) * v + 1.0), 1),
    "chain into sums": (lambda x, v, i: F.sum(F.sin(F.exp(x) * v + 1.0), -1), 1),
    "sums into chain": (lambda x, v, i: F.sqrt(F.mean(F.square(x), -1)) + 1.0, 1),
    "rows that are read twice": (lambda x, v, i: x - F.mean(x, -1, keepdim=True), 1),
    "sums of the same axes": (lambda x, v, i: F.sum(x, 0) * F.sum(F.square(x), 0), 1),
    "shapes of one memory": (lambda x, v, i: F.exp(F.reshape(F.sin(x), (240,))), 1),
    "channels": (lambda x, v, i: F.sin(i) * F.reshape(v[:8], (1, 8, 1, 1)) + i, 1),
    "several results": (lambda x, v, i: (F.exp(x), F.sin(F.exp(x)), F.exp(x) + v), 1),
    "results of sums": (lambda x, v, i: (F.sin(x), F.sum(F.sin(x), -1)), 2),
    "costly before passes": (lambda x, v, i: F.var(F.sin(F.exp(x)), -1), 2),
    "broadcast rows": (lambda x, v, i: F.exp(v) * x, 2),
    "product between": (lambda x, v, i: F.exp(x) * F.linear(F.sin(x), F.eye(40)), 3),
    "gradient": (
        lambda x, v, i: grad(lambda x: F.sum(F.sin(F.exp(x) * v) * F.softmax(x, -1)))(x), 3,
    ),
    "coordinates": (lambda x, v, i: F.tril(F.sin(x)) * 2.0 + F.arange(40, dtype="float32"), 2),
    "parts": (lambda x, v, i: F.flip(F.sin(x), (0,)) + F.pad(x[:, 1:-1], (1, 1)), 4),
    "second gradient": (
        lambda x, v, i: grad(lambda x: F.sum(grad(lambda x: F.sum(F.tanh(x) ** 3))(x) * v))(x), 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.sweep(2)
def test_values_are_equal_in_fewer_steps(case, queue):
    function, n_steps = CASES[case]
    args = (normal(queue, 6, 40), normal(queue, 40, seed=1), normal(queue, 2, 8, 5, 7, seed=2))
    (fused, actual), (apart, expected) = compiled_twice(function, *args)
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6)
    assert fused <= apart
    assert fused <= n_steps


#: Two views of a matrix (6, 40), equal in first element and shape.
VIEWS = {
    "transposed": lambda x: (x[:, :6], F.transpose(x[:, :6], 0, 1)),
    "every other row": lambda x: (x[:3], x[::2]),
    "every other column": lambda x: (x[:, :20], x[:, ::2]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_one_array_are_told_apart(name, queue):
    def function(x):
        a, b = VIEWS[name](x)
        return F.sum(F.copysign(a, b) * (F.pow(F.exp(a), b) - F.exp(b)), -1)

    x, gradient = normal(queue, 6, 40), grad(lambda x: F.sum(function(x)))
    for called, others in ((function, ()), (gradient, (gradient(x),))):
        (fused, actual), (apart, (expected,)) = compiled_twice(called, x)
        for a in (*actual, *map(dpnp.asnumpy, others)):
            np.testing.assert_allclose(a, expected, rtol=1e-4, atol=1e-4)
        assert fused < apart


def test_results_in_several_layouts_are_not_reshaped_together(queue):
    """Element-wise kernels whose results are matrices in both orders, then seen with three axes."""

    def function(x, y):
        angles = F.atan2(F.expm1(F.transpose(x, 0, 1)), F.hypot(x, y))
        return F.sum(F.reshape(angles, (4, 2, 8)), 1)

    args = normal(queue, 8, 8), normal(queue, 8, 8, seed=1)
    (_, (actual,)), (_, (expected,)) = compiled_twice(function, *args)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
def test_reductions_of_the_same_elements_are_one_pass(dim, queue):
    x = normal(queue, 200, 400)
    x[3, 4], x[5, 6] = np.inf, np.nan

    def function(x):
        return F.sum(x, dim), F.sum(F.square(x), dim), F.amax(x, dim)

    (fused, actual), (apart, expected) = compiled_twice(function, x)
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    assert fused == 1 < apart
    others = (lambda x: (F.sum(x, 0), F.sum(x, 1)), lambda x: (F.sum(x[:100], 0), F.sum(x, 0)))
    for other in others:
        (fused, actual), (apart, expected) = compiled_twice(other, x)
        for a, b in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        assert fused == apart


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_intermediate_values_are_rounded_as_in_separate_calls(dtype, queue):
    x = F.astype(normal(queue, 5, 33), dtype)
    (fused, actual), (apart, expected) = compiled_twice(
        lambda x: F.sum(F.sin(F.exp(x) + x) * 3.0, -1).astype("float32"), x
    )
    np.testing.assert_array_equal(actual[0], expected[0])
    assert fused < apart


def test_arrays_that_are_updated_in_between_are_not_read_later(queue):
    x, state = normal(queue, 4, 8), normal(queue, 4, 8, seed=1)
    known = dpnp.asnumpy(state)

    @sycl_dnn.compile(donate="state")
    def step(x, state):
        before = F.exp(state)
        state = state + x
        return F.sin(before) + F.exp(state), state

    result, after = step(x, state)
    x = dpnp.asnumpy(x)
    np.testing.assert_allclose(dpnp.asnumpy(after), known + x, rtol=1e-6)
    expected = np.sin(np.exp(known)) + np.exp(known + x)
    np.testing.assert_allclose(dpnp.asnumpy(result), expected, rtol=2e-5, atol=2e-6)


def test_a_result_may_overwrite_an_argument(queue):
    x = normal(queue, 4, 8)
    known = dpnp.asnumpy(x)
    compiled = sycl_dnn.compile(lambda x: F.sin(F.exp(x)) + x.sum(-1, keepdims=True))
    compiled(x, out=x)
    expected = np.sin(np.exp(known)) + known.sum(-1, keepdims=True)
    np.testing.assert_allclose(dpnp.asnumpy(x), expected, rtol=2e-5, atol=2e-6)


def test_constants_are_still_computed_once(queue):
    x, weight = normal(queue, 4, 8), normal(queue, 4, 8, seed=1)

    @sycl_dnn.compile(constants="weight")
    def function(x, weight):
        return F.cos(F.sin(F.exp(weight)) + x)

    report = function.explain(x, weight)
    assert report.constant_bytes >= weight.nbytes
    assert not any("exp" in part.row or "sin" in part.row for part in report.parts)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0])
def test_special_values_are_as_eager(value, queue):
    x = normal(queue, 3, 20)
    x[1, 5] = value

    def function(x):
        return F.relu(F.exp(x) * x) - F.amax(x, -1, keepdim=True), F.sum(F.sign(x) * x, 0)

    for a, b in zip(sycl_dnn.compile(function)(x), function(x), strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(a), dpnp.asnumpy(b), rtol=4e-7)


def test_long_chains_become_several_kernels(queue):
    x = normal(queue, 50)
    others = [normal(queue, 50, seed=i) for i in range(1, 41)]

    def function(x, others):
        for other in others:
            x = F.sin(x) + other
        return x

    (fused, actual), (apart, expected) = compiled_twice(function, x, others)
    np.testing.assert_allclose(actual[0], expected[0], rtol=1e-5, atol=1e-5)
    assert 1 < fused < 10 < apart


def test_steps_that_stay_apart_still_run_in_order(queue):
    x, y = normal(queue, 4, 105), normal(queue, 4, 105, seed=1)

    def distances(x, y):
        x = F.sin(x) * 0.05 + x
        loss = F.triplet_margin_loss(x, x, y, reduction="none", swap=True)
        return F.sum(loss) + F.binary_cross_entropy_with_logits(x, F.sigmoid(y))

    (_, actual), (_, expected) = compiled_twice(
        lambda x, y: sycl_dnn.grad(distances, argnums=(0, 1))(x, y), x, y
    )
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_empty_products_between(queue):
    x, weight = normal(queue, 0, 7, 1, 9), normal(queue, 1, 7, 3, 9, seed=1)

    def function(x, weight):
        product = F.matmul(x * -1.5, F.transpose(weight, -1, -2))
        return F.softmax(F.flatten(product) * 3, 0), F.relu(x * -1.5)

    for switch in (True, False):
        softmax, others = sycl_dnn.compile(function, passes={"fuse_kernels": switch})(x, weight)
        assert softmax.shape == (0,)
        assert others.shape == x.shape


def test_sums_in_two_launches_read_what_is_written(queue):
    x = normal(queue, 300_000)

    def function(x):
        y = F.exp(x)
        return F.sum(y), F.sin(y) + 1.0, F.sum(F.sin(y))

    (_, actual), (_, expected) = compiled_twice(function, x)
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6)


def test_readers_stay_between_the_writers_of_a_value(queue):
    """Two products write one array, the second adds: what reads the first is not moved after it."""
    w = 0.2 * normal(queue, 24, 24, seed=1)

    def f(x, y):
        first = F.linear(x, w)
        early = F.sin(F.exp(first[:, :8]))
        second = F.linear(y, w) + first
        return early, F.exp(F.sin(second[:, 8:16])) + early, second

    args = (normal(queue, 3, 24, seed=2), normal(queue, 3, 24, seed=3))
    (_, actual), (_, expected) = compiled_twice(f, *args)
    reference = [dpnp.asnumpy(v) for v in f(*args)]
    for a, b, c in zip(actual, expected, reference, strict=True):
        np.testing.assert_allclose(a, c, rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(b, c, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("n_channels", [6, 600])
def test_small_values_are_read_in_any_layout(n_channels, queue):
    """Parts of a convolution's channels-last result: copied first only if they are large."""
    weight = normal(queue, 2 * n_channels, 2, 3, seed=1)
    x = normal(queue, 1, 2, 18, seed=2)

    def f(x):
        result = F.conv1d(x, weight)
        return F.sqrt(F.square(result[:, :n_channels]) + F.square(result[:, n_channels:]))

    compiled = sycl_dnn.compile(f)
    np.testing.assert_allclose(dpnp.asnumpy(compiled(x)), dpnp.asnumpy(f(x)), rtol=2e-5, atol=2e-5)
    if n_channels == 6:
        assert not [
            p for p in compiled.explain(x).parts if p.row == "reorder" and p.shape != x.shape
        ]


def test_equal_updates_are_analyzed_once(queue, monkeypatch):
    forms = []
    monkeypatch.setattr(kernel_units.Form, "__init__", _noting(kernel_units.Form.__init__, forms))

    def n_forms(n):
        forms.clear()
        arrays = [normal(queue, 6, 4) for _ in range(n)]
        step = sycl_dnn.compile(lambda ps, g: [p * 0.9 + F.sqrt(F.abs(p * g)) for p in ps])
        results = step(arrays, arrays[0])
        for p, result in zip(arrays, results, strict=True):
            expected = p * 0.9 + dpnp.sqrt(dpnp.abs(p * arrays[0]))
            np.testing.assert_allclose(result.asnumpy(), expected.asnumpy(), 1e-5)
        return len(forms)

    assert 0 < n_forms(24) == n_forms(6)


def _noting(method, calls):
    def noted(*args):
        calls.append(args)
        return method(*args)

    return noted


@pytest.mark.parametrize("width", [64, 7])
def test_halves_of_channels_are_read_without_copies(width, on_queue):
    w, v = on_queue(2 * width, 8, 3), on_queue(width, width, 1)

    def gated(x):
        y = F.conv1d(x, w, padding=1)
        return F.conv1d(F.tanh(y[:, :width]) * F.sigmoid(y[:, width:]), v)

    x = on_queue(1, 8, 40)
    compiled = sycl_dnn.compile(gated, passes={"run_on_host": False})
    rows = [part.row for part in compiled.explain(x).parts]
    assert rows.count("reorder") == (1 if width == 64 else 3)  # rows of 7 are too short
    plain = sycl_dnn.compile(gated, passes={"fuse_kernels": False})
    assert abs(compiled(x) - plain(x)).max() < 1e-4


def test_steps_of_a_group_that_stays_apart_keep_their_order(queue):
    """The group of the second sum and of what it reads is no single kernel."""

    def function(x, row, column):
        first, second = F.logsumexp(x, 1, keepdim=True), F.logsumexp(x, 1, keepdim=True)
        third = F.logsumexp(F.abs(x), 1)
        bounded = F.sum(x / (1.0 + F.amax(F.abs(x), 1, keepdim=True)), 1)
        shifted, scaled = F.sum(x + row, 1), F.sum(x * column, 1)
        rest = F.sum(x - F.amin(x, 1, keepdim=True), 1)
        return first, second, third, bounded, shifted, scaled, rest

    arrays = [normal(queue, *s).astype("float32") for s in ((3, 257, 353), (353,), (3, 257, 1))]
    arrays = [F.astype(a, "bfloat16") for a in arrays]
    for actual, expected in zip(
        sycl_dnn.compile(function)(*arrays), function(*arrays), strict=True
    ):
        pair = [F.astype(a, "float32").asnumpy() for a in (actual, expected)]
        np.testing.assert_allclose(*pair, rtol=0.02, atol=0.5)

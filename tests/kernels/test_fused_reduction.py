"""Kernels of reductions: values in every dtype, layout and size, over any axes, compiled once."""

import itertools

import dpnp
import numpy as np
import pytest
import wide_dtypes
from kernel_cases import of_nodes

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.ir.node import leaf
from sycl_dnn.kernels import building
from sycl_dnn.kernels.node_expressions import expression_of
from sycl_dnn.kernels.reduction_schedule import reduction_grid, whole_schedule
from sycl_dnn.kernels.two_stages import Stages
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops import reduction as r
from sycl_dnn.ops.shape import SUM

RNG = np.random.default_rng(11)
#: By operation: NumPy's function.
ROWS = {
    "sum": (SUM, np.sum), "prod": (r.PROD, np.prod), "max": (r.MAX, np.max),
    "min": (r.MIN, np.min), "any": (r.ANY, np.any), "all": (r.ALL, np.all),
    "argmax": (r.ARGMAX, np.argmax), "argmin": (r.ARGMIN, np.argmin),
}  # fmt: skip
DTYPES = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "bool")


def _whole_numbers(shape, dtype):
    """Small numbers, so that equal ones are among them and sums are exact."""
    values = RNG.integers(0 if dtype in ("uint8", "bool") else -3, 4, shape)
    return values % 2 if dtype == "bool" else values


def _reference(name, a, axes):
    """Return NumPy's result; places are into the reduced axes, flattened in their order."""
    function = ROWS[name][1]
    if not name.startswith("arg"):
        return function(a, axis=axes, keepdims=True)
    kept = [k for k in range(a.ndim) if k not in axes]
    turned = a.transpose(*kept, *axes)
    flat = turned.reshape(*turned.shape[: len(kept)], -1)
    return function(flat, axis=-1).reshape([1 if k in axes else n for k, n in enumerate(a.shape)])


def _subsets(rank):
    return [s for n in range(rank + 1) for s in itertools.combinations(range(rank), n)]


@pytest.mark.sweep(24)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROWS)
def test_every_dtype_over_any_axes(name, dtype, queue, on_queue):
    wide_dtypes.need(dtype, queue)
    if dtype == "bool" and name in ("sum", "prod"):
        dtype = "uint8"
    a = _whole_numbers((2, 40, 70), dtype)
    a = np.where(a == 0, 1, np.sign(a)) if name == "prod" else a
    x = sycl_dnn.asarray(on_queue(a.astype("f4")), dtype=dtype)
    for axes in ((2,), (0,), (0, 2), (0, 1, 2)):
        result = of_nodes(lambda v, axes=axes: ROWS[name][0](v, axes=axes), x)
        expected = _reference(name, a.astype(dtype if dtype.startswith("int") else "f8"), axes)
        result = F.astype(result, "float32").asnumpy()
        if dtype in ("int8", "uint8") and name == "sum":
            expected = expected.astype(dtype)
        np.testing.assert_array_equal(result, expected.astype("f4"), err_msg=str(axes))


#: Views of arrays that are larger: each has the shape (6, 5, 40).
VIEWS = {
    "dense": lambda a: a[:6, :5].copy(),
    "parts": lambda a: a[:6, 1:6, 2:42],
    "steps": lambda a: a[:12:2, :10:2, :80:2],
    "backwards": lambda a: a[5::-1, :5, 39::-1],
    "turned": lambda a: a[:40, :5, :6].transpose(2, 1, 0),
    "middle": lambda a: a[:5, :6, :40].transpose(1, 0, 2),
    "repeated row": lambda a: np.broadcast_to(a[:1, :1, :40], (6, 5, 40)),
    "repeated column": lambda a: np.broadcast_to(a[:6, :1, :1], (6, 5, 40)),
}


def _view(x, name):
    """Return the same view of an array on a device."""
    if name.startswith("repeated"):
        part = x[:1, :1, :40] if name == "repeated row" else x[:6, :1, :1]
        return dpnp.broadcast_to(part, (6, 5, 40))
    return x[:6, :5, :40].copy() if name == "dense" else VIEWS[name](x)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sum", "argmax"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_layout(view, name, on_queue):
    a = _whole_numbers((80, 80, 80), "float32").astype("f4")
    x, expected = _view(on_queue(a), view), VIEWS[view](a)[:6, :5, :40]
    for axes in _subsets(3):
        result = of_nodes(lambda v, axes=axes: ROWS[name][0](v, axes=axes), x)
        np.testing.assert_array_equal(result.asnumpy(), _reference(name, expected, axes))


@pytest.mark.parametrize("n", [1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 100, 1000, 4095, 4097])
@pytest.mark.parametrize("rows", [1, 5, 70])
@pytest.mark.sweep(6)
def test_sizes_around_vectors_and_blocks(n, rows, on_queue):
    a = RNG.uniform(-1, 1, (rows, n)).astype("f4")
    x, turned = on_queue(a), on_queue(np.ascontiguousarray(a.T))
    for array, axis in ((x, 1), (turned, 0)):
        total = of_nodes(lambda v: SUM(v, axes=(axis,)), array).asnumpy().ravel()  # noqa: B023
        np.testing.assert_allclose(total, a.astype("f8").sum(1), rtol=1e-6, atol=3e-5)
        place = of_nodes(lambda v: r.ARGMAX(v, axes=(axis,)), array)  # noqa: B023
        np.testing.assert_array_equal(place.asnumpy().ravel(), a.argmax(1))


@pytest.mark.parametrize("size", [5, 33])
def test_coordinates_of_kept_axes_that_do_not_merge(size, on_queue):
    """Each group counts through all of them, from a point inside of each."""
    a = _whole_numbers((8, 9, 12, 40), "float32").astype("f4")
    part = a[:7, :5, :11, :size]
    x = on_queue(a)[:7, :5, :11, :size]
    for axes in _subsets(4):
        result = of_nodes(lambda v, axes=axes: SUM(v, axes=axes), x)
        np.testing.assert_array_equal(result.asnumpy(), _reference("sum", part, axes))
        backward = of_nodes(lambda v, axes=axes: SUM(v, axes=axes), x[:, ::-1])
        np.testing.assert_array_equal(backward.asnumpy(), _reference("sum", part[:, ::-1], axes))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sum", "max", "any", "argmin"])
@pytest.mark.parametrize("shape", [(300_001,), (200_003, 2), (3, 150_001), (40_009, 20)])
def test_parts_of_long_axes(shape, name, on_queue):
    """Two launches: the last part is shorter, and may be shorter than a vector."""
    a = _whole_numbers(shape, "float32").astype("f4")
    for axes in _subsets(len(shape))[1:]:
        result = of_nodes(lambda v, axes=axes: ROWS[name][0](v, axes=axes), on_queue(a))
        np.testing.assert_array_equal(result.asnumpy(), _reference(name, a.astype("f8"), axes))


@pytest.mark.parametrize("shape", [(100, 700), (700, 100), (70_001,), (3, 5, 7)])
@pytest.mark.sweep(2)
def test_nan_is_the_extreme_and_its_index_the_first(shape, on_queue):
    a = RNG.uniform(-1, 1, shape).astype("f4")
    a[RNG.uniform(0, 1, shape) < 0.02] = np.nan
    a[RNG.uniform(0, 1, shape) < 0.02] = -np.inf
    a.ravel()[-1] = np.nan
    for axes in _subsets(len(shape))[1:]:
        for name in ("max", "min", "argmax", "argmin"):
            result = of_nodes(lambda v, n=name, s=axes: ROWS[n][0](v, axes=s), on_queue(a))
            np.testing.assert_array_equal(result.asnumpy(), _reference(name, a, axes))


def test_extremes_of_infinities_and_of_the_smallest_integers(on_queue):
    for value in (np.float32(np.inf), np.float32(-np.inf), np.int32(-(2**31)), np.int64(-(2**63))):
        x = on_queue(np.full((3, 50), value))
        for name in ("max", "min"):
            result = of_nodes(lambda v, n=name: ROWS[n][0](v, axes=(1,)), x)
            np.testing.assert_array_equal(result.asnumpy(), np.full((3, 1), value))
        for name in ("argmax", "argmin"):
            result = of_nodes(lambda v, n=name: ROWS[n][0](v, axes=(1,)), x)
            assert not result.asnumpy().any()


@pytest.mark.parametrize("n", [50, 5000])  # one block, several
def test_sums_of_infinities(n, on_queue):
    a = np.ones((4, n), "f4")
    a[0, 3], a[1, 7], a[1, 40], a[2, 9], a[3, :] = np.inf, np.inf, -np.inf, np.nan, 3e38
    for array, axis in ((a, 1), (np.ascontiguousarray(a.T), 0)):
        result = of_nodes(lambda v: SUM(v, axes=(axis,)), on_queue(array)).asnumpy()  # noqa: B023
        np.testing.assert_array_equal(result.ravel(), [np.inf, np.nan, np.nan, np.inf])


def test_empty_arrays(on_queue):
    x = on_queue(np.zeros((3, 0, 2), "f4"))
    expected = {"sum": 0, "prod": 1, "any": False, "all": True}
    for name, value in expected.items():
        result = of_nodes(lambda v, n=name: ROWS[n][0](v, axes=(1,)), x)
        np.testing.assert_array_equal(result.asnumpy(), np.full((3, 1, 2), value))
        assert of_nodes(lambda v, n=name: ROWS[n][0](v, axes=(0,)), x).shape == (1, 0, 2)
    assert np.isnan(of_nodes(lambda v: r.MEAN(v, axes=(1,)), x).asnumpy()).all()


def test_an_array_without_axes(on_queue):
    x = on_queue(np.float32(-2.5))
    for name in ROWS:
        result = of_nodes(lambda v, n=name: ROWS[n][0](v, axes=()), x)
        expected = {"any": 1, "all": 1, "argmax": 0, "argmin": 0}.get(name, -2.5)
        assert float(result) == expected


@pytest.mark.parametrize("shape", [(1 << 22,), (1 << 19, 8), (8, 1 << 19), (40, 70), (9, 300)])
@pytest.mark.sweep(2)
def test_sums_are_accurate(shape, on_queue):
    axis = int(np.argmax(shape))
    for seed in range(8):
        a = np.random.default_rng(seed).uniform(0, 1, shape).astype("f4")
        result = of_nodes(lambda v: SUM(v, axes=(axis,)), on_queue(a)).asnumpy()
        expected = a.astype("f8").sum(axis, keepdims=True)
        assert np.max(np.abs(result - expected) / np.spacing(expected.astype("f4"))) < 1.5


def test_bfloat16_and_float16_accumulate_in_float32(on_queue):
    for dtype in ("bfloat16", "float16"):
        x = F.astype(on_queue(np.full((2, 3001), 0.5, "f4")), dtype)
        result = of_nodes(lambda v: SUM(v, axes=(1,)), x).astype("float32").asnumpy()
        np.testing.assert_allclose(result, 1500.5, rtol=2.0**-8)
        squares = of_nodes(lambda v: SUM(v * v, axes=(1,)), x).astype("float32").asnumpy()
        np.testing.assert_allclose(squares, 750.25, rtol=2.0**-8)


# --- Fused and nested


def _softmax(v, axes):
    powers = ops.EXP(v - r.MAX(v, axes=axes))
    return powers / SUM(powers, axes=axes)


def _stable(a, axes):
    powers = np.exp(a - a.max(axes, keepdims=True))
    return powers / powers.sum(axes, keepdims=True)


NESTED = {
    "softmax": (_softmax, _stable),
    "mean": (lambda v, s: r.MEAN(v, axes=s), lambda a, s: a.mean(s, keepdims=True)),
    "variance": (
        lambda v, s: r.VAR(v, axes=s, correction=0),
        lambda a, s: a.var(s, keepdims=True),
    ),
    "logsumexp": (
        lambda v, s: r.LOGSUMEXP(v, axes=s),
        lambda a, s: np.log(np.exp(a).sum(s, keepdims=True)),
    ),
    "norm of order 3": (
        lambda v, s: r.NORM(v, axes=s, order=3.0),
        lambda a, s: (np.abs(a) ** 3).sum(s, keepdims=True) ** (1 / 3),
    ),
    "normalized": (
        lambda v, s: (v - r.MEAN(v, axes=s)) / ops.SQRT(r.VAR(v, axes=s, correction=0) + 1e-5),
        lambda a, s: (a - a.mean(s, keepdims=True)) / np.sqrt(a.var(s, keepdims=True) + 1e-5),
    ),
    "over other axes": (
        lambda v, s: SUM(v * r.MAX(v, axes=s), axes=tuple({0, 1} - {*s} or {0})),
        lambda a, s: (a * a.max(s, keepdims=True)).sum(
            tuple({0, 1} - {*s} or {0}), keepdims=True
        ),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(5, 7), (70, 500), (500, 70), (2, 300_000), (300_000, 2)])
@pytest.mark.parametrize("name", NESTED)
def test_nested_reductions(name, shape, on_queue):
    a = RNG.uniform(-1, 1, shape).astype("f4")
    definition, reference = NESTED[name]
    for axes in ((1,), (0,), (0, 1)):
        result = of_nodes(lambda v, s=axes: definition(v, s), on_queue(a)).asnumpy()
        np.testing.assert_allclose(result, reference(a.astype("f8"), axes), rtol=2e-5, atol=2e-5)


def test_broadcast_operands_are_fused(on_queue):
    a, b, c = (RNG.uniform(-1, 1, s).astype("f4") for s in ((4, 30, 50), (50,), (30, 1)))

    def definition(x, y, z):
        return SUM(ops.SIN(x) * y + z, axes=(1,)) * 2.0 - y

    result = of_nodes(definition, *map(on_queue, (a, b, c))).asnumpy()
    expected = (np.sin(a.astype("f8")) * b + c).sum(1, keepdims=True) * 2 - b
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_new_shapes_need_no_compiler(on_queue):
    total = lambda x: of_nodes(lambda v: SUM(v, axes=(1,)), x)  # noqa: E731
    for n in (600, 6000):  # one block, several
        total(on_queue(np.ones((50, n), "f4")))
    known = len(building._made)
    for shape in ((60, 700), (33, 5000), (40, 10_001)):
        np.testing.assert_array_equal(
            total(on_queue(np.ones(shape, "f4"))).asnumpy(), np.full((shape[0], 1), shape[1])
        )
    assert len(building._made) == known


# --- Axes and schedules


@pytest.mark.parametrize(
    ("sizes", "kinds", "strides", "wanted"),
    [
        ((2, 3, 4), "krr", [(12, 4, 1), (1, 0, 0)], ((2, 12), "kr")),
        ((2, 3, 4), "rkr", [(12, 4, 1), (0, 1, 0)], ((2, 3, 4), "rkr")),
        ((2, 1, 4), "rkr", [(4, 4, 1), (0, 0, 0)], ((8,), "r")),
        ((3, 4), "kk", [(4, 1), (4, 1)], ((1, 12), "rk")),
        ((1, 1), "kr", [(1, 1), (0, 0)], ((1,), "r")),
    ],
)
def test_only_axes_of_one_kind_are_merged(sizes, kinds, strides, wanted):
    result = reduction_grid(sizes, kinds, strides)
    assert (result.sizes, result.kinds) == wanted


def test_vectors_run_along_a_sufficiently_long_axis():
    def lanes(sizes, kinds, **options):
        strides = np.cumprod([1, *sizes[:0:-1]])[::-1]
        grid = reduction_grid(sizes, kinds, [strides])
        return whole_schedule(grid, 1, is_cpu=True, **options).lanes

    assert lanes((100, 64), "kr") == 1
    assert lanes((100, 8), "kr") == 0  # many short rows
    assert lanes((100, 20), "kr") == 0
    assert lanes((100, 20), "kr", short=16) == 1
    assert lanes((200, 64), "kr", short=65) == 0
    assert lanes((3, 8), "kr") == 1
    assert lanes((100, 64), "rk") == 1
    assert lanes((100, 3), "rk") == 0  # few columns


@pytest.mark.parametrize("n", [15, 16, 17, 24, 31, 32])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.sweep(3)
def test_several_passes_over_rows_of_about_a_vector(n, dtype, queue):
    values = np.random.default_rng(n).integers(-4, 5, (300, n)).astype("f4")
    values[3, n - 1], values[4, 0], values[5] = np.nan, np.inf, -np.inf
    values[6, 1:] = -np.inf
    x = sycl_dnn.asarray(values, dtype=dtype, sycl_queue=queue)
    with np.errstate(invalid="ignore"):
        shares = np.exp(values - values.max(1, keepdims=True))
        expected = shares / shares.sum(1, keepdims=True)
    tolerance = 1e-6 if dtype == "float32" else 1e-2
    actual = dpnp.asnumpy(F.astype(F.softmax(x, 1), "float32"))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=1e-6)
    dx = sycl_dnn.grad(lambda x: F.sum(F.softmax(x, 1)[:, 0]))(x)
    with np.errstate(invalid="ignore"):
        slopes = expected * (np.eye(n)[0] - expected[:, :1])
    actual = dpnp.asnumpy(F.astype(dx, "float32"))
    np.testing.assert_allclose(actual, slopes, rtol=tolerance, atol=max(1e-6, tolerance / 2))


@pytest.mark.parametrize("n", [9, 17, 31, 33, 100])
@pytest.mark.parametrize(
    "function",
    [
        lambda e, mean: (e, e - mean(e)),
        lambda e, mean: (e - mean(e), e * 2.0 - mean(e * e)),
        lambda e, mean: (e, e - mean(e), (e - mean(e)) / mean((e - mean(e)) * (e - mean(e)))),
    ],
    ids=["two", "apart", "three"],
)
@pytest.mark.sweep(2)
def test_passes_that_keep_terms_in_the_memory_of_results(function, n, queue):
    """The last vector of a row overlaps, over elements that a pass has overwritten."""
    x = np.random.default_rng(n).standard_normal((3, n))
    shares = np.exp(x - x.max(1, keepdims=True))
    expected = function(shares / shares.sum(1, keepdims=True), lambda v: v.mean(1, keepdims=True))
    compiled = sycl_dnn.compile(
        lambda x: function(F.softmax(x, 1), lambda v: F.mean(v, 1, keepdim=True))
    )
    result = compiled(sycl_dnn.asarray(x, dtype="float32", sycl_queue=queue))
    for actual, reference in zip(result, expected, strict=True):
        tolerance = 1e-6 * max(1, np.abs(reference).max())
        np.testing.assert_allclose(dpnp.asnumpy(actual), reference, rtol=1e-4, atol=tolerance)


def test_stages_pass_extremes_with_their_indices():
    x = leaf("x", (10,), "bfloat16")
    stages = Stages(expression_of([r.ARGMAX(x, axes=(0,)) + 1], [x]))
    assert [t.operation for t in stages.first.terms] == ["max", "argmax"]
    assert stages.second.inputs == ("float32", "int64")
    assert {t.operation for t in stages.second.terms} == {"argmax", "number", "add"}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_equal_elements_have_zero_deviation(queue, dtype):
    """Nor a gradient: rounding errors of the mean would dominate both."""
    x = sycl_dnn.asarray(dpnp.full((9, 7), 0.3, dtype="f4", sycl_queue=queue), dtype)
    for function in (F.var, F.std):
        value, pullback = sycl_dnn.vjp(lambda x, f=function: f(x, 0), x)
        assert not dpnp.asnumpy(F.astype(value, "float32")).any()
        slope = dpnp.asnumpy(F.astype(pullback(F.ones_like(value))[0], "float32"))
        assert np.abs(slope).max() < 1e-6


@pytest.mark.parametrize("row", [1, 15, 17, 49, 65])
@pytest.mark.parametrize("count", [2, 7, 33])
def test_short_rows_are_reduced_some_at_a_time(row, count, queue):
    values = np.random.default_rng(row).integers(-9, 9, (count, 3, row)).astype("f4")
    x = dpnp.asarray(values, sycl_queue=queue)
    np.testing.assert_array_equal(dpnp.asnumpy(F.sum(x, (0, 2))), values.sum((0, 2)))
    np.testing.assert_array_equal(dpnp.asnumpy(F.amax(x, (0, 2))), values.max((0, 2)))
    first = of_nodes(lambda node: r.ARGMAX(node, axes=(0, 2)), x)
    np.testing.assert_array_equal(dpnp.asnumpy(first), _reference("argmax", values, (0, 2)))
    variances = dpnp.asnumpy(F.var(x, (0, 2), correction=0))
    np.testing.assert_allclose(variances, values.var((0, 2), dtype="f8"), rtol=1e-5)
    values[-1, 1, -1] = np.nan
    x = dpnp.asarray(values, sycl_queue=queue)
    np.testing.assert_array_equal(dpnp.asnumpy(F.amax(x, (0, 2))), values.max((0, 2)))

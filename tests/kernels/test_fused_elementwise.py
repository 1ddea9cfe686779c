"""Kernels of element-wise nodes: values in every dtype, layout and size, compiled once a form."""

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.kernels import building
from sycl_dnn.kernels.elementwise_schedule import grid_of

INTEGERS = ("int8", "uint8", "int32", "int64")
RNG = np.random.default_rng(5)


def _numbers(shape, dtype):
    if np.dtype(dtype).kind == "f":
        return RNG.uniform(-3, 3, shape).astype(dtype)
    low = 0 if np.dtype(dtype).kind in "ub" else -100
    return RNG.integers(low, 2 if dtype == "bool" else 100, shape).astype(dtype)


#: Views of arrays that are larger: each has the shape (6, 5, 4).
VIEWS = {
    "dense": lambda a: a[:6, :5, :4].copy(),
    "parts": lambda a: a[:6, 1:6, 2:6],
    "steps": lambda a: a[:12:2, :10:2, :8:2],
    "backwards": lambda a: a[5::-1, :5, 3::-1],
    "turned": lambda a: a[:4, :5, :6].transpose(2, 1, 0),
    "middle": lambda a: a[:5, :6, :4].transpose(1, 0, 2),
    "repeated row": lambda a: a[:1, :1, :4],
    "repeated column": lambda a: a[:6, :1, :1],
    "few axes": lambda a: a[0, :5, :4],
}


@pytest.mark.sweep(12)
@pytest.mark.parametrize("second", VIEWS)
@pytest.mark.parametrize("first", VIEWS)
def test_every_pair_of_layouts(first, second, on_queue):
    a = _numbers((12, 12, 12), "float32")
    x, y = (on_queue(a), on_queue(a + 1))
    result = F.atan2(VIEWS[first](x), VIEWS[second](y))
    expected = np.arctan2(VIEWS[first](a), VIEWS[second](a + 1))
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 63, 255, 4095, 4096, 4097, 70_001])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.sweep(3)
def test_sizes_around_vectors_and_spans(n, rows, on_queue):
    a = _numbers((rows, n + 3), "float32")
    result = F.floor(on_queue(a)[:, :n]).asnumpy()
    np.testing.assert_array_equal(result, np.floor(a[:, :n]))
    np.testing.assert_array_equal(F.isnan(on_queue(a)[0, :n]).asnumpy(), np.isnan(a[0, :n]))


def test_an_array_without_axes(on_queue):
    assert F.sin(on_queue(np.float32(0.5))).shape == ()
    np.testing.assert_allclose(float(F.sin(on_queue(np.float32(0.5)))), np.sin(0.5), rtol=1e-6)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "maximum", "minimum", "fmod", "remainder"])
@pytest.mark.sweep(4)
def test_integers_match_numpy(name, dtype, on_queue):
    a, b = _numbers((7, 33), dtype), _numbers((33,), dtype)
    b[b == 0] = 3
    reference = {"sub": "subtract", "mul": "multiply"}.get(name, name)
    result = getattr(F, name)(on_queue(a), on_queue(b))
    np.testing.assert_array_equal(result.asnumpy(), getattr(np, reference)(a, b))


@pytest.mark.parametrize("mode", ["floor", "trunc"])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.sweep(2)
def test_integer_division_by_zero_or_overflow_does_not_crash(dtype, mode, on_queue):
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.min, limits.max, 5, 0], dtype)
    b = np.array([0, -1 if limits.min else 1, 0, 0, 0], dtype)
    result = F.div(on_queue(a), on_queue(b), rounding_mode=mode).asnumpy()
    np.testing.assert_array_equal(result, [0, limits.min, 0, 0, 0])
    assert not F.remainder(on_queue(a), on_queue(b)).asnumpy().any()


FLOATS = ("float32", "float16", "bfloat16")


@pytest.mark.sweep(8)
@pytest.mark.parametrize("to", [*FLOATS, *INTEGERS, "bool"])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool"])
def test_conversions(dtype, to, on_queue):
    values = np.array([0, 1, 2, 3, 100, 7, 64, 0, 5, 6, 8, 9, 10, 11, 12, 13, 14, 120], "f4")
    x = sycl_dnn.asarray(on_queue(values), dtype=dtype)
    result = F.astype(F.astype(x, to), "float32").asnumpy()
    narrow = "bool" in (dtype, to)
    np.testing.assert_array_equal(result, values.astype(bool) if narrow else values)


def test_floats_become_bytes_exactly(on_queue):
    values = np.arange(256, dtype="f4")
    np.testing.assert_array_equal(F.astype(on_queue(values), "uint8").asnumpy(), np.arange(256))


def test_bfloat16_is_rounded_to_nearest_even(on_queue):
    bits = RNG.integers(0, 1 << 32, 4000, dtype="u4")
    values = bits.view("f4")[np.isfinite(bits.view("f4"))]
    expected = F.astype(on_queue(values), "bfloat16").astype("float32").asnumpy()
    result = F.astype(F.abs(F.astype(on_queue(values), "bfloat16")), "float32").asnumpy()
    usual = np.abs(expected) >= 2.0**-126  # oneDNN makes 0 of smaller ones
    np.testing.assert_array_equal(result[usual], np.abs(expected[usual]))


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
def test_shifts_by_any_number_of_bits(name, on_queue):
    a = np.array([1, -1, 5, -5, 7, -7, 3], "i4")
    b = np.array([0, 1, 31, 31, 32, 40, -1], "i4")
    sign = "<<" if name == "left_shift" else ">>"
    result = sycl_dnn.compile(lambda x, y: x << y if sign == "<<" else x >> y)(
        on_queue(a), on_queue(b)
    )
    inside = (b >= 0) & (b < 32)
    places = np.where(inside, b, 31)
    if name == "left_shift":
        expected = np.where(inside, (a.astype("i8") << places).astype("i4"), 0)
    else:
        expected = a >> places
    np.testing.assert_array_equal(result.asnumpy(), expected)


def test_new_shapes_need_no_compiler(on_queue):
    for row in (100, 200):
        F.fmod(on_queue(_numbers((5, row), "float32")), on_queue(_numbers((row,), "float32")))
    known = len(building._made)
    for shape in ((7, 101), (70, 49), (3, 115), (7, 208), (3, 1000), (20, 129)):
        F.fmod(on_queue(_numbers(shape, "float32")), on_queue(_numbers(shape[1:], "float32")))
    assert len(building._made) == known


def test_sums_and_products_in_other_orders_are_the_same_kernel(on_queue):
    x, y = (on_queue(_numbers((70, 90), "float32")) for _ in range(2))
    functions = [
        lambda x, y: F.relu(x + F.exp(y)) * F.exp(y),
        lambda x, y: F.exp(y) * F.relu(F.exp(y) + x),
        lambda x, y: F.relu(F.exp(y) + x) * F.exp(y),
    ]
    compiled = [sycl_dnn.compile(f) for f in functions]
    assert len({f.explain(x, y).parts[0].row for f in compiled}) == 1
    first, *others = [f(x, y).asnumpy() for f in compiled]
    assert all((y == first).all() for y in others)


@pytest.mark.parametrize(
    ("sizes", "strides", "wanted"),
    [
        ((2, 3, 4), [(12, 4, 1), (12, 4, 1)], (24,)),
        ((2, 3, 4), [(12, 4, 1), (0, 4, 1)], (2, 12)),
        ((2, 1, 4), [(4, 9, 1), (4, 7, 1)], (8,)),
        ((1, 1), [(1, 1)], (1,)),
        ((3, 4), [(4, 1), (1, 3)], (3, 4)),
    ],
)
def test_axes_are_merged_where_contiguous_in_all_arrays(sizes, strides, wanted):
    assert grid_of(sizes, strides).sizes == wanted

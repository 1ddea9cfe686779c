# SPDX-License-Identifier: Apache-2.0
"""Arrays of the dtypes that dpnp lacks."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

#: What a dtype holds exactly.
EXACT = {
    "bfloat16": [0.0, -0.0, 1.0, -2.5, 2.0**100, 2.0**-126, np.inf, -np.inf],
    "float8_e4m3": [0.0, 1.0, -2.5, 448.0, -448.0, 2.0**-9, 15.0, 0.0625],
    "float8_e5m2": [0.0, 1.0, -2.5, 57344.0, 2.0**-16, np.inf, -np.inf, 0.0625],
    "int4": [-8, 7, 0, -1, 3, 5, -5, 1],
    "uint4": [0, 15, 7, 8, 1, 2, 3, 14],
}


def _values(dtype, shape=(2, 4)):
    return np.array(EXACT[dtype], "f4").reshape(shape)


@pytest.mark.parametrize("dtype", EXACT)
def test_round_trip(dtype, queue):
    values = _values(dtype)
    array = sycl_dnn.asarray(values, dtype, sycl_queue=queue)
    assert isinstance(array, sycl_dnn.Array)
    assert (array.shape, array.ndim, array.size, array.dtype) == ((2, 4), 2, 8, dtype)
    np.testing.assert_array_equal(array.asnumpy(), values)
    back = array.astype("float32")
    assert isinstance(back, dpnp.ndarray)
    np.testing.assert_array_equal(dpnp.asnumpy(back), values)


@pytest.mark.parametrize("dtype", EXACT)
def test_bits_are_kept(dtype, queue):
    array = sycl_dnn.asarray(_values(dtype), dtype, sycl_queue=queue)
    bits = dpnp.asnumpy(array.bits)
    again = sycl_dnn.Array.from_bits(bits, dtype, sycl_queue=queue)
    np.testing.assert_array_equal(again.asnumpy(), array.asnumpy())
    assert array.nbytes == bits.nbytes == {"b": 16, "f": 8}.get(dtype[0], 4)


def test_four_bits_lie_low_half_first(queue):
    array = sycl_dnn.Array.from_bits([[0x21, 0x43], [0x8F, 0x07]], "int4", sycl_queue=queue)
    assert array.shape == (2, 4)
    assert array.asnumpy().tolist() == [[1, 2, 3, 4], [-1, -8, 7, 0]]
    result = sycl_dnn.asarray([[1, 2, 3, 15]], "uint4", sycl_queue=queue)
    assert dpnp.asnumpy(result.bits).tolist() == [[0x21, 0xF3]]


@pytest.mark.parametrize(
    ("dtype", "value", "wanted"),
    [
        ("bfloat16", 1 + 2.0**-8, 1.0),
        ("bfloat16", 1 + 3 * 2.0**-8, 1 + 2.0**-6),
        ("float8_e5m2", 1.125, 1.0),
        ("int4", 100, 7),
        ("int4", -100, -8),
        ("uint4", -3, 0),
        ("int4", 2.5, 2),
    ],
)
def test_rounding_to_nearest_even_and_saturation(dtype, value, wanted, queue):
    actual = sycl_dnn.asarray([value, value], dtype, sycl_queue=queue)
    assert actual.asnumpy().tolist() == [wanted, wanted]


def test_nan(queue):
    for dtype in ("bfloat16", "float8_e4m3", "float8_e5m2"):
        assert np.isnan(sycl_dnn.asarray([np.nan], dtype, sycl_queue=queue).asnumpy()).all()
    # float8_e4m3 has no infinity, and oneDNN does not saturate.
    assert np.isnan(sycl_dnn.asarray([1e4], "float8_e4m3", sycl_queue=queue).asnumpy()).all()


@pytest.mark.parametrize("source", ["float16", "float64", "int8", "int32", "int64", "bool"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "int4"])
@pytest.mark.sweep(2)
def test_conversions_with_dtypes_of_dpnp(source, dtype, queue):
    values = np.array([[0, 1], [1, 0]], source)
    array = sycl_dnn.functional.astype(dpnp.asarray(values, sycl_queue=queue), dtype)
    assert array.dtype == dtype
    back = array.astype(source)
    assert back.dtype == source
    np.testing.assert_array_equal(dpnp.asnumpy(back), values)


@pytest.mark.parametrize("other", ["float8_e4m3", "float8_e5m2", "int4"])
def test_conversions_among_them(other, queue):
    array = sycl_dnn.asarray([1.0, -2.0], "bfloat16", sycl_queue=queue)
    assert array.astype(other).astype("bfloat16").asnumpy().tolist() == [1, -2]


def test_astype_truncates_to_integers_of_dpnp(queue):
    array = sycl_dnn.asarray([1.75, -1.75], "bfloat16", sycl_queue=queue)
    assert dpnp.asnumpy(array.astype("int32")).tolist() == [1, -1]


def test_astype_to_its_own_dtype_is_itself(queue):
    array = sycl_dnn.asarray([1.0], "bfloat16", sycl_queue=queue)
    assert array.astype("bfloat16") is array
    assert sycl_dnn.asarray(array) is array


def test_gradient_of_astype(queue):
    x = dpnp.asarray(np.ones((2, 2), "f4"), sycl_queue=queue)
    y, pullback = sycl_dnn.vjp(F.astype, x, "bfloat16")
    assert y.dtype == "bfloat16"
    assert dpnp.asnumpy(pullback(y)[0]).tolist() == [[1, 1], [1, 1]]


def test_indexing_and_shapes(queue):
    values = np.arange(12, dtype="f4").reshape(3, 4)
    array = sycl_dnn.asarray(values, "bfloat16", sycl_queue=queue)
    for key in (0, slice(1, 3), (slice(None), 1), (1, 2), (..., -1)):
        np.testing.assert_array_equal(array[key].asnumpy(), values[key])
    np.testing.assert_array_equal(array.T.asnumpy(), values.T)
    np.testing.assert_array_equal(array.reshape(2, -1).asnumpy(), values.reshape(2, -1))
    np.testing.assert_array_equal(array.transpose((1, 0)).asnumpy(), values.T)
    assert len(array) == 3
    assert [row.shape for row in array] == [(4,)] * 3
    assert array[1, 2].item() == 6


def test_indexing_of_packed_numbers(queue):
    values = np.arange(8, dtype="f4").reshape(2, 4) - 4
    array = sycl_dnn.asarray(values, "int4", sycl_queue=queue)
    np.testing.assert_array_equal(array[1].asnumpy(), values[1])
    np.testing.assert_array_equal(array.reshape(4, 2).asnumpy(), values.reshape(4, 2))
    np.testing.assert_array_equal(array.reshape(-1).asnumpy(), values.reshape(-1))
    with pytest.raises(IndexError, match="before its last axis"):
        array[:, 1]
    with pytest.raises(ValueError, match="dense along its last axis"):
        _ = array.T


def test_assignment(queue):
    array = sycl_dnn.asarray(np.zeros((2, 2)), "bfloat16", sycl_queue=queue)
    array[0] = 1.5
    array[1] = array[0] * 2
    array[1, 0] = dpnp.asarray(7, sycl_queue=queue)
    assert array.asnumpy().tolist() == [[1.5, 1.5], [7, 3]]


def test_copy_is_independent(queue):
    array = sycl_dnn.asarray([1.0, 2.0], "bfloat16", sycl_queue=queue)
    copied = array.copy()
    array[0] = 9
    assert copied.asnumpy().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("dtype", "words"),
    [("bfloat16", "hold integers, got bfloat16"), ("int4", r"have one element, got shape \(2,\)")],
)
def test_use_as_an_index_says_what_is_wrong(dtype, words, queue):
    """No array of integers here has one element: two of 4 bits share a byte."""
    a = sycl_dnn.asarray([1.0, 2.0], dtype, sycl_queue=queue)
    with pytest.raises(TypeError, match=rf"\(\): an Array must {words}"):
        [1, 2, 3][a]


def test_operators(queue):
    a = sycl_dnn.asarray([[1.0, 2.0], [3.0, 4.0]], "bfloat16", sycl_queue=queue)
    x = a.asnumpy()
    pairs = [
        (a + a, x + x), (a - 1, x - 1), (1 - a, 1 - x), (a * 2, x * 2), (2 / a, 2 / x),
        (a / 2, x / 2), (a**2, x**2), (2**a, 2**x), (-a, -x), (abs(-a), x), (a @ a, x @ x),
    ]  # fmt: skip
    for actual, expected in pairs:
        assert actual.dtype == "bfloat16"
        np.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-2)
    for actual, expected in [
        (a < 2, x < 2), (a <= a, x <= x), (a > 2, x > 2), (a >= 3, x >= 3), (a == 2, x == 2),
        (a != a, x != x),
    ]:  # fmt: skip
        np.testing.assert_array_equal(dpnp.asnumpy(actual), expected)


@pytest.mark.slow
def test_floor_division_and_remainders(queue):
    a = sycl_dnn.asarray([[7.5, -2.0], [3.0, 0.5]], "bfloat16", sycl_queue=queue)
    x = a.asnumpy()
    pairs = [
        (a // 2, x // 2), (20 // a, 20 // x), (a // a, x // x), (a % 2, x % 2), (20 % a, 20 % x),
    ]  # fmt: skip
    for actual, expected in pairs:
        assert actual.dtype == "bfloat16"
        np.testing.assert_array_equal(actual.asnumpy(), expected)


def test_rounding_and_formats(queue):
    a = sycl_dnn.asarray([7.25, -2.75], "bfloat16", sycl_queue=queue)
    assert round(a).asnumpy().tolist() == [7, -3]
    assert round(a * 2, 0).dtype == "bfloat16"
    assert (f"{a[0]:.1f}", f"{a[1]}") == ("7.2", "-2.75")
    assert f"{a}" == str(a)
    with pytest.raises(TypeError, match="unsupported format string"):
        format(a, ".1f")


def test_sizes_of_elements(queue):
    sizes = {"bfloat16": 2, "float8_e5m2": 1, "uint4": 1}
    for dtype, size in sizes.items():
        assert sycl_dnn.asarray([1.0, 2.0], dtype, sycl_queue=queue).itemsize == size


def test_operators_in_traced_functions(queue):
    x, w, b = (
        dpnp.asarray(np.random.default_rng(i).standard_normal(s).astype("f4"), sycl_queue=queue)
        for i, s in enumerate([(3, 4), (4, 2), (2,)])
    )
    y, pullback = sycl_dnn.vjp(lambda x, w, b: 2 * (x @ w + b) ** 2 / 3, x, w, b)
    z = dpnp.asnumpy(x) @ dpnp.asnumpy(w) + dpnp.asnumpy(b)
    np.testing.assert_allclose(dpnp.asnumpy(y), 2 * z**2 / 3, rtol=1e-5)
    grads = pullback(dpnp.ones_like(y))
    np.testing.assert_allclose(dpnp.asnumpy(grads[2]), (4 * z / 3).sum(0), rtol=1e-4)


def test_an_array_on_the_left_of_float32(queue):
    a = sycl_dnn.asarray([1.0, 2.0], "bfloat16", sycl_queue=queue)
    actual = a + dpnp.asarray(np.array([0.5, 0.5], "f4"), sycl_queue=queue)
    assert isinstance(actual, dpnp.ndarray)
    assert dpnp.asnumpy(actual).tolist() == [1.5, 2.5]


def test_numpy_on_the_left_leaves_it_to_the_array(queue):
    a = sycl_dnn.asarray([1.0, 2.0], "bfloat16", sycl_queue=queue)
    actual = np.float32(3) * a - np.float64(1)
    assert actual.dtype == "bfloat16"
    assert actual.asnumpy().tolist() == [2, 5]
    with pytest.raises(TypeError, match="arrays must be dpnp.ndarray, got numpy.ndarray"):
        np.ones(2) * a
    x = dpnp.asarray(np.array([0.5, 4], "f4"), sycl_queue=queue)
    y, pullback = sycl_dnn.vjp(lambda x: np.float32(3) * x, x)
    assert dpnp.asnumpy(y).tolist() == [1.5, 12]


def test_dpnp_on_the_left_knows_only_its_own_arrays(queue):
    a = sycl_dnn.asarray([1.0, 2.0], "bfloat16", sycl_queue=queue)
    x = dpnp.asarray(np.array([0.5, 0.5], "f4"), sycl_queue=queue)
    for call in (lambda: x - a, lambda: x @ a, lambda: x == a, lambda: x.__iadd__(a)):
        with pytest.raises(TypeError, match="sycl_dnn.trace.array.Array"):
            call()
    assert dpnp.asnumpy(F.sub(x, a)).tolist() == [-0.5, -1.5]
    assert F.add(x, a, out=x) is x
    assert dpnp.asnumpy(x).tolist() == [1.5, 2.5]


def test_repr_shows_values_and_dtype(queue):
    array = sycl_dnn.asarray([1.0, 2.5], "bfloat16", sycl_queue=queue)
    assert repr(array) == "Array([1. , 2.5], dtype=bfloat16)"


def test_empty(queue):
    array = sycl_dnn.asarray(np.ones((0, 4)), "bfloat16", sycl_queue=queue)
    assert (array + 1).shape == (0, 4)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda q: sycl_dnn.Array(dpnp.zeros(2, dtype="u1", sycl_queue=q), "bfloat16"), TypeError,
         "Array: bits must have dtype uint16"),
        (lambda q: sycl_dnn.Array(dpnp.zeros(2, dtype="u1", sycl_queue=q), "float4"), TypeError,
         "Array: dtype must be one of bfloat16"),
        (lambda q: sycl_dnn.asarray([1.0], "int4", sycl_queue=q), ValueError, "must be even"),
        (lambda q: sycl_dnn.asarray([1.0], "float9", sycl_queue=q), TypeError, "dtype must be one"),
        (lambda q: sycl_dnn.asarray([1, 2], "int4", sycl_queue=q) + 1, TypeError,
         "add: input must not be of 4-bit numbers"),
    ],
)  # fmt: skip
def test_errors(call, error, words, queue):
    with pytest.raises(error, match=words):
        call(queue)


def test_results_are_written_to_an_array(queue):
    x = sycl_dnn.asarray(np.float32([-1, 2]), "bfloat16", sycl_queue=queue)
    out = sycl_dnn.asarray(np.zeros(2, "f4"), "bfloat16", sycl_queue=queue)
    assert F.relu(x, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), [0, 2])
    other = sycl_dnn.asarray(np.zeros(2, "f4"), "float8_e5m2", sycl_queue=queue)
    with pytest.raises(ValueError, match=r"relu: out must have .* bfloat16, got .* float8_e5m2"):
        F.relu(x, out=other)


#: Methods that write, with what they are in NumPy.
WRITING = {
    "add": ((1.0,), lambda x: x + 1), "clamp": ((0.0, 1.0), lambda x: x.clip(0, 1)),
    "copy": ((F.full((2,), 3.0),), lambda x: x * 0 + 3), "fill": ((0.5,), lambda x: x * 0 + 0.5),
    "ge": ((0.0,), lambda x: x >= 0), "mul": ((F.full((2,), 2.0),), lambda x: x * 2),
    "relu": ((), lambda x: x.clip(0)), "sub": ((1,), lambda x: x - 1),
    "zero": ((), lambda x: x * 0),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITING)
def test_methods_write_as_torchs(name):
    args, expected = WRITING[name]
    values = np.array([[-1.5, 0.25], [2.0, -0.5], [1.0, 8.0]], "f4")
    whole = sycl_dnn.asarray(values, dtype="bfloat16")
    part = whole[:2]
    assert getattr(part, f"{name}_")(*args) is part
    np.testing.assert_array_equal(part.asnumpy(), expected(values[:2]))
    np.testing.assert_array_equal(whole.asnumpy()[:2], expected(values[:2]))
    assert whole.asnumpy()[2].tolist() == [1.0, 8.0]
    assert (whole.numel(), whole.dim(), str(whole.float().dtype)) == (6, 2, "float32")


def test_methods_write_no_other_shape_and_nothing_that_compiled_functions_capture():
    x = sycl_dnn.asarray(np.ones(2, "f4"), dtype="bfloat16")
    with pytest.raises(ValueError, match=r"add_\(\): the result must have shape \(2,\)"):
        x.add_(F.ones(3, 2))
    with pytest.raises(TypeError, match="add_: cannot write to an array that"):
        sycl_dnn.compile(lambda y: y + F.astype(x.add_(1), "float32"))(F.ones(2))
    with pytest.raises(TypeError, match="add_: cannot write to an array that"):
        sycl_dnn.grad(lambda y: F.sum(x.add_(y)))(F.ones(2))
    assert x.tolist() == [1.0, 1.0]


def _assigned(w):
    w.data = sycl_dnn.asarray(np.full((2, 3), 4.0, "f4"), dtype="bfloat16")


def _increased(w):
    w.data += 2


@pytest.mark.parametrize(
    ("write", "value"),
    [(_assigned, 4.0), (_increased, 3.0), (lambda w: w.data.mul_(0.5), 0.5),
     (lambda w: w.data.__setitem__(slice(None), 0.25), 0.25)],
    ids=["assigned", "increased", "multiplied", "elements"],
)  # fmt: skip
def test_writes_to_data_of_parameters_are_values_not_bits(write, value):
    net = nn.Linear(3, 2).to("bfloat16")
    net.weight[...] = 1.0
    write(net.weight)
    np.testing.assert_array_equal(net.weight.asnumpy(), np.full((2, 3), value))


def test_data_keep_shape_and_dtype():
    x = sycl_dnn.asarray(np.ones(2, "f4"), dtype="bfloat16")
    for value in (F.ones(2), x[:1], 1.0):
        with pytest.raises(ValueError, match=r"data must have shape \(2,\) and dtype bfloat16"):
            x.data = value


def test_arithmetic_of_float8_is_refused_by_name():
    x = sycl_dnn.asarray(np.ones(3, "f4"), dtype="float8_e4m3")
    for call in (lambda: F.mul(x, 2), lambda: x + x, lambda: F.exp(x), lambda: x.mul_(2)):
        with pytest.raises(TypeError, match="float8_e4m3 has no arithmetic: convert arrays first"):
            call()

# SPDX-License-Identifier: Apache-2.0
"""Array creation: constants, sequences, random numbers, also in traces."""

import dpctl
import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.call.cache import plans

#: Calls as both libraries write them.
CALLS = (
    "zeros(2, 3)", "zeros((2, 3))", "ones(2, dtype=int64)", "zeros(0, 2)", "full((2,), 1.5)",
    "full((2,), 3)", "full((2,), True)", "full((), 2.0)", "arange(5)", "arange(2, 5)",
    "arange(5, 0, -2)", "arange(0, 1, 0.25)", "arange(0.0, 0.9, 0.3)", "arange(3, dtype=float32)",
    "arange(0)", "linspace(0, 1, 5)", "linspace(3, -3, 4)", "linspace(1, 2, 1)",
    "zeros(size=(2, 3))", "eye(3)", "eye(2, 4, dtype=int64)", "empty(0, 2)",
)  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_values_and_dtypes_match_torch(call, queue):
    torch = pytest.importorskip("torch")
    expected = eval(call, {n: getattr(torch, n) for n in dir(torch)}).numpy()
    names = {n: getattr(F, n) for n in dir(F)} | {"int64": "int64", "float32": "float32"}
    eager = eval(call[:-1] + ", device=queue)", {**names, "queue": queue})
    x = dpnp.zeros(1, dtype="f4", sycl_queue=queue)
    traced = sycl_dnn.compile(lambda x: (eval(call, names), x * 2))(x)[0]
    for actual in (eager, traced):
        actual = dpnp.asnumpy(actual)
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_traced_constants_are_on_the_device_of_the_arrays(queue):
    x = dpnp.ones((2, 3), dtype="f4", sycl_queue=queue)

    def function(x):
        ramp = F.linspace(0.0, 1.0, 3)
        mask = F.tril(F.ones_like(x))
        return F.sum(F.mul(F.add(F.mul(x, ramp), F.zeros(2, 3)), mask))

    (gradient,) = sycl_dnn.vjp(function, x)[1](1.0)
    np.testing.assert_allclose(dpnp.asnumpy(gradient), [[0, 0, 0], [0, 0.5, 0]])
    value = sycl_dnn.plan(function, x)()
    assert value.sycl_queue == queue
    np.testing.assert_allclose(float(value), 0.5)


def test_like_and_narrow_dtypes(queue):
    x = dpnp.full((2, 3), np.nan, dtype="f4", sycl_queue=queue)
    for name, value in (("zeros_like", 0), ("ones_like", 1), ("empty_like", 0)):
        result = getattr(F, name)(x)
        assert (result.shape, result.sycl_queue) == ((2, 3), queue)
        np.testing.assert_array_equal(dpnp.asnumpy(result), np.full((2, 3), value))
        assert getattr(F, name)(x, dtype="bfloat16").dtype == "bfloat16"
    assert F.full_like(x, 3, dtype="int64").asnumpy().tolist() == [[3] * 3] * 2
    narrow = F.astype(x, "bfloat16")
    assert F.zeros_like(narrow).dtype == "bfloat16"
    assert F.full((2,), 0.5, dtype="bfloat16", device=queue).asnumpy().tolist() == [0.5, 0.5]
    for call, error, words in (
        (lambda: F.zeros(-1), ValueError, "zeros: size must be at least 0"),
        (lambda: F.arange(0, 5, -1), ValueError, "arange: step must lead from 0 to 5"),
        (lambda: F.full((2,), "a"), TypeError, "full: fill_value must be a number"),
        (lambda: F.rand(2, dtype="int64"), TypeError, "rand: dtype must be floating-point"),
    ):
        with pytest.raises(error, match=words):
            call()


@pytest.mark.parametrize("name", ["rand", "randn"])
def test_random_numbers_follow_the_seed(name, queue):
    function, like = getattr(F, name), getattr(F, f"{name}_like")
    x = dpnp.zeros((64, 64), dtype="f4", sycl_queue=queue)

    def noisy(x):
        return F.add(F.add(x, function(64, 64)), F.mul(like(x), 10.0))

    compiled = sycl_dnn.compile(noisy)
    matches = []
    for _ in range(2):
        sycl_dnn.manual_seed(3)
        eager = function(64, 64, device=queue), like(x)
        sycl_dnn.manual_seed(3)
        matches.append([*map(dpnp.asnumpy, (*eager, compiled(x), compiled(x)))])
    first, second = matches
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    one, other, traced, again = first
    np.testing.assert_allclose(traced, one + 10 * other, rtol=1e-4, atol=1e-5)
    assert (traced != again).mean() > 0.9
    mean, spread = (0.5, 12**-0.5) if name == "rand" else (0, 1)
    assert abs(one.mean() - mean) < 0.05
    assert abs(one.std() - spread) < 0.05
    narrow = function(64, 64, dtype="bfloat16", device=queue).asnumpy()
    assert name == "randn" or (narrow < 1).all()
    y, pullback = sycl_dnn.vjp(lambda x: F.mul(x, like(x)), x)
    assert pullback(dpnp.ones_like(y))[0].shape == x.shape


def test_draws_of_indices_follow_the_probabilities(queue):
    sycl_dnn.manual_seed(0)
    chances = dpnp.asarray([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]], dtype="f4", sycl_queue=queue)
    drawn = F.multinomial(chances, 4000, replacement=True).asnumpy()
    assert drawn.shape == (2, 4000)
    shares = np.stack([(drawn == k).mean(1) for k in range(3)], 1)
    np.testing.assert_allclose(shares, [[0.25, 0, 0.75], [0.5, 0.5, 0]], atol=0.04)
    without = sycl_dnn.compile(lambda p: F.multinomial(p, 2))
    assert np.sort(without(chances).asnumpy(), 1).tolist() == [[0, 2], [0, 1]]
    assert F.multinomial(chances[0], 2).shape == (2,)
    with pytest.raises(ValueError, match="num_samples must be at most 3 without replacement"):
        F.multinomial(chances, 4)
    with pytest.raises(TypeError, match="multinomial: input must be an array, got list"):
        F.multinomial([0.5, 0.5], 1)
    with pytest.raises(TypeError, match="multinomial: input must be floating-point"):
        F.multinomial(chances.astype("i4"), 1)


@pytest.mark.parametrize(
    "data",
    [[1.0, 2.0], np.ones(2), np.float32(3), dpnp.ones(2), F.ones(2, dtype="bfloat16")],
    ids=["list", "ndarray", "number", "dpnp", "bfloat16"],
)
def test_tensor_and_asarray_put_arrays_on_the_device(data):
    queue = dpctl.SyclQueue("cpu")
    assert F.tensor(data, device=queue).sycl_queue == queue
    assert F.asarray(data, sycl_queue=queue).sycl_queue == queue
    assert F.tensor(data).sycl_queue != queue
    values = [dpnp.asnumpy(F.astype(F.tensor(data, device=q), "float32")) for q in (None, queue)]
    np.testing.assert_array_equal(*values)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "arange", "eye", "randperm"])
def test_arrays_beyond_the_memory_of_the_device_are_refused(name):
    sizes = (2**22, 2**22) if name == "eye" else (2**44,)
    with pytest.raises(sycl_dnn.OutOfMemory, match=f"^{name}: no device memory for the array"):
        getattr(F, name)(*sizes)


def test_copies_beyond_the_memory_of_the_device_are_refused():
    values = np.broadcast_to(np.float32(0), 2**44)
    with pytest.raises(sycl_dnn.OutOfMemory, match="^asarray: no device memory for the array"):
        sycl_dnn.asarray(values)


_EAGER = [
    lambda n: F.zeros(n, 3), lambda n: F.ones(n), lambda n: F.full((n,), 2.5), lambda n: F.eye(n),
    lambda n: F.arange(n), lambda n: F.linspace(0, 1, n), lambda n: F.randn(n),
    lambda n: F.rand(n, dtype="bfloat16"), lambda n: F.randint(0, 9, (n,)),
]  # fmt: skip


@pytest.mark.parametrize("make", _EAGER)
def test_repeated_creations_run_without_python(make, clean_cache):
    first = make(5)
    hits = plans.calls.hits
    again = make(5)
    assert plans.calls.hits == hits + 1
    assert first is not again
    assert first.usm_type == again.usm_type == "device"


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "complex64", "bfloat16"])
@pytest.mark.parametrize("case", [(0, 1, 7), (-3.5, 20, 11), (5, -5, 4), (2, 9, 1), (0, 9, 2)])
def test_linspace_counts_from_both_ends(case, dtype):
    start, end, count = case
    result = F.linspace(*case, dtype=dtype)
    traced = sycl_dnn.compile(lambda x: F.linspace(*case, dtype=dtype))(F.ones(1))
    assert str(result.dtype) == str(traced.dtype) == dtype
    is_complex = dtype == "complex64"
    values, same = (
        dpnp.asnumpy(v if is_complex else F.astype(v, "float64")) for v in (result, traced)
    )
    np.testing.assert_array_equal(values, same)
    if dtype.startswith("int"):
        start, end = int(start), int(end)
    step = (end - start) / max(count - 1, 1)
    index = np.arange(count)
    is_first = index < max(count // 2, 1)
    expected = np.where(is_first, start + index * step, end - (count - 1 - index) * step)
    if dtype.startswith("int"):
        expected = np.trunc(expected)
    tolerance = {"bfloat16": 0.005, "float64": 1e-15}.get(dtype, 1e-6)
    np.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance)
    if count > 1:
        assert values[-1] == end  # exactly


def test_linspace_refuses_other_values():
    with pytest.raises(TypeError, match="linspace: end must be a number, got str"):
        F.linspace(0, "1", 3)
    with pytest.raises(TypeError, match="linspace: start must be real for dtype float32"):
        F.linspace(1j, 1, 3)


def test_nan_may_be_asked_for():
    with sycl_dnn.debug_nans():
        assert bool(F.isnan(F.full((2,), float("nan"))).all())

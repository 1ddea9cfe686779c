"""Kernels of scans: values in every dtype, layout and size, in parts, fused, compiled once."""

import numpy as np
import pytest
import wide_dtypes
from kernel_cases import of_nodes

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.kernels import building
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops import scan
from sycl_dnn.ops.creation import iota

RNG = np.random.default_rng(17)
#: Sizes around vectors, in parts, of few and many rows.
SHAPES = [
    (1,), (7,), (16,), (33,), (100_003,), (3, 50_001), (50_001, 3), (40, 70), (70, 40), (5, 33, 9),
    (2, 3, 4, 5), (9, 1), (1, 9), (1000, 4),
]  # fmt: skip


def recurrence(a, b, axis, state=0.0):
    a, b = (np.moveaxis(v.astype("f8"), axis, 0) for v in np.broadcast_arrays(a, b))
    result = np.zeros(b.shape)
    for n in range(len(b)):
        state = result[n] = a[n] * state + b[n]
    return np.moveaxis(result, 0, axis)


def last_places(a, axis, wins):
    """Index of the running extreme, the last among equal ones and NaN."""
    rows = np.moveaxis(a, axis, 0)
    best, where, result = rows[0], np.zeros(rows[0].shape, int), np.zeros(rows.shape, int)
    for n, row in enumerate(rows):
        taken = np.isnan(row) | (~np.isnan(best) & wins(row, best))
        best, where = np.where(taken, row, best), np.where(taken, n, where)
        result[n] = where
    return np.moveaxis(result, 0, axis)


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sweep(6)
def test_sums_of_every_size(shape, is_reversed, on_queue):
    a = RNG.uniform(-1, 1, shape).astype("f4")
    for axis in range(a.ndim):
        result = of_nodes(
            lambda v, k=axis: scan.CUMSUM(v, axis=k, is_reversed=is_reversed), on_queue(a)
        ).asnumpy()
        turned = np.flip(a, axis) if is_reversed else a
        expected = np.cumsum(turned.astype("f8"), axis)
        expected = np.flip(expected, axis) if is_reversed else expected
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sweep(7)
def test_other_scans_of_every_size(shape, on_queue):
    a, b = (RNG.uniform(-1, 1, shape).astype("f4") for _ in range(2))
    x, y = on_queue(a), on_queue(b)
    for axis in range(a.ndim):
        result = F.logcumsumexp(x, axis).asnumpy()
        expected = np.logaddexp.accumulate(a.astype("f8"), axis)
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)
        result = F.linear_recurrence(x, y, axis).asnumpy()
        np.testing.assert_allclose(result, recurrence(a, b, axis), rtol=1e-6, atol=1e-6)
        result = F.cumprod(x + 1, axis).asnumpy()
        np.testing.assert_allclose(result, np.cumprod((a + 1).astype("f8"), axis), 1e-6, 1e-6)
        rough = np.round(a * 3)
        for function, accumulate, wins in (
            (F.cummax, np.maximum, np.greater_equal), (F.cummin, np.minimum, np.less_equal),
        ):  # fmt: skip
            values, indices = function(on_queue(rough), axis)
            np.testing.assert_array_equal(values.asnumpy(), accumulate.accumulate(rough, axis))
            np.testing.assert_array_equal(indices.asnumpy(), last_places(rough, axis, wins))


#: Views of an array of (80, 80, 80): each has the shape (6, 5, 40).
VIEWS = {
    "parts": lambda a: a[:6, 1:6, 2:42],
    "steps": lambda a: a[:12:2, :10:2, :80:2],
    "backwards": lambda a: a[5::-1, :5, 39::-1],
    "turned": lambda a: a[:40, :5, :6].transpose(2, 1, 0),
    "middle": lambda a: a[:5, :6, :40].transpose(1, 0, 2),
}


@pytest.mark.parametrize("view", VIEWS)
def test_every_layout(view, on_queue):
    a = RNG.integers(-3, 4, (80, 80, 80)).astype("f4")
    x, expected = VIEWS[view](on_queue(a)), VIEWS[view](a)
    for axis in range(3):
        np.testing.assert_array_equal(F.cumsum(x, axis).asnumpy(), np.cumsum(expected, axis))


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "int16"]
)
@pytest.mark.sweep(2)
def test_every_dtype(dtype, queue, on_queue):
    wide_dtypes.need(dtype, queue)
    a = RNG.integers(0, 3, (4, 37))
    x = sycl_dnn.asarray(on_queue(a.astype("f4")), dtype=dtype)
    kind = dtype if "float" in dtype else "int64"
    for name, expected in (("cumsum", np.cumsum(a, 1)), ("cumprod", np.cumprod(a % 3, 1))):
        result = getattr(F, name)(x, 1)
        assert str(result.dtype) == kind
        exact = F.astype(sycl_dnn.asarray(on_queue(expected.astype("f4")), dtype="float32"), kind)
        np.testing.assert_array_equal(
            F.astype(result, "float32").asnumpy(), F.astype(exact, "float32").asnumpy()
        )
    values, indices = F.cummax(x, 1)
    assert (str(values.dtype), str(indices.dtype)) == (dtype, "int64")
    np.testing.assert_array_equal(
        F.astype(values, "float32").asnumpy(), np.maximum.accumulate(a, 1)
    )
    np.testing.assert_array_equal(indices.asnumpy(), last_places(a, 1, np.greater_equal))


def test_integers_wrap_in_the_dtype_of_the_result(on_queue):
    a = np.full((3, 40), 100, "i1")
    result = F.cumsum(on_queue(a), 1, dtype="int8")
    np.testing.assert_array_equal(result.asnumpy(), np.cumsum(a, 1, dtype="i1"))
    big = F.cumprod(on_queue(np.full((2, 40), 3, "i4")), 1, dtype="int32")
    np.testing.assert_array_equal(big.asnumpy(), np.cumprod(np.full((2, 40), 3, "i4"), 1, "i4"))


def test_nan_and_infinities(on_queue):
    a = RNG.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -3.0], (200, 37)).astype("f4")
    with np.errstate(all="ignore"):
        for axis in (0, 1):
            x = on_queue(a)
            np.testing.assert_array_equal(F.cumsum(x, axis).asnumpy(), np.cumsum(a, axis))
            np.testing.assert_array_equal(F.cumprod(x, axis).asnumpy(), np.cumprod(a, axis))
            result = F.logcumsumexp(x, axis).asnumpy()
            expected = np.logaddexp.accumulate(a.astype("f8"), axis)
            np.testing.assert_allclose(result, expected, rtol=1e-6)
            values, indices = F.cummin(x, axis)
            np.testing.assert_array_equal(values.asnumpy(), np.minimum.accumulate(a, axis))
            np.testing.assert_array_equal(indices.asnumpy(), last_places(a, axis, np.less_equal))


def test_products_after_a_zero_are_zero_however_large_they_were(on_queue):
    """Products of parts would overflow, and infinity times 0 is NaN."""
    a = np.full((2, 40_000), 2.0**100, "f4")
    a[:, 1] = 0
    result = F.cumprod(on_queue(a), 1).asnumpy()
    assert not result[:, 1:].any()
    np.testing.assert_array_equal(result[:, 0], 2.0**100)


def test_long_sums_are_accurate(on_queue):
    a = RNG.uniform(0, 1, (1 << 21,)).astype("f4")
    result, expected = F.cumsum(on_queue(a), 0).asnumpy(), np.cumsum(a.astype("f8"))
    assert np.max(np.abs(result - expected) / np.spacing(expected.astype("f4"))) < 1.0


def test_elementwise_terms_are_fused_into_the_scan(on_queue):
    def definition(x, y):
        sums = scan.CUMSUM(ops.SIN(x) * y + ops.cast(iota(50, 1, 2), "float32"), axis=1,
                           is_reversed=False)  # fmt: skip
        return ops.EXP(sums * 0.01) + y

    a, b = RNG.uniform(-1, 1, (30, 50)).astype("f4"), RNG.uniform(-1, 1, 50).astype("f4")
    with sycl_dnn.profile() as p:
        result = of_nodes(definition, on_queue(a), on_queue(b)).asnumpy()
    expected = np.exp(np.cumsum(np.sin(a.astype("f8")) * b + np.arange(50), 1) * 0.01) + b
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    assert sum(r.kind == "primitive" for r in p.records) == 1


def test_costly_terms_of_columns_in_parts(on_queue):
    """A result along the axis that is split, of a term that reductions would keep."""
    a = RNG.uniform(-1, 1, (335, 1444)).astype("f4")
    compiled = sycl_dnn.compile(lambda x: F.cumsum(F.softmin(x * 3, -2), -2))
    weights = np.exp(-3 * a.astype("f8"))
    expected = np.cumsum(weights / weights.sum(0), 0)
    np.testing.assert_allclose(compiled(on_queue(a)).asnumpy(), expected, rtol=1e-5)


def test_values_and_indices_are_one_kernel(on_queue):
    with sycl_dnn.profile() as p:
        F.cummax(on_queue(np.ones((30, 50), "f4")), 1)
    assert sum(r.kind == "primitive" for r in p.records) == 1


def test_new_shapes_need_no_compiler(on_queue):
    F.cumsum(on_queue(np.ones((50, 600), "f4")), 1)
    known = len(building._made)
    for shape in ((60, 700), (33, 5000), (40, 10_001)):
        result = F.cumsum(on_queue(np.ones(shape, "f4")), 1).asnumpy()
        np.testing.assert_array_equal(result, np.broadcast_to(np.arange(1, shape[1] + 1), shape))
    assert len(building._made) == known


# --- Recurrences


def test_a_recurrence_with_an_initial_state(on_queue):
    a, b, h = (RNG.uniform(-1, 1, s).astype("f4") for s in ((3, 20, 4), (20, 1), (3, 1, 4)))
    result = F.linear_recurrence(on_queue(a), on_queue(b), 1, on_queue(h)).asnumpy()
    expected = recurrence(a, b, 1, h[:, 0].astype("f8"))
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    halves = [F.linear_recurrence(on_queue(a[:, :9]), on_queue(b[:9]), 1, on_queue(h))]
    halves.append(
        F.linear_recurrence(on_queue(a[:, 9:]), on_queue(b[9:]), 1, halves[0][:, 8:])
    )  # fmt: skip
    np.testing.assert_allclose(F.cat(halves, 1).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_gradients_of_a_recurrence(on_queue):
    a, b, h, g = (
        on_queue(RNG.uniform(-1, 1, s).astype("f4"))
        for s in ((2, 12, 3), (12, 1), (2, 1, 3), (2, 12, 3))
    )

    def in_steps(a, b, _, h):
        states = [h]
        for n in range(12):
            states.append(a[:, n : n + 1] * states[-1] + b[n : n + 1])
        return F.cat(states[1:], 1)

    for actual, expected in zip(
        *(
            sycl_dnn.compile(
                sycl_dnn.grad(lambda a, b, h, f=f: F.sum(f(a, b, 1, h) * g), argnums=(0, 1, 2))
            )(a, b, h)
            for f in (F.linear_recurrence, in_steps)
        ),
        strict=True,
    ):
        np.testing.assert_allclose(actual.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: F.linear_recurrence(x, x, 2), "linear_recurrence: dim must be in"),
        (lambda x: F.linear_recurrence(x, x[:, :2], 0), "must broadcast"),
        (lambda x: F.linear_recurrence(x, x, 1, x), "initial must broadcast to"),
        (lambda x: F.cumsum(x, 0, dtype="bool"), "cumsum: dtype must not be bool"),
        (lambda x: F.logcumsumexp(F.astype(x, "int32"), 0), "must have a floating-point dtype"),
        (lambda x: F.cummax(F.astype(x, "complex64"), 0), "cummax: input must not be complex"),
    ],
)
def test_invalid_calls_are_refused(call, message, on_queue):
    with pytest.raises((TypeError, ValueError), match=message):
        call(on_queue(np.ones((3, 4), "f4")))


def test_empty_arrays(on_queue):
    x = on_queue(np.zeros((0, 3), "f4"))
    for name in ("cumsum", "cumprod", "logcumsumexp"):
        assert getattr(F, name)(x, 0).shape == (0, 3)
        assert getattr(F, name)(x, 1).shape == (0, 3)
    assert F.cummax(x, 1).indices.shape == (0, 3)
    assert F.linear_recurrence(x, x, 0).shape == (0, 3)
    assert sycl_dnn.grad(lambda x: F.sum(F.cumsum(x, 0)))(x).shape == (0, 3)

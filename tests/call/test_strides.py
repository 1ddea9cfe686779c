# SPDX-License-Identifier: Apache-2.0
"""Arrays with strides that oneDNN cannot describe: negative, zero, overlapping."""

import dpnp
import numpy as np
import pytest
from wide_dtypes import need

import sycl_dnn
from sycl_dnn import functional as F

VIEWS = {
    "reversed": lambda a: a[::-1],
    "both axes reversed": lambda a: a[::-1, ::-1],
    "one row for all": lambda a: (
        np.broadcast_to(a[0], a.shape)
        if isinstance(a, np.ndarray)
        else dpnp.broadcast_to(a[0], a.shape)
    ),
    "interleaved": lambda a: a[:, ::2],
}
CALLS = {
    "eager": lambda f, held, x: f(x, held),
    "frozen": lambda f, held, x: f(x, sycl_dnn.freeze(held)),
    "vjp": lambda f, held, x: sycl_dnn.vjp(f, x, held)[0],
    "vjp that holds it": lambda f, held, x: sycl_dnn.vjp(lambda x: f(x, held), x)[0],
    "compiled": lambda f, held, x: sycl_dnn.compile(f)(x, held),
    "compiled with it": lambda f, held, x: sycl_dnn.compile(lambda x: f(x, held))(x),
    "bound": lambda f, held, x: sycl_dnn.compile(f).bind(x, held)(),
    "plan": lambda f, held, x: sycl_dnn.plan(f, x, held)(),
    "plan that holds it": lambda f, held, x: sycl_dnn.plan(lambda x: f(x, held), x)(),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("view", VIEWS)
def test_every_call_takes_every_view(queue, view, call):
    values = np.arange(21, dtype="f4").reshape(3, 7)
    rows = np.linspace(-1, 1, 12, dtype="f4").reshape(4, 3)
    held = VIEWS[view](dpnp.asarray(values, sycl_queue=queue))
    result = CALLS[call](F.matmul, held, dpnp.asarray(rows, sycl_queue=queue))
    np.testing.assert_allclose(
        dpnp.asnumpy(result), rows @ VIEWS[view](values), rtol=1e-5, atol=1e-5
    )


def test_captured_arrays_of_a_vjp_or_plan_are_read_at_each_call(queue):
    base = dpnp.arange(15, dtype="f4", sycl_queue=queue).reshape(3, 5)
    held, x = base[::-1], dpnp.ones((4, 3), dtype="f4", sycl_queue=queue)

    def function(x):
        return F.matmul(x, held)

    plan = sycl_dnn.plan(function, x)
    for first in (0.0, 100.0):
        base[0, 0] = first
        y, pullback = sycl_dnn.vjp(function, x)
        expected = dpnp.asnumpy(held).sum(0)
        np.testing.assert_array_equal(dpnp.asnumpy(y)[0], expected)
        np.testing.assert_array_equal(dpnp.asnumpy(plan())[0], expected)
        (slope,) = pullback(dpnp.ones_like(y))
        np.testing.assert_array_equal(dpnp.asnumpy(slope)[0], dpnp.asnumpy(held).sum(1))


def test_gradients_of_unsupported_strides(queue):
    x = dpnp.arange(-3, 3, dtype="f4", sycl_queue=queue)[::-1]
    (slope,) = sycl_dnn.vjp(F.relu, x)[1](dpnp.ones(6, dtype="f4", sycl_queue=queue))
    np.testing.assert_array_equal(dpnp.asnumpy(slope), dpnp.asnumpy(x) > 0)


def test_outputs_with_negative_strides_are_refused(queue):
    x = dpnp.arange(-3, 3, dtype="f4", sycl_queue=queue)
    with pytest.raises(ValueError, match="out must have positive strides"):
        F.relu(x, out=dpnp.empty(6, dtype="f4", sycl_queue=queue)[::-1])
    with pytest.raises(ValueError, match="out must have positive strides"):
        sycl_dnn.plan(F.relu, x, out=dpnp.empty(6, dtype="f4", sycl_queue=queue)[::-1])
    images = dpnp.ones((2, 6, 4, 4), dtype="f4", sycl_queue=queue)
    with pytest.raises(ValueError, match="batch_norm: running_mean"):
        F.batch_norm(images, x[::-1], dpnp.ones(6, dtype="f4", sycl_queue=queue), training=True)


@pytest.mark.parametrize("shape", [(7, 0), (2, 0, 3), (0,)])
def test_empty_arrays_may_be_written_to(queue, shape):
    x, out = (dpnp.empty(shape, dtype="f4", sycl_queue=queue) for _ in range(2))
    assert F.relu(x, out=out) is out
    assert F.relu(x, inplace=True) is x
    assert F.add(x, x, out=out) is out


DTYPES = [
    "bool", "int8", "uint8", "int16", "int32", "int64", "uint32", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("view", VIEWS)
def test_elements_of_every_dtype_are_moved_as_bits(queue, view, dtype):
    need(dtype, queue)
    bits = np.random.default_rng(3).integers(0, 256, (6, 9, np.dtype(dtype).itemsize), np.uint8)
    values = (bits % 2 if dtype == "bool" else bits).view(dtype)[..., 0]
    x = VIEWS[view](dpnp.asarray(values, sycl_queue=queue))
    expected = np.ascontiguousarray(VIEWS[view](values))
    for call in (F.unsqueeze, sycl_dnn.compile(F.unsqueeze)):
        actual = dpnp.asnumpy(call(x, 0))[0]
        assert actual.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3"])
@pytest.mark.parametrize("view", VIEWS)
def test_elements_of_carried_dtypes_are_moved_as_bits(queue, view, dtype):
    kind = np.uint16 if dtype == "bfloat16" else np.uint8
    values = np.random.default_rng(4).integers(0, np.iinfo(kind).max, (6, 9), kind)
    x = sycl_dnn.Array(VIEWS[view](dpnp.asarray(values, sycl_queue=queue)), dtype)
    actual = dpnp.asnumpy(F.unsqueeze(x, 0).bits)[0]
    assert actual.tobytes() == np.ascontiguousarray(VIEWS[view](values)).tobytes()


@pytest.mark.parametrize("view", VIEWS)
def test_kernels_copy_arrays_that_they_can_index(queue, view, monkeypatch):
    values = np.arange(45.0, dtype="f4").reshape(5, 9)
    x, expected = VIEWS[view](dpnp.asarray(values, sycl_queue=queue)), VIEWS[view](values)
    report = sycl_dnn.compile(F.exp).explain(x)
    assert "dpnp" not in {part.way for part in report.parts}

    def refuse(grid, name):
        raise NotImplementedError(name)

    sycl_dnn.cache.clear()
    monkeypatch.setattr("sycl_dnn.kernels.elementwise_schedule.Grid.check", refuse)
    np.testing.assert_array_equal(dpnp.asnumpy(F.unsqueeze(x, 0))[0], expected)
    assert "dpnp" in {p.way for p in sycl_dnn.compile(lambda x: F.unsqueeze(x, 0)).explain(x).parts}


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_results_keep_the_usm_type(queue, usm_type):
    place = {"sycl_queue": queue, "usm_type": usm_type}
    indices = dpnp.asarray([0, 2], dtype="i8", **place)
    for dtype in ("f4", "i4"):
        table = dpnp.ones((4, 3), dtype=dtype, **place)
        assert F.embedding(indices, table).usm_type == usm_type
    assert F.one_hot(indices, 3).usm_type == usm_type
    table = dpnp.ones((4, 3), dtype="f4", **place)
    y, pullback = sycl_dnn.vjp(F.embedding, indices, table)
    assert pullback(y)[1].usm_type == usm_type
    images = dpnp.ones((1, 1, 4, 4), dtype="f4", **place)
    pooled, places = F.max_pool2d(images, 2, return_indices=True)
    assert F.max_unpool2d(pooled, places, 2).usm_type == usm_type


def _pullback(queue):
    return sycl_dnn.vjp(F.relu, dpnp.ones((2, 3), dtype="f4", sycl_queue=queue))[1]


ERRORS = {
    "cat of None": (lambda x, q: F.cat([None, x]), TypeError, r"cat: tensors\[0\] .*NoneType"),
    "stack of None": (lambda x, q: F.stack([x, None]), TypeError, r"stack: tensors\[1\] .*None"),
    "cat without axes": (lambda x, q: F.cat([x.sum()]), ValueError, r"cat: tensors\[0\] .*axis"),
    "lstm of None": (
        lambda x, q: F.lstm(x[None], None, [None] * 4), TypeError, r"lstm: params\[0\] .*NoneType"
    ),
    "pullback of NumPy": (
        lambda x, q: _pullback(q)(np.ones((2, 3))), TypeError, "dy .* got numpy.ndarray"
    ),
    "pullback of a list": (lambda x, q: _pullback(q)([1, 2]), TypeError, "dy .* got list"),
    "pullback of a number": (lambda x, q: _pullback(q)(2.0), ValueError, r"dy .* shape \(2, 3\)"),
    "number beyond uint8": (lambda x, q: F.add(x.astype("u1"), 300), ValueError, "add: .*uint8"),
    "pad": (lambda x, q: F.pad(x, (2**64, 0)), ValueError, r"pad: pad must .*18446744073709551616"),
    "more elements than kernels can number": (
        lambda x, q: F.flip(dpnp.broadcast_to(x.astype("i1")[0, :1], (2**31,)), 0),
        NotImplementedError, r"must span at most 2\*\*31 - 2\*\*16 elements",
    ),
    "classes": (lambda x, q: F.one_hot(x.astype("i8"), 2**40), NotImplementedError, r"2\*\*31"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_argument(queue, name):
    call, error, text = ERRORS[name]
    x = dpnp.ones((2, 3), dtype="f4", sycl_queue=queue)
    with pytest.raises(error, match=text):
        call(x, queue)


@pytest.mark.cpu  # oneDNN computes float64 on GPUs that have it
@pytest.mark.slow
def test_a_plan_explains_that_there_is_no_float64(queue):
    x = dpnp.ones((1, 2, 4, 4), dtype="f8", sycl_queue=queue)
    with pytest.raises(sycl_dnn.Unimplemented, match="computes no float64 .* use float32: astype"):
        sycl_dnn.plan(F.avg_pool2d, x, 2)

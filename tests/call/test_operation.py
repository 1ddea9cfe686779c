# SPDX-License-Identifier: Apache-2.0
"""Repeated calls on the fast path (``_core.CallTable``) return what the slow path returns."""

import functools
import gc
import weakref

import dpctl
import dpnp
import numpy as np
import pytest
from repeated_calls import array, taken

import sycl_dnn
from sycl_dnn import functional as F

pytestmark = pytest.mark.usefixtures("clean_cache")


def twice(call):
    call()
    return taken(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, w: F.relu(x),
        lambda x, w: F.linear(x, w, None),
        lambda x, w: F.softmax(x, dim=-1),
        lambda x, w: F.cat([x, w]),
        lambda x, w: x if F.relu(x, out=x) is None else F.relu(x, out=x),
        lambda x, w: F.linear(x, sycl_dnn.freeze(w)),
    ],
    ids=["one", "two", "keyword", "list", "out", "frozen anew"],
)
def test_the_second_call_takes_the_fast_path(queue, call):
    x, w = array(queue, 4, 4, value=2.0), array(queue, 4, 4)
    long = dpnp.asnumpy(call(x, w))
    short = call(x, w)
    np.testing.assert_array_equal(dpnp.asnumpy(short), long)


@pytest.mark.cpu  # GPUs need no copy of these
def test_frozen_weights_take_the_fast_path_once_packed(queue):
    x, w = array(queue, 1, 8, 9, 9), sycl_dnn.freeze(array(queue, 8, 8, 3, 3))
    _, hits = twice(lambda: F.conv2d(x, w))
    assert hits == 1
    other = sycl_dnn.freeze(array(queue, 8, 8, 3, 3, value=2.0))
    y, hits = taken(lambda: F.conv2d(x, other))
    assert hits == 0
    assert float(y.max()) == 2 * 72
    y, hits = taken(lambda: F.conv2d(x, other))
    assert hits == 1
    assert float(y.max()) == 2 * 72


@pytest.mark.parametrize(
    "make",
    [np.float32, np.float64, np.array, lambda v: np.array(v, "f4"), lambda v: np.array(v)[()]],
)
def test_numbers_of_numpy_take_the_fast_path_with_their_values(queue, make):
    x = array(queue, 3, value=-1.0)
    for slope in (0.25, 0.5, 0.25):
        y, hits = twice(lambda: F.leaky_relu(x, make(slope)))  # noqa: B023
        assert hits >= 1
        assert dpnp.asnumpy(y).tolist() == [-slope] * 3


def test_numbers_of_numpy_are_told_apart_by_type_and_value(queue):
    x = array(queue, 3, value=2.0)
    scaled = sycl_dnn.compile(lambda x, n: x * int(n) if n.dtype.kind == "i" else x + float(n))
    calls = (3, np.array(3)), (4, np.array(4)), (3, np.array(3, "i4"))
    for _ in range(2):
        for expected, number in calls:
            assert dpnp.asnumpy(scaled(x, number)).tolist() == [2.0 * expected] * 3
        assert dpnp.asnumpy(scaled(x, np.array(1, "u1"))).tolist() == [3.0] * 3
    with pytest.raises(TypeError, match=r"numpy\.ndarray"):
        scaled(x, np.array([3]))


@pytest.mark.parametrize(
    "other",
    [
        lambda x: (x, 0.2),
        lambda x: (x, 1),
        lambda x: (x.T, 0.1),
        lambda x: (x[::2], 0.1),
        lambda x: (x.astype("i4"), 0.1),
        lambda x: (sycl_dnn.freeze(x), 0.1),
    ],
    ids=["value", "type", "strides", "view", "dtype", "frozen"],
)
def test_a_different_call_does_not_hit_the_entry(queue, other):
    x = array(queue, 4, 6, value=-1.0)
    twice(lambda: F.leaky_relu(x, 0.1))
    try:
        _, hits = taken(lambda: F.leaky_relu(*other(x)))
    except TypeError:
        hits = 0
    assert hits == 0


def test_arrays_of_two_queues_are_refused_again(queue):
    other = dpctl.SyclQueue(queue.sycl_device)
    x = array(queue, 4, 4)
    twice(lambda: F.add(x, x))
    for _ in range(2):
        with pytest.raises(dpnp.exceptions.ExecutionPlacementError):
            F.add(x, array(other, 4, 4))


def test_overlapping_out_is_distinguished_from_separate_out(queue):
    both = dpnp.arange(12, dtype="f4", sycl_queue=queue)
    x, apart = both[:8], array(queue, 8)
    twice(lambda: F.mul(x, x, out=apart))
    _, hits = taken(lambda: F.mul(x, x, out=both[4:]))
    assert hits == 0
    assert dpnp.asnumpy(both[4:]).tolist() == [float(i * i) for i in range(8)]


def test_a_read_only_out_is_refused_again(queue):
    x, out = array(queue, 8), array(queue, 8)
    twice(lambda: F.relu(x, out=out))
    out.get_array().flags.writable = False
    for _ in range(2):
        with pytest.raises(ValueError, match="writable"):
            F.relu(x, out=out)


def test_an_evicted_plan_is_not_run(queue):
    x = array(queue, 4, 4)
    twice(lambda: F.relu(x))
    sycl_dnn.cache.clear()
    _, hits = taken(lambda: F.relu(x))
    assert hits == 0
    assert sycl_dnn.cache.info().misses == 1
    sycl_dnn.cache.resize(1)
    F.abs(x)
    assert taken(lambda: F.relu(x))[1] == 0


@pytest.mark.slow
def test_arrays_of_a_call_are_not_kept_alive(queue):
    x = array(queue, 4, 4)
    y, _ = twice(functools.partial(F.relu, x))
    dropped = weakref.ref(x.get_array())
    queue.wait()
    del x, y
    sycl_dnn.onednn.Stream(sycl_dnn.onednn.Engine(queue), queue).wait()
    gc.collect()
    assert dropped() is None


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_calls_with_dicts_in_any_order_are_repeated(names, queue):
    values = {name: dpnp.full(3, i + 2.0, dtype="f4", sycl_queue=queue)
              for i, name in enumerate(names)}  # fmt: skip
    compiled = sycl_dnn.compile(lambda d, **more: {**d, "c": d["a"] - d["b"] * more["a"]})
    for _ in range(3):
        result = compiled(values, **values)
        assert list(result) == [*names, "c"]
        expected = dpnp.asnumpy(values["a"] - values["b"] * values["a"])
        np.testing.assert_array_equal(dpnp.asnumpy(result["c"]), expected)
        assert result["a"] is values["a"]
    assert compiled._plans.calls.hits == 2


@pytest.mark.parametrize(
    ("function", "args", "name"),
    [
        (F.normalize, (F.ones(3, 4), 2, 5), "normalize: dim must be in"),
        (F.cosine_embedding_loss, (F.ones(3, 4), F.ones(5, 4), F.ones(3)), "cosine_embedding_loss"),
        (F.std_mean, (F.ones(3, 4), 4), "std_mean: std: dim must be in"),
        (F.scaled_dot_product_attention,
         (F.ones(2, 3, 4, 8), F.ones(2, 2, 4, 8), F.ones(2, 2, 4, 8)),
         "scaled_dot_product_attention: shapes must broadcast"),
    ],
)  # fmt: skip
def test_errors_of_inner_functions_name_the_one_that_was_called(function, args, name):
    for call in (function, sycl_dnn.compile(lambda *args: function(*args))):
        with pytest.raises(ValueError, match=rf"^{name}"):
            call(*args)

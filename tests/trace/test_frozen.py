# SPDX-License-Identifier: Apache-2.0
import gc
from pathlib import Path

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


@pytest.fixture
def make(queue):
    rng = np.random.default_rng(0)
    return lambda *shape: dpnp.asarray(rng.standard_normal(shape).astype("f4"), sycl_queue=queue)


def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def test_plain_weights_may_be_written_between_calls(make):
    x, w = make(2, 8, 9, 9), make(16, 8, 3, 3)
    for _ in range(3):
        w -= 0.1 * make(16, 8, 3, 3)
        fresh = dpnp.asarray(dpnp.asnumpy(w), sycl_queue=w.sycl_queue)
        wanted = dpnp.asnumpy(F.conv2d(x, fresh))
        np.testing.assert_array_equal(dpnp.asnumpy(F.conv2d(x, w)), wanted)


def test_frozen_weights_are_packed_once(make):
    x, w = make(2, 8, 9, 9), sycl_dnn.freeze(make(16, 8, 3, 3))
    first = dpnp.asnumpy(F.conv2d(x, w))
    (packed,) = w.packed.values()
    second = dpnp.asnumpy(F.conv2d(x, w))
    assert next(iter(w.packed.values())) is packed
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, dpnp.asnumpy(F.conv2d(x, w.data)))


def test_two_batch_sizes_share_one_packed_copy(make):
    w = sycl_dnn.freeze(make(16, 8, 3, 3))
    for n in (2, 3):
        F.conv2d(make(n, 8, 9, 9), w)
    assert len(w.packed) == 1
    assert w.nbytes_packed >= w.data.nbytes


def test_frozen_arrays_refuse_writing(make):
    w = sycl_dnn.freeze(make(4, 4))
    with pytest.raises(ValueError, match="read-only"):
        w.data[0] = 0
    with pytest.raises(ValueError, match="writable"):
        F.relu(make(4, 4), out=w.data)


def test_freeze_refuses_what_is_no_array():
    with pytest.raises(TypeError, match="list"):
        sycl_dnn.freeze([1.0])


@pytest.mark.resident_memory
def test_packed_copies_die_with_the_frozen_array(make, queue):
    """Nothing but the frozen array holds them: a thousand of 4 MB each would not fit otherwise."""
    x, resident = make(1, 64, 8, 8), []
    for i in range(60):
        w = sycl_dnn.freeze(make(256, 64, 8, 8))
        F.conv2d(x, w)
        queue.wait()
        del w
        if i in (20, 59):
            gc.collect()
            resident.append(resident_mb())
    assert resident[1] - resident[0] < 40, resident


def test_gradient_with_frozen_weights(make):
    x, w = make(2, 8, 9, 9), make(16, 8, 3, 3)
    dy = make(2, 16, 7, 7)
    _, plain = sycl_dnn.vjp(F.conv2d, x, w)
    _, frozen = sycl_dnn.vjp(F.conv2d, x, sycl_dnn.freeze(w))
    for a, b in zip(plain(dy), frozen(dy), strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(a), dpnp.asnumpy(b))

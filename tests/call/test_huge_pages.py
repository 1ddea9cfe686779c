# SPDX-License-Identifier: Apache-2.0
"""Which memory moves to huge pages: that of large arrays from NumPy, and of a new plan's arrays."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import _core
from sycl_dnn import functional as F

#: Elements of float32 in 8 MB.
N = 1 << 21


@pytest.fixture
def moved(monkeypatch):
    """Return a list of (bytes, is_fresh) of the memory for which huge pages are requested."""
    requests = []
    use = _core.use_huge_pages

    def noted(queue, memory, is_fresh):
        requests.append((memory.nbytes, is_fresh))
        use(queue, memory, is_fresh=is_fresh)

    monkeypatch.setattr(_core, "use_huge_pages", noted)
    return requests


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_a_large_copy_of_a_numpy_array_is_in_huge_pages(moved, queue, dtype):
    values = np.arange(2 * N).astype(dtype).reshape(64, -1)
    result = sycl_dnn.asarray(values, sycl_queue=queue)
    assert moved == [(values.nbytes, True)]
    assert result.dtype == values.dtype
    assert result.sycl_queue == queue
    np.testing.assert_array_equal(result.asnumpy(), values)


def test_converted_and_transposed_copies_equal_dpnps(moved, queue):
    values = np.arange(N, dtype="i4").reshape(64, -1)
    converted = sycl_dnn.asarray(values, dtype="f4", sycl_queue=queue)
    turned = sycl_dnn.asarray(values.T, sycl_queue=queue)
    assert not moved
    assert converted.dtype == np.float32
    assert turned.strides == values.T.strides
    np.testing.assert_array_equal(converted.asnumpy(), values)
    np.testing.assert_array_equal(turned.asnumpy(), values.T)


def test_large_arrays_of_a_new_plan_move_once(moved, queue):
    x = dpnp.arange(N, dtype="f4", sycl_queue=queue).reshape(64, 128, -1)
    before = x.asnumpy()
    results = [F.amax(x, 1) for _ in range(3)]
    assert moved == [(before.nbytes, False)]
    for found in results:
        np.testing.assert_array_equal(found.asnumpy(), before.max(1))
    F.amax(dpnp.ones_like(x), 1)
    assert len(moved) == 1


def test_a_small_part_does_not_move_its_whole_allocation(moved, queue):
    whole = dpnp.ones((3, N), dtype="f4", sycl_queue=queue)
    F.amin(whole[1], 0)
    F.amin(whole[:, :8], 0)
    assert not moved

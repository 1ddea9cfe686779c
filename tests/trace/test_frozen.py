# SPDX-License-Identifier: Apache-2.0
import gc

import dpnp
import numpy as np
import pytest
from endurance.memory import resident_mb

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl


def test_plain_weights_may_be_written_between_calls(make):
    x, w = make(2, 8, 9, 9), make(16, 8, 3, 3)
    for _ in range(3):
        w -= 0.1 * make(16, 8, 3, 3)
        fresh = dpnp.asarray(dpnp.asnumpy(w), sycl_queue=w.sycl_queue)
        expected = dpnp.asnumpy(F.conv2d(x, fresh))
        np.testing.assert_array_equal(dpnp.asnumpy(F.conv2d(x, w)), expected)


def n_packed(queue):
    """Return how many packed copies one weight needs; a GPU's reference takes it as it is."""
    desc = dnnl.MemoryDesc((2, 8, 9, 9), "f32", "any")
    weights = dnnl.MemoryDesc((16, 8, 3, 3), "f32", "any")
    pd = dnnl.convolution_forward(
        dnnl.Engine(queue), prop_kind="forward_inference", algorithm="convolution_direct",
        src=desc, weights=weights, dst=dnnl.MemoryDesc((2, 16, 7, 7), "f32", "any"),
        strides=(1, 1), padding_l=(0, 0), padding_r=(0, 0),
    )  # fmt: skip
    return 0 if "ocl:ref" in pd.impl_info else 1


def test_two_batch_sizes_share_one_packed_copy(make, queue):
    w = sycl_dnn.freeze(make(16, 8, 3, 3))
    for n in (2, 3):
        F.conv2d(make(n, 8, 9, 9), w)
    assert len(w.packed) == n_packed(queue)
    assert w.nbytes_packed >= w.data.nbytes * n_packed(queue)


def test_frozen_arrays_refuse_writing(make):
    w = sycl_dnn.freeze(make(4, 4))
    with pytest.raises(ValueError, match="read-only"):
        w.data[0] = 0
    with pytest.raises(ValueError, match="writable"):
        F.relu(make(4, 4), out=w.data)


def test_freeze_refuses_what_is_no_array():
    with pytest.raises(TypeError, match="list"):
        sycl_dnn.freeze([1.0])


@pytest.mark.slow
@pytest.mark.resident_memory
def test_packed_copies_die_with_the_frozen_array(make, queue):
    """Nothing but the frozen array holds them: a thousand of 4 MB each would not fit otherwise."""
    x, resident = make(1, 64, 8, 8), []
    # What calls on a GPU have used may stay up to 256 MiB.
    last, most = (159, 300) if queue.sycl_device.is_gpu else (59, 40)
    for i in range(last + 1):
        w = sycl_dnn.freeze(make(256, 64, 8, 8))
        F.conv2d(x, w)
        queue.wait()
        del w
        if i in (20, last):
            gc.collect()
            resident.append(resident_mb())
    assert resident[1] - resident[0] < most, resident


def test_gradient_with_frozen_weights(make):
    x, w = make(2, 8, 9, 9), make(16, 8, 3, 3)
    dy = make(2, 16, 7, 7)
    _, plain = sycl_dnn.vjp(F.conv2d, x, w)
    _, frozen = sycl_dnn.vjp(F.conv2d, x, sycl_dnn.freeze(w))
    for a, b in zip(plain(dy), frozen(dy), strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(a), dpnp.asnumpy(b))

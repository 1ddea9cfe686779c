# SPDX-License-Identifier: Apache-2.0
"""Results that the caller gives memory for, of kernels and of calls over arrays."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_product_is_written_to_out(dtype, queue):
    """dpnp multiplies integers, oneDNN numbers."""
    a, b = (
        dpnp.arange(6, dtype=dtype, sycl_queue=queue).reshape(shape) for shape in ((2, 3), (3, 2))
    )
    out = dpnp.zeros((2, 2), dtype=dtype, sycl_queue=queue)
    for _ in range(2):
        out[...] = 0
        assert F.matmul(a, b, out=out) is out
        np.testing.assert_array_equal(dpnp.asnumpy(out), [[10, 13], [28, 40]])
    bound = sycl_dnn.plan(F.matmul, a, b, out=out)
    out[...] = 0
    assert bound() is out
    np.testing.assert_array_equal(dpnp.asnumpy(out), [[10, 13], [28, 40]])

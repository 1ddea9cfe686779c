# SPDX-License-Identifier: Apache-2.0
"""Results of compiled functions in memory that the caller provides."""

import warnings

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


def test_a_destination_with_gaps_is_written(gpu, has_values):
    """oneDNN's copies for GPUs cannot write to all of them."""
    numbers = np.random.default_rng(0).normal(size=(64, 48)).astype("f4")
    x = dpnp.asarray(numbers, sycl_queue=gpu)
    wide = dpnp.zeros((128, 96), dtype="f4", sycl_queue=gpu)
    out = wide[::2, ::2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sycl_dnn.FallbackWarning)
        compiled = sycl_dnn.compile(lambda x: F.sort(x, 0)[0])
        assert compiled(x, out=out) is out
        with pytest.raises(ValueError, match="out must have shape"):
            compiled(x, out=wide[::4, ::2])
    if has_values:
        np.testing.assert_array_equal(dpnp.asnumpy(out), np.sort(numbers, 0))
        assert not dpnp.any(wide[1::2])

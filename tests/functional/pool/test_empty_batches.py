# SPDX-License-Identifier: Apache-2.0
"""Pools of batches without images, and their derivatives."""

import dpnp
import pytest

import sycl_dnn
from sycl_dnn import functional as F

POOLS = {
    "max": lambda x: F.max_pool2d(x, 2),
    "max with places": lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
    "adaptive max": lambda x: F.adaptive_max_pool2d(x, 3),
    "unpooled": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    "average": lambda x: F.avg_pool2d(x, 2),
    "adaptive average": lambda x: F.adaptive_avg_pool2d(x, 3),
}


@pytest.mark.parametrize("mode", ["fast", "propagate"])
@pytest.mark.parametrize("name", POOLS)
def test_second_derivatives_of_no_images(name, mode, queue):
    pool = POOLS[name]
    x = dpnp.zeros((0, 5, 7, 9), dtype="f4", sycl_queue=queue)
    gradient = sycl_dnn.grad(lambda x: F.sum(F.square(pool(x))))
    second = sycl_dnn.grad(lambda x: F.sum(F.square(gradient(x))))
    with sycl_dnn.nan_mode(mode):
        for function in (gradient, second, sycl_dnn.compile(gradient), sycl_dnn.compile(second)):
            assert function(x).shape == x.shape

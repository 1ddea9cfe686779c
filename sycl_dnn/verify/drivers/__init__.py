# SPDX-License-Identifier: Apache-2.0
"""The drivers, by benchdnn's names."""

from __future__ import annotations

from sycl_dnn.verify.driver import Driver
from sycl_dnn.verify.drivers import (
    matmul,
    moving,
    normalising,
    pointwise,
    pooling,
    products,
    recurrent,
)

_ALL = (
    products.CONV,
    products.DECONV,
    products.IP,
    matmul.MATMUL,
    pointwise.ELTWISE_DRIVER,
    pointwise.BINARY_DRIVER,
    pointwise.PRELU_DRIVER,
    pooling.POOL,
    pooling.LRN,
    normalising.BNORM,
    normalising.LNORM,
    normalising.GNORM,
    normalising.SOFTMAX,
    moving.CONCAT,
    moving.SUM,
    moving.REORDER,
    moving.SHUFFLE,
    moving.RESAMPLING,
    moving.REDUCTION,
    recurrent.RNN,
)
DRIVERS: dict[str, Driver] = {driver.name: driver for driver in _ALL}

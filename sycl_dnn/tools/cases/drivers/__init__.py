# SPDX-License-Identifier: Apache-2.0
"""The drivers, by benchdnn's names."""

from __future__ import annotations

from sycl_dnn.tools.cases.driver import Driver
from sycl_dnn.tools.cases.drivers import convolutions, eltwise, matrix_products, moves, norms, rnn

_ALL = (
    convolutions.CONV,
    convolutions.DECONV,
    convolutions.IP,
    matrix_products.MATMUL,
    eltwise.ELTWISE_DRIVER,
    eltwise.BINARY_DRIVER,
    eltwise.PRELU_DRIVER,
    convolutions.POOL,
    convolutions.LRN,
    norms.BNORM,
    norms.LNORM,
    norms.GNORM,
    eltwise.SOFTMAX,
    moves.CONCAT,
    moves.SUM,
    moves.REORDER,
    moves.SHUFFLE,
    moves.RESAMPLING,
    moves.REDUCTION,
    rnn.RNN,
)
DRIVERS: dict[str, Driver] = {driver.name: driver for driver in _ALL}

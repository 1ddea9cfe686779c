# SPDX-License-Identifier: Apache-2.0
"""The drivers, by benchdnn's names: of primitives, and that of graphs besides."""

from __future__ import annotations

from sycl_dnn.verify.driver import Driver
from sycl_dnn.verify.drivers import (
    matmul,
    moving,
    normalising,
    operands,
    pointwise,
    pooling,
    products,
    recurrent,
    resizing,
    softmax,
)
from sycl_dnn.verify.graph import driver as graph

_ALL = (
    products.CONV,
    products.DECONV,
    products.IP,
    matmul.MATMUL,
    pointwise.ELTWISE_DRIVER,
    operands.BINARY_DRIVER,
    operands.PRELU_DRIVER,
    pooling.POOL,
    pooling.LRN,
    normalising.BNORM,
    normalising.LNORM,
    normalising.GNORM,
    softmax.SOFTMAX,
    moving.CONCAT,
    moving.SUM,
    moving.REORDER,
    moving.SHUFFLE,
    resizing.RESAMPLING,
    resizing.REDUCTION,
    recurrent.RNN,
)
DRIVERS: dict[str, Driver] = {driver.name: driver for driver in _ALL}
GRAPH = Driver("graph", graph.OPTIONS, graph.problem, graph.GraphCase, attributes=(), run=graph.run)
ALL_DRIVERS: dict[str, Driver] = {**DRIVERS, "graph": GRAPH}

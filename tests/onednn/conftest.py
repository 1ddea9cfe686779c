# SPDX-License-Identifier: Apache-2.0
"""Fixtures for low-level tests: arrays, and a log of started processes."""

import sys

import dpnp
import pytest
from filled_memory import desc

import sycl_dnn
from sycl_dnn import onednn as dnnl


@pytest.fixture
def zeros(engine):
    """Arrays of zeros, already complete: the streams of most tests are not ordered."""

    def make(*shape, dtype="f4", **options):
        result = dpnp.zeros(shape, dtype=dtype, sycl_queue=engine.sycl_queue, **options)
        sycl_dnn.synchronize(engine.sycl_queue)
        return result

    return make


@pytest.fixture
def grid(engine):
    """4 x 6 x 5 consecutive numbers, already complete."""
    result = dpnp.arange(120, dtype="f4", sycl_queue=engine.sycl_queue).reshape((4, 6, 5))
    sycl_dnn.synchronize(engine.sycl_queue)
    return result


@pytest.fixture(scope="session")
def spawn_log():
    """Every process that Python starts, from an audit hook; such hooks cannot be removed."""
    log = []
    sys.addaudithook(lambda event, _: log.append(event) if event == "subprocess.Popen" else None)
    return log


@pytest.fixture
def spawned(spawn_log):
    start = len(spawn_log)
    return lambda: len(spawn_log) - start


@pytest.fixture
def relu(engine):
    d = desc(2, 8, 4, 4)
    pd = dnnl.eltwise_forward(
        engine,
        prop_kind=dnnl.prop_kind.forward_training,
        algorithm=dnnl.algorithm.eltwise_relu,
        src=d,
        dst=d,
    )
    return dnnl.Primitive(pd)


@pytest.fixture
def relu_args(relu, engine):
    return {name: dnnl.Memory(desc(2, 8, 4, 4), engine) for name in ("src", "dst")}

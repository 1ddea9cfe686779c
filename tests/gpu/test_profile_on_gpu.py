# SPDX-License-Identifier: Apache-2.0
"""Profiles of a GPU's queues: what was submitted, and that its events were asked for times."""

import dpctl
import dpnp
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.device import is_simulated, usable_devices


@pytest.mark.parametrize("with_times", [True, False])
def test_event_times_are_recorded(with_times):
    provided = {"property": "enable_profiling"} if with_times else {}
    queue = dpctl.SyclQueue(usable_devices("gpu")[0], **provided)
    x = dpnp.ones((2, 8, 8, 8), dtype="f4", sycl_queue=queue)
    w = dpnp.ones((8, 8, 3, 3), dtype="f4", sycl_queue=queue)
    with sycl_dnn.profile() as p:
        F.tanh(F.conv2d(x, w))
    queue.wait()
    runs = [r for r in p.records if r.kind == "primitive" and not r.inserted]
    assert [r.name for r in runs] == ["convolution_forward", "eltwise_forward"]
    assert {r.clock for r in runs} == {"device" if with_times else ""}
    assert all((r.time is not None) == with_times for r in runs)
    assert all(r.implementation and r.host > 0 for r in runs)
    assert ("without a time" in p.table()) == (not with_times)
    assert ("the GPU is simulated" in p.table()) == (with_times and is_simulated("gpu"))

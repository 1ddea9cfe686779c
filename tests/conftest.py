# SPDX-License-Identifier: Apache-2.0
"""Fixtures: each device of the machine, its engine and streams on its queue."""

import dpctl
import pytest

import sycl_dnn
from sycl_dnn import onednn as dnnl
from sycl_dnn.device import usable_devices

KINDS = [kind for kind in ("gpu", "cpu") if usable_devices(kind)]


@pytest.fixture(params=KINDS or ["none"])
def queue(request):
    """An out-of-order queue on each kind of device; a machine without any fails."""
    assert KINDS, sycl_dnn.device.explain_absence()
    return dpctl.SyclQueue(usable_devices(request.param)[0])


@pytest.fixture
def engine(queue):
    return dnnl.Engine(queue)


@pytest.fixture
def stream(engine, queue):
    return dnnl.Stream(engine, queue)

# SPDX-License-Identifier: Apache-2.0
"""Engines by kind and index, as in C++."""

import re

import dpctl
import dpnp
import numpy as np
import pytest

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl


@pytest.fixture
def kind(queue):
    return "cpu" if queue.sycl_device.is_cpu else "gpu"


def test_a_kind_and_an_index(kind):
    member = dnnl.engine_kind[kind]
    first = dnnl.Engine(kind, 0)
    assert first.kind is member
    results = [
        dnnl.Engine(member), dnnl.Engine(member, 0), dnnl.Engine(kind=kind),
        dnnl.Engine(kind=member, index=0), dnnl.Engine(first.sycl_queue),
    ]  # fmt: skip
    assert all(engine == first for engine in results)
    assert first.sycl_context == dpctl.SyclQueue(first.sycl_device).sycl_context


def test_objects_created_by_index_run(kind):
    engine = dnnl.Engine(kind, 0)
    desc = dnnl.MemoryDesc((2, 3), "f32")
    source, result = (dnnl.Memory(desc, engine, usm_type="shared") for _ in range(2))
    source.to_array()[...] = np.arange(6, dtype="f4").reshape(2, 3)
    source.to_array().sycl_queue.wait()
    pd = dnnl.reorder(engine, src=desc, dst=desc)
    dnnl.Primitive(pd).execute(dnnl.Stream(engine), {"src": source, "dst": result}).wait()
    assert dpnp.asnumpy(result.to_array()).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_every_index_has_its_own_device(kind):
    count = dnnl.Engine.get_count(kind)
    assert len({dnnl.Engine(kind, i).sycl_device for i in range(count)}) == count
    for index in (count, -1):
        words = f"index must be at least 0 and less than {count}, the number of devices of kind "
        with pytest.raises(InvalidArguments, match=f"Engine: {words}{kind}, got {index}"):
            dnnl.Engine(kind, index)


def test_kinds_without_devices():
    with pytest.raises(InvalidArguments, match="Engine: kind must be cpu or gpu, got any"):
        dnnl.Engine(dnnl.engine_kind.any)
    with pytest.raises(InvalidArguments, match=re.escape("Engine: kind must be one of ")):
        dnnl.Engine("tpu", 0)
    if dnnl.Engine.get_count("gpu") == 0:
        with pytest.raises(InvalidArguments, match="Engine: oneDNN finds no device of kind gpu"):
            dnnl.Engine(dnnl.engine_kind.gpu, 0)


def test_a_filter_string_is_read_by_dpctl(kind, engine):
    assert dnnl.Engine(kind).kind is engine.kind
    with pytest.raises(dpctl.SyclQueueCreationError, match=f"{kind}:99"):
        dnnl.Engine(f"{kind}:99")

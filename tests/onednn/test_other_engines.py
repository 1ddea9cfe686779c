# SPDX-License-Identifier: Apache-2.0
"""Streams and memories of another engine than the primitive's."""

import dpctl
import pytest
from filled_memory import desc

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl


def test_reorder_between_engines_is_refused_on_the_stream_of_dst(engine):
    """Of two CPU engines oneDNN runs it on that of src; the message says so before submission."""
    context = dpctl.SyclContext([engine.sycl_device])
    other = dnnl.Engine(dpctl.SyclQueue(context, engine.sycl_device))
    d = desc(2, 8)
    reorder = dnnl.Primitive(dnnl.reorder(engine, src=d, dst=d, dst_engine=other))
    args = {"src": dnnl.Memory(d, engine), "dst": dnnl.Memory(d, other)}
    wrong = dnnl.Stream(other)
    with pytest.raises(InvalidArguments, match="reorder: stream must be on src's engine"):
        reorder.execute(wrong, args)
    assert wrong.pending == 0
    reorder.execute(dnnl.Stream(engine), args).wait()


def test_stream_of_another_engine_is_refused(engine, relu, relu_args):
    context = dpctl.SyclContext([engine.sycl_device])
    other = dnnl.Engine(dpctl.SyclQueue(context, engine.sycl_device))
    assert other != engine
    with pytest.raises(InvalidArguments, match="stream must be on the primitive's engine"):
        relu.execute(dnnl.Stream(other), relu_args)
    with pytest.raises(InvalidArguments, match="queue must be on the engine's device and context"):
        dnnl.Stream(engine, other.sycl_queue)
    foreign = dnnl.Memory(desc(2, 8, 4, 4), other)
    with pytest.raises(InvalidArguments, match="src must be in memory of the primitive's engine"):
        relu.execute(dnnl.Stream(engine), {**relu_args, "src": foreign})

# SPDX-License-Identifier: Apache-2.0
"""A workspace may be passed even if the implementation has none, as C++ programs do."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

D = dnnl.MemoryDesc((2, 16, 4, 4), "f32", "nchw")
LRN = {"algorithm": "lrn_across_channels", "local_size": 5, "alpha": 1e-4, "beta": 0.75, "k": 1.0}


def filled(engine):
    array = dpnp.ones(D.dims, dtype="f4", sycl_queue=engine.sycl_queue)
    sycl_dnn.synchronize(engine.sycl_queue)
    return dnnl.Memory(D, engine, array)


def test_lrn_accepts_a_workspace_in_both_directions(engine, stream):
    """The program of oneDNN's example: one workspace, made of the forward descriptor, for both."""
    forward = dnnl.lrn_forward(engine, prop_kind="forward_training", src=D, dst=D, **LRN)
    backward = dnnl.lrn_backward(engine, diff_src=D, diff_dst=D, src=D, hint_fwd_pd=forward, **LRN)
    workspace = dnnl.Memory(forward.workspace_desc, engine)
    src, dst, diff_src = filled(engine), dnnl.Memory(D, engine), dnnl.Memory(D, engine)
    done = dnnl.Primitive(forward).execute(stream, {"src": src, "dst": dst, "workspace": workspace})
    inputs = {"src": src, "diff_dst": src, "diff_src": diff_src, "workspace": workspace}
    dnnl.Primitive(backward).execute(stream, inputs, [done]).wait()
    near = (1 + 1e-4 / 5 * np.convolve(np.ones(16), np.ones(5), "same")) ** -0.75
    expected = np.broadcast_to(near[:, None, None], D.dims)
    np.testing.assert_allclose(dpnp.asnumpy(dst.to_array()), expected, rtol=1e-5)
    assert (dpnp.asnumpy(diff_src.to_array()) != 0).all()


def pooling(engine, algorithm, prop_kind="forward_training"):
    return dnnl.pooling_forward(
        engine, prop_kind=prop_kind, algorithm=algorithm, src=D,
        dst=dnnl.MemoryDesc((2, 16, 2, 2), "f32", "nchw"), strides=(2, 2), kernel=(2, 2),
        dilation=(0, 0), padding_l=(0, 0), padding_r=(0, 0),
    )  # fmt: skip


@pytest.mark.parametrize("prop_kind", ["forward_inference", "forward_training"])
def test_a_workspace_that_is_not_used(prop_kind, engine, stream):
    pool = pooling(engine, "pooling_avg_exclude_padding", prop_kind)
    primitive = dnnl.Primitive(pool)
    assert "workspace" not in primitive.arguments
    dst = dnnl.Memory(pool.dst_desc, engine)
    for workspace in (dnnl.Memory(dnnl.MemoryDesc(), engine), dnnl.Memory(D, engine)):
        args = {"src": filled(engine), "dst": dst, "workspace": workspace}
        primitive.execute(stream, args).wait()
        assert (dpnp.asnumpy(dst.to_array()) == 1).all()


def test_a_workspace_that_is_used_is_checked_as_ever(engine, stream):
    pool = pooling(engine, "pooling_max")
    args = {"src": filled(engine), "dst": dnnl.Memory(pool.dst_desc, engine)}
    with pytest.raises(InvalidArguments, match="workspace must be"):
        dnnl.Primitive(pool).execute(stream, args | {"workspace": dnnl.Memory(D, engine)})


def test_others_take_no_workspace(engine, stream):
    relu = dnnl.eltwise_forward(
        engine, prop_kind="forward_training", algorithm="eltwise_relu", src=D, dst=D
    )
    args = {"src": filled(engine), "dst": dnnl.Memory(D, engine)}
    with pytest.raises(InvalidArguments, match="unexpected argument 'workspace'"):
        dnnl.Primitive(relu).execute(stream, args | {"workspace": dnnl.Memory(D, engine)})

# SPDX-License-Identifier: Apache-2.0
"""Slopes of the post-op prelu: channels innermost, whatever the order of the result."""

import dpnp
import numpy as np
import pytest

from sycl_dnn import errors
from sycl_dnn import onednn as dnnl

SHAPE, EVERY_AXIS = (2, 16, 6, 6), 15


def _copied(stream, values, tag):
    src = dnnl.Memory.from_array(dpnp.asarray(values, sycl_queue=stream.sycl_queue), stream.engine)
    result = dnnl.Memory(dnnl.MemoryDesc(values.shape, "f32", tag), stream.engine)
    reorder = dnnl.reorder(stream.engine, src=src.desc, dst=result.desc)
    dnnl.Primitive(reorder).execute(stream, {"src": src, "dst": result})
    stream.wait()
    return result


def _run(stream, tag, slopes):
    ops, attr = dnnl.PostOps(), dnnl.PrimitiveAttr()
    ops.append_prelu(EVERY_AXIS)
    attr.set_post_ops(ops)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(SHAPE).astype("f4"), rng.standard_normal((16, 16, 1, 1)).astype("f4")
    image = dnnl.MemoryDesc(SHAPE, "f32", tag)
    pd = dnnl.convolution_forward(
        stream.engine, prop_kind="forward_inference", algorithm="convolution_direct", src=image,
        weights=dnnl.MemoryDesc(w.shape, "f32", "abcd"), dst=image, strides=(1, 1),
        dilates=(0, 0), padding_l=(0, 0), padding_r=(0, 0), attr=attr,
    )  # fmt: skip
    dst = dnnl.Memory(image, stream.engine)
    arguments = {
        "src": _copied(stream, x, tag), "weights": _copied(stream, w, "abcd"), "dst": dst,
        "attr_post_op_0_weights": slopes,
    }  # fmt: skip
    dnnl.Primitive(pd).execute(stream, arguments)
    stream.wait()
    return dst, np.einsum("nihw,oi->nohw", x.astype("f8"), w[:, :, 0, 0])


@pytest.mark.parametrize("tag", ["abcd", "acdb"])
def test_slopes_are_read_with_the_channels_innermost(tag, stream):
    slopes = np.random.default_rng(1).standard_normal(SHAPE).astype("f4")
    dst, product = _run(stream, tag, _copied(stream, slopes, "acdb"))
    result = np.empty(SHAPE, "f4")
    result[...] = dpnp.asnumpy(dst.to_array())
    np.testing.assert_allclose(result, np.where(product > 0, product, product * slopes), atol=1e-4)


def test_row_major_slopes_are_refused(stream):
    slopes = _copied(stream, np.ones(SHAPE, "f4"), "abcd")
    text = r"attr_post_op_0_weights must be 1152 f32 values in channels-last order, got f32"
    with pytest.raises(errors.InvalidArguments, match=text):
        _run(stream, "abcd", slopes)

# SPDX-License-Identifier: Apache-2.0
"""Scratchpads: from the pool or from the caller; idle ones are reused and freed."""

import pytest
from filled_memory import desc, filled

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

TRAINING = dnnl.prop_kind.forward_training


def test_scratchpad_from_pool_or_from_caller(engine, stream):
    pd = convolution(engine)
    primitive = dnnl.Primitive(pd)
    slots = primitive.arguments
    args = {n: dnnl.Memory(s["desc"], engine) for n, s in slots.items() if s["required"]}
    primitive.execute(stream, args).wait()
    if pd.scratchpad_desc.size:
        assert not slots["scratchpad"]["required"]
        before = dnnl.scratchpad_info()["buffers"]
        own = dnnl.Memory(pd.scratchpad_desc, engine)
        primitive.execute(stream, {**args, "scratchpad": own}).wait()
        assert dnnl.scratchpad_info()["buffers"] == before
        with pytest.raises(InvalidArguments, match="scratchpad must be"):
            primitive.execute(stream, {**args, "scratchpad": filled(desc(1), engine)})


def convolution(engine):
    """Gradient of the weights: an implementation that wants a scratchpad."""
    window = {"strides": (1, 1), "padding_l": (1, 1), "padding_r": (1, 1)}
    window["algorithm"] = dnnl.algorithm.convolution_direct
    src, wei, dst = (desc(*d, tag="any") for d in ((2, 16, 9, 9), (16, 16, 3, 3), (2, 16, 9, 9)))
    forward = dnnl.convolution_forward(
        engine, prop_kind=TRAINING, src=src, weights=wei, dst=dst, **window
    )
    return dnnl.convolution_backward_weights(
        engine, src=src, diff_weights=wei, diff_dst=dst, hint_fwd_pd=forward, **window
    )


def test_idle_scratchpads_are_reused_and_freed(engine, stream):
    primitive = dnnl.Primitive(convolution(engine))
    slots = primitive.arguments
    args = {n: dnnl.Memory(s["desc"], engine) for n, s in slots.items() if s["required"]}
    dnnl.clear_scratchpads()
    for _ in range(50):
        primitive.execute(stream, args).wait()
    info = dnnl.scratchpad_info()
    assert info["buffers"] <= 1
    assert info["busy"] == 0
    dnnl.clear_scratchpads()
    assert dnnl.scratchpad_info()["buffers"] == 0

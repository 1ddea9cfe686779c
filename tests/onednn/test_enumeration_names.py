# SPDX-License-Identifier: Apache-2.0
"""Wherever an enumeration is expected, a member's name is accepted."""

import dpnp
import pytest

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl
from sycl_dnn.graph import Graph, OpGraph


def test_a_convolution_by_names_is_that_by_members(engine):
    inputs = {
        "src": dnnl.MemoryDesc((2, 3, 8, 8), "f32", "nchw"),
        "weights": dnnl.MemoryDesc((4, 3, 3, 3), "f32", "any"),
        "dst": dnnl.MemoryDesc((2, 4, 8, 8), "f32", "any"),
        "strides": (1, 1),
        "padding_l": (1, 1),
        "padding_r": (1, 1),
    }
    named = dnnl.convolution_forward(
        engine, prop_kind="forward_training", algorithm="convolution_direct", **inputs
    )
    assert named.prop_kind is dnnl.prop_kind.forward_training
    assert named.algorithm is dnnl.algorithm.convolution_direct
    assert named.parameters["algorithm"] is dnnl.algorithm.convolution_direct
    assert named.src_desc.data_type is dnnl.data_type.f32


def test_the_header_s_second_names_are_names_too(engine):
    d = dnnl.MemoryDesc((2, 3), "f32")
    pd = dnnl.eltwise_forward(engine, prop_kind="forward", algorithm="eltwise_relu", src=d, dst=d)
    assert pd.prop_kind is dnnl.prop_kind.forward_training


def test_flags_may_be_joined(engine):
    d = dnnl.MemoryDesc((4, 6), "f32", "ab")
    stat = dnnl.MemoryDesc((4,), "f32")
    inputs = {"src": d, "dst": d, "stat": stat, "epsilon": 1e-5, "prop_kind": "forward_inference"}
    flags = dnnl.normalization_flags
    for text, expected in (
        ("none", flags.none),
        ("use_scale", flags.use_scale),
        ("use_scale | use_shift", flags.use_scale | flags.use_shift),
    ):
        pd = dnnl.layer_normalization_forward(engine, flags=text, **inputs)
        assert pd.flags == expected


def test_attributes_and_post_ops_record_members():
    attr, ops = dnnl.PrimitiveAttr(), dnnl.PostOps()
    ops.append_eltwise("eltwise_relu", 0.5)
    ops.append_sum(data_type="u8")
    attr.set_post_ops(ops)
    attr.set_fpmath_mode("bf16", True)
    attr.set_accumulation_mode("relaxed")
    attr.set_scratchpad_mode("user")
    assert ops[0][1][0] is dnnl.algorithm.eltwise_relu
    assert attr.fpmath_mode == (dnnl.fpmath_mode.bf16, True)
    assert attr.accumulation_mode is dnnl.accumulation_mode.relaxed
    by_members = dnnl.PostOps()
    by_members.append_eltwise(dnnl.algorithm.eltwise_relu, 0.5)
    by_members.append_sum(data_type=dnnl.data_type.u8)
    assert ops == by_members


def test_queries_settings_and_arrays(engine):
    wide = dnnl.MemoryDesc((2, 3), "f32")
    pd = dnnl.softmax_forward(
        engine, prop_kind="forward_inference", algorithm="softmax_log", src=wide, dst=wide, axis=1
    )
    assert pd.query_md("src_md") == wide
    d = dnnl.MemoryDesc((2, 3), "bf16")
    assert dnnl.data_type_size("bf16") == dnnl.Memory.data_type_size("bf16") == 2
    before = dnnl.get_default_fpmath_mode()
    dnnl.set_default_fpmath_mode("tf32")
    assert dnnl.get_default_fpmath_mode() is dnnl.fpmath_mode.tf32
    dnnl.set_default_fpmath_mode(before)
    bits = dpnp.zeros((2, 3), dtype="u2", sycl_queue=engine.sycl_queue)
    assert dnnl.desc_of_array(bits, "bf16") == d
    assert dnnl.Memory.from_array(bits, engine, "bf16").desc == d
    with pytest.raises(InvalidArguments, match="data_type must be one of .*bf16.*, got 'bf17'"):
        dnnl.desc_of_array(bits, "bf17")


def test_graphs_take_names_too():
    assert OpGraph("cpu", "bf16").get_fpmath_mode()[0] is dnnl.fpmath_mode.bf16
    assert Graph("cpu") is not None

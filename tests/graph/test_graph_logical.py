# SPDX-License-Identifier: Apache-2.0
"""Logical tensors and operations: fields, and refusals before oneDNN is called."""

import pytest

from sycl_dnn import InvalidArguments
from sycl_dnn import graph as sg
from sycl_dnn import onednn as dnnl


def test_logical_tensor_returns_its_arguments():
    t = sg.LogicalTensor(7, "bf16", (2, None, 4), layout_type="any", property_type="constant")
    assert (t.id, t.dims, t.strides, t.layout_id) == (7, (2, None, 4), None, None)
    assert t.data_type is sg.logical_data_type.bf16
    assert t.layout_type is sg.layout_type.any
    assert t.property_type is sg.property_type.constant
    assert not t.has_known_shape
    assert sg.LogicalTensor(7, dnnl.data_type.f32).dims is None


def test_one_number_is_a_shape_and_no_rank():
    """In C++ ``{1}`` selects the overload that takes the number of axes."""
    t = sg.LogicalTensor(0, "f32", (1,))
    assert (t.dims, t.strides, t.mem_size) == ((1,), (1,), 4)
    assert sg.LogicalTensor(0, "f32", ()).dims == ()


def test_equality_compares_all_fields():
    t = sg.LogicalTensor(0, "f32", (2, 3))
    assert t.is_equal(sg.LogicalTensor(0, "f32", (2, 3), strides=(3, 1)))
    assert not t.is_equal(sg.LogicalTensor(0, "f32", (2, 3), strides=(1, 2)))
    assert not t.is_equal(sg.LogicalTensor(1, "f32", (2, 3)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dims": (2, -1)}, "dims must not be negative"),
        ({"dims": (2, 3), "strides": (1,)}, "strides must be as many"),
        ({"dims": (1,) * 13}, "at most 12"),
        ({"dims": (2,), "layout_type": "opaque"}, "layout_id"),
        ({"dims": (2,), "layout_type": "blocked"}, "one of undef, any, strided, opaque"),
        ({"dims": (2,), "property_type": "host_scalar"}, "host scalar must have dims"),
    ],
)
def test_invalid_logical_tensors_are_refused(arguments, words):
    with pytest.raises(InvalidArguments, match=words):
        sg.LogicalTensor(0, "f32", **arguments)


@pytest.mark.parametrize(
    ("kind", "attribute", "value", "words"),
    [
        ("MatMul", "transpose_a", 1, "be True or False, got 1"),
        ("Elu", "alpha", "1", "be a number, got '1'"),
        ("Elu", "alpha", True, "be a number, got True"),
        ("SoftMax", "axis", 1.5, "be an integer, got 1.5"),
        ("ReduceSum", "axes", (0.5,), "be a sequence of integers"),
        ("Quantize", "scales", 0.5, "be a sequence of numbers"),
        ("MatMul", "transposed", True, "must be one of"),
        ("Convolution", "auto_pad", 3, "be a string"),
    ],
)
def test_attributes_have_the_kind_that_onednn_reads(kind, attribute, value, words):
    with pytest.raises(InvalidArguments, match=words):
        sg.Op(0, kind).set_attr(attribute, value)


def test_every_kind_of_attribute_is_kept():
    values = {"alpha": 0.5, "scales": [0.5, 1], "axis": -1, "axes": (), "use_dst": True,
              "auto_pad": "VALID"}  # fmt: skip
    assert sg.Op(0, "Elu", attrs=values).attributes == values


def test_operation_ids_are_unique():
    """oneDNN silently drops the second operation."""
    x, y = sg.LogicalTensor(0, "f32", (2,)), sg.LogicalTensor(1, "f32", (2,))
    g = sg.Graph("cpu")
    g.add_op(sg.Op(5, "ReLU", [x], [y]))
    with pytest.raises(InvalidArguments, match="must be new, got <Op 5"):
        g.add_op(sg.Op(5, "Abs", [y], [sg.LogicalTensor(2, "f32", (2,))]))


def test_lower_case_padding_is_refused_with_its_operation():
    x, w, y = (sg.LogicalTensor(i, "f32", (1, 1, 3, 3)) for i in range(3))
    ones = dict.fromkeys(("strides", "pads_begin", "pads_end", "dilations"), (1, 1))
    op = sg.Op(0, "Convolution", [x, w], [y], {**ones, "auto_pad": "same_upper"}, "conv1")
    g = sg.Graph("cpu")
    assert g.add_op(op, allow_exception=False) is sg.graph_status.invalid_graph_op
    with pytest.raises(InvalidArguments, match="'conv1'.*same_upper") as refusal:
        g.add_op(op)
    assert refusal.value.status is sg.graph_status.invalid_graph_op

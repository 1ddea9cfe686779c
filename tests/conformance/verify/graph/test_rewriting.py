# SPDX-License-Identifier: Apache-2.0
"""Options that change a graph, or say why they cannot."""

from pathlib import Path

import pytest
from graph_files import CHAIN, FOLDER, MATMUL, rewritten

from conformance.verify.case_reader import ALL_DRIVERS, Reader
from conformance.verify.graph import document, rewriting
from conformance.verify.graph.document import Broken, read
from conformance.verify.graph.graph_driver import GraphCase
from sycl_dnn.tools.cases.case_files import words_of_text


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("in_shapes", "0", "must be ID:VALUE"),
        ("in_shapes", "0:2xx3", "shape must be integers"),
        ("in_shapes", "0:2x3*acd", "permutation"),
        ("in_shapes", "0:2+0:3", "name each number once"),
        ("op_attrs", "0:foo:1", "attribute must be one of"),
        ("op_attrs", "0:axis:one", "axis must be of kind int"),
        ("dt", "f33", "dtype must be one of"),
        ("op_kind", "0:Foo", "kind must be one of"),
        ("tensor_property", "0:soft", "property must be one of"),
        ("expected_n_partitions", "-1", "must be an integer from 0"),
    ],
)
def test_invalid_options_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        rewritten(MATMUL, **{name: value})


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"in_shapes": "9:2x3"}, "--in-shapes: tensor must be one of the graph's, got 9"),
        ({"in_shapes": "0:5x7"}, r"op 2 \(MatMul\): weights must have 7 rows"),
        ({"in_shapes": "0:*cba"}, "strides of tensor 0 must be 2, got 3"),
        ({"op_attrs": "9:axis:1"}, "--op-attrs: operation"),
        ({"op_kind": "2:ReLU"}, r"op 2 \(ReLU\): inputs must be 1"),
        ({"op_kind": "2:undef"}, "to be taken out"),
        ({"dt": "9:f32"}, "--dt: tensor"),
    ],
)
def test_options_inconsistent_with_the_graph_are_refused(texts, message):
    with pytest.raises(Broken, match=message):
        rewritten(MATMUL, **texts)


def test_changed_shapes_and_strides_propagate():
    graph = rewritten(CHAIN, in_shapes="0:3x16*ba")
    assert (graph.tensors[0].shape, graph.tensors[0].strides) == ((3, 16), (1, 3))
    assert [graph.tensors[n].shape for n in (4, 6)] == [(3, 12), (3, 12)]
    graph = rewritten(MATMUL, in_shapes="0:4x6*20x2+3:*ba")
    assert graph.tensors[0].strides == (20, 2)
    assert graph.tensors[3].strides == (1, 4)


def test_batches_are_found_and_changed():
    assert document.tensors(read(CHAIN)) == [0]
    assert rewritten(CHAIN, mb="5").tensors[6].shape == (5, 12)
    with pytest.raises(Broken, match="--mb must have an input"):
        rewritten(FOLDER / "op" / "static_reshape.json", mb="5")


def test_data_types_kinds_and_properties():
    graph = rewritten(CHAIN, dt="bf16", op_kind="5:Tanh", tensor_property="1:constant")
    assert {t.dtype for t in graph.tensors.values()} == {"bf16"}
    assert [op.kind for op in graph.ops] == ["MatMul", "Tanh"]
    assert graph.tensors[1].property == "constant"
    shorter = rewritten(CHAIN, op_kind="5:undef")
    assert shorter.results() == [4]
    with pytest.raises(Broken, match="must not be in a graph whose data type"):
        rewritten(FOLDER / "op" / "quantize.json", dt="bf16")


def test_scales_and_groups_follow_shapes():
    graph = rewritten(FOLDER / "op" / "dequantize-channels.json", in_shapes="0:2x5x4x5")
    assert graph.ops[0].attrs["scales"] == (0.1, 0.05, 0.2, 0.1, 0.05)
    path = FOLDER / "op" / "dynamic_dequantize-groups.json"
    number = read(path).ops[0].id
    assert rewritten(path, in_shapes="0:16x6").ops[0].attrs["group_shape"] == (8, 1)
    wider = rewritten(path, op_attrs=f"{number}:group_shape:8x1")
    assert wider.tensors[wider.ops[0].inputs[1]].shape == (1, 6)


def test_options_of_a_case_are_read_once_for_each_combination():
    words = words_of_text(f"--graph --mb=1,2 --dt=f32,bf16 --case={CHAIN}", "line")
    found = list(Reader().cases(words, Path()))
    assert len(found) == 4
    assert all(isinstance(one.call(ALL_DRIVERS), GraphCase) for one in found)


def test_shape_texts():
    assert rewriting.shape("-").dims == ()
    assert rewriting.shape("0").dims == (0,)
    assert rewriting.shape("*ba") == rewriting.ShapeText(None, "ba")
    assert rewriting.shape("2x3*6x2").strides == (6, 2)

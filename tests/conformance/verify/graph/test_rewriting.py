# SPDX-License-Identifier: Apache-2.0
"""Options that change a graph, or say why they cannot."""

import pytest
from graph_files import CHAIN, FOLDER, MATMUL, rewritten

from conformance.verify.graph import document
from conformance.verify.graph.document import Broken, read


def test_changed_shapes_and_strides_propagate():
    graph = rewritten(CHAIN, in_shapes="0:3x16*ba")
    assert (graph.tensors[0].shape, graph.tensors[0].strides) == ((3, 16), (1, 3))
    assert [graph.tensors[n].shape for n in (4, 6)] == [(3, 12), (3, 12)]
    graph = rewritten(MATMUL, in_shapes="0:4x6*20x2+3:*ba")
    assert graph.tensors[0].strides == (20, 2)
    assert graph.tensors[3].strides == (1, 4)


def test_batch_sizes_are_detected_and_changed():
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

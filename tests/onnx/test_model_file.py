# SPDX-License-Identifier: Apache-2.0
"""Files that are wrong or hostile: clear errors, and nothing is read outside their folder."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import sycl_dnn
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.onnx import load


def model_of(tensor, *nodes):
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])
    nodes = nodes or [helper.make_node("Identity", [tensor.name], ["y"])]
    return helper.make_model(helper.make_graph(nodes, "g", [], [output], [tensor]))


def external(location, **more):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=str(value))
    return model_of(tensor)


@pytest.mark.parametrize("content", [b"", b"\x00", b"not a model", b"\x08\x0a\x3a\xff\xff"])
def test_contents_that_are_no_model_are_refused(content):
    with pytest.raises(InvalidArguments, match="must be an ONNX model"):
        load(content)


def test_a_truncated_file(network):
    content = network.SerializeToString()
    for n in range(1, len(content), len(content) // 40):
        with pytest.raises(InvalidArguments):
            load(content[:n])


def test_sources_of_another_type_are_refused():
    with pytest.raises(TypeError, match="source must be a path, bytes or a ModelProto, got int"):
        load(3)


def test_data_in_the_folder(tmp_path):
    values = np.arange(8, dtype="f4")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(values.tobytes())
    path = tmp_path / "model.onnx"
    path.write_bytes(external("data/w.bin", offset=16, length=16).SerializeToString())
    net = load(path)
    np.testing.assert_array_equal(net.w.asnumpy(), values[4:])


@pytest.mark.parametrize(
    ("location", "more"),
    [
        ("../secret.bin", {}),
        ("/etc/hostname", {}),
        ("link.bin", {}),
        ("absent.bin", {}),
        ("w.bin", {"offset": 8}),
        ("w.bin", {"offset": -4}),
        ("w.bin", {"length": 2**40}),
    ],
)
def test_data_outside_the_folder_or_the_file(tmp_path, location, more):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(16))
    (folder / "w.bin").write_bytes(bytes(16))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    path = folder / "model.onnx"
    path.write_bytes(external(location, **more).SerializeToString())
    with pytest.raises(InvalidArguments, match="must (be in a file of|have 16|be non-neg)"):
        load(path)


def test_data_without_a_path():
    with pytest.raises(InvalidArguments, match="load the model from its path"):
        load(external("w.bin"))


@pytest.mark.parametrize("dims", [[2**40], [2**20, 2**20, 2**20], [-1], [3]])
def test_sizes_that_the_data_does_not_have(dims):
    tensor = numpy_helper.from_array(np.ones(2, "f4"), "w")
    del tensor.dims[:]
    tensor.dims.extend(dims)
    with pytest.raises(InvalidArguments):
        load(model_of(tensor))


@pytest.mark.parametrize("body", [
    "y = ConstantOfShape(w)",
    "y = Expand(one, w)",
    "y = Tile(one, w)",
])  # fmt: skip
def test_results_that_no_memory_holds(body, parsed):
    text = "g () => (float[N] y) <int64[1] w = {1099511627776}, float[1] one = {1.0}> { %s }"
    net = load(parsed(text % body))
    with pytest.raises(InvalidArguments, match=r"2\*\*33 elements"):
        net()


def test_cycles():
    nodes = [helper.make_node("Neg", ["b"], ["a"]), helper.make_node("Neg", ["a"], ["b"])]
    graph = helper.make_graph(
        nodes, "g", [], [helper.make_tensor_value_info("b", TensorProto.FLOAT, [1])]
    )
    with pytest.raises(InvalidArguments, match="checker"):
        load(helper.make_model(graph))


def test_functions_that_call_themselves():
    imported = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    node = helper.make_node("F", ["x"], ["y"], domain="own")
    function = helper.make_function("own", "F", ["x"], ["y"], [node], imported)
    described = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in "xy"]
    graph = helper.make_graph([node], "g", described[:1], described[1:])
    model = helper.make_model(graph, functions=[function], opset_imports=imported)
    with pytest.raises(InvalidArguments, match="must not call themselves"):
        load(model)


def test_newer_operator_sets(parsed):
    model = parsed("g (float[N] x) => (float[N] y) { y = Neg(x) }")
    model.opset_import[0].version = 99
    with pytest.raises(InvalidArguments, match="version 1 to 28, got 99"):
        load(model)


def test_functions_are_put_in_place():
    imported = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    inner = helper.make_node("Neg", ["x"], ["y"])
    function = helper.make_function("own", "F", ["x"], ["y"], [inner], imported[:1])
    node = helper.make_node("F", ["x"], ["y"], domain="own")
    described = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in "xy"]
    graph = helper.make_graph([node], "g", described[:1], described[1:])
    model = helper.make_model(graph, functions=[function], opset_imports=imported, ir_version=10)
    assert load(model)(np.ones(1, "f4")).tolist() == [-1.0]


def test_the_library_is_loaded_only_on_use():
    import subprocess
    import sys

    code = "import sys, sycl_dnn; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert onnx.__version__
    assert sycl_dnn.onnx.load is load


def constant(name, values):
    values = np.asarray(values)
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(values, "c"))


@pytest.mark.parametrize("has_initializer", [False, True])
def test_weights_in_constant_nodes_are_parameters_without_initializers(has_initializer):
    """As Paddle's exporter writes them; single numbers stay constants."""
    nodes = [
        constant("fc.w", np.ones((3, 2), "f4")), constant("scale", np.full(1, 2, "f4")),
        helper.make_node("MatMul", ["x", "fc.w"], ["a"]),
        helper.make_node("Mul", ["a", "scale"], ["b"]), helper.make_node("Add", ["b", "w"], ["y"]),
    ]  # fmt: skip
    bias = np.array([1, 2], "f4")
    model = model_of(numpy_helper.from_array(bias, "w"), *nodes)
    model.graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3]))
    if not has_initializer:
        model.graph.ClearField("initializer")
        model.graph.node.insert(0, constant("w", bias))
    net = load(model)
    names = ["w"] if has_initializer else ["fc.w", "w"]
    assert sorted(net.state_dict()) == names
    np.testing.assert_array_equal(net(np.ones((1, 3), "f4")).asnumpy(), [[7, 8]])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("y = LpPool <kernel_shape = [2, 2], strides = [1099511627776, 1]> (x)", "'strides' must"),
        (
            "y = AveragePool <kernel_shape = [9, 9], pads = [99999, 99999, 99999, 99999]> (x)",
            "2..33",
        ),
        ("s = Constant <value_ints = [1, 1, 99999, 99999]> () y = AffineGrid (t, s)", "2..33"),
        ("s = Constant <value_floats = [1.0, 1.0, 1e5, 1e5]> () y = Resize (x, , s)", "2..33"),
    ],
)
def test_sizes_beyond_memory_are_refused_before_any_is_allocated(line, words):
    model = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["": 22]>
        g (float[1, 1, 4, 4] x, float[1, 2, 3] t) => (float[a, b, c, d] y) {{ {line} }}"""
    )
    with pytest.raises(InvalidArguments, match=words):
        load(model)(np.ones((1, 1, 4, 4), "f4"), np.ones((1, 2, 3), "f4"))


@pytest.mark.parametrize("count", [2, 2**30])
def test_split_into_other_numbers_of_parts_is_refused(count):
    tensor = numpy_helper.from_array(np.ones(6, "f4"), "w")
    split = helper.make_node("Split", ["w"], ["y", "a", "b"], num_outputs=count, axis=0)
    model = model_of(tensor, split)
    model.opset_import[0].version = 18
    with pytest.raises(InvalidArguments, match=f"num_outputs must be 3, got {count}"):
        load(model)()


def test_a_result_that_a_node_does_not_have_is_refused():
    tensor = numpy_helper.from_array(np.ones(6, "f4"), "w")
    split = helper.make_node("Split", ["w"], ["a", "b", "y"], split=[2, 4])
    model = model_of(tensor, split)
    model.opset_import[0].version = 11
    with pytest.raises(InvalidArguments, match="'y' must be a result of its node"):
        load(model)()


def test_a_child_that_is_forked_after_the_import_reads_files():
    """ONNX's table of operators is complete by then."""
    code = """
import os
from sycl_dnn.onnx import model_file
if child := os.fork():
    os._exit(os.waitpid(child, 0)[1])
assert model_file.defs.has("Conv")
os._exit(0)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0

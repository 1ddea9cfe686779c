# SPDX-License-Identifier: Apache-2.0
"""Long values of initializers are read where they are in a file, not by the parser."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sycl_dnn.errors import InvalidArguments
from sycl_dnn.onnx import load, model_file
from sycl_dnn.onnx.wire_format import without_values

RNG = np.random.default_rng(4)
W, V = (RNG.standard_normal((40, 40)).astype("f4") for _ in range(2))
INDICES = RNG.integers(0, 40, 900)


def _model(*tensors):
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", "K"]) for n in "xy")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]),
             helper.make_node("MatMul", ["a", "v"], ["b"]),
             helper.make_node("Gather", ["b", "i"], ["y"], axis=1)]  # fmt: skip
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], list(tensors)))
    model.ir_version = 8
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", 17))
    return model


def _tensors():
    named = {"w": W, "i": INDICES, "v": V}
    return [numpy_helper.from_array(values, name) for name, values in named.items()]


def test_parameters_are_parts_of_the_file():
    content = _model(*_tensors()).SerializeToString()
    parameters = model_file.read(content, None).parameters
    for name, values in (("w", W), ("v", V)):
        np.testing.assert_array_equal(parameters[name], values)
        assert np.shares_memory(parameters[name], np.frombuffer(content, "u1"))
    x = RNG.standard_normal((3, 40)).astype("f4")
    np.testing.assert_allclose(load(content)(x).asnumpy(), (x @ W @ V)[:, INDICES], 1e-4, 1e-4)


def test_left_out_values_are_located():
    model = _model(*_tensors(), numpy_helper.from_array(np.ones(3, "f4"), "short"))
    content = model.SerializeToString()
    short, spans = without_values(content, 4096)
    parsed = onnx.ModelProto.FromString(short)
    assert [span is None for span in spans] == [False, False, False, True]
    for tensor, span in zip(parsed.graph.initializer, spans, strict=True):
        if span:
            assert not tensor.HasField("raw_data")
            tensor.raw_data = content[slice(*span)]
    assert parsed == model


@pytest.mark.parametrize("kind", ["twice", "bfloat16", "names", "graphs", "short"])
def test_unusual_files_are_read_by_the_parser(kind):
    w, i, v = _tensors()
    if kind == "bfloat16":
        w.data_type, w.raw_data = TensorProto.BFLOAT16, np.ones(1600, "u2").tobytes() * 1
        model, expected = _model(w, i, v), np.ones(1600, "u2")
        found = model_file.read(model.SerializeToString(), None).parameters["w"]
        np.testing.assert_array_equal(found.view("u2").ravel(), expected)
        return
    model = _model(w, i, v)
    content = model.SerializeToString()
    if kind in ("names", "short"):
        if kind == "names":
            model.graph.initializer[2].name = "w"
        else:
            model.graph.initializer[2].raw_data = V.tobytes()[:-4]
        with pytest.raises(InvalidArguments):
            load(model.SerializeToString())
        return
    if kind == "twice":  # the last values count
        raw = w.SerializeToString()
        other = TensorProto(raw_data=(W + 1).tobytes()).SerializeToString()
        graph = onnx.GraphProto.FromString(model.graph.SerializeToString())
        del graph.initializer[:]
        parts = [raw + other, i.SerializeToString(), v.SerializeToString()]
        body = b"".join(b"\x2a" + _number(len(p)) + p for p in parts) + graph.SerializeToString()
        model.ClearField("graph")
        content = model.SerializeToString() + b"\x3a" + _number(len(body)) + body
    else:  # the parser joins graphs
        rest = onnx.ModelProto()
        rest.graph.initializer.append(v)
        del model.graph.initializer[2]
        content = model.SerializeToString() + rest.SerializeToString()
    parameters = model_file.read(content, None).parameters
    np.testing.assert_array_equal(parameters["w"], W + 1 if kind == "twice" else W)
    np.testing.assert_array_equal(parameters["v"], V)


def _number(n):
    digits = []
    while n > 127:
        digits.append(n & 127 | 128)
        n >>= 7
    return bytes([*digits, n])

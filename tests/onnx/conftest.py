# SPDX-License-Identifier: Apache-2.0
"""Models in ONNX's text format, and a network with trained names."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

DTYPES = {"float32": onnx.TensorProto.FLOAT, "int64": onnx.TensorProto.INT64}


@pytest.fixture
def network():
    """A convolution with batch normalization, a shape computed by nodes, a classifier."""
    rng = np.random.default_rng(0)

    def weight(name, *shape, positive=False):
        values = rng.standard_normal(shape).astype("f4") * 0.3
        return numpy_helper.from_array(np.abs(values) + 0.5 if positive else values, name)

    node = helper.make_node
    nodes = [
        node("Conv", ["x", "features.0.weight", "features.0.bias"], ["a"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["a", "bn.weight", "bn.bias", "bn.mean", "bn.var"], ["b"]),
        node("Relu", ["b"], ["c"]),
        node("GlobalAveragePool", ["c"], ["d"]),
        node("Shape", ["d"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Concat", ["n", "rest"], ["shape"], axis=0),
        node("Reshape", ["d", "shape"], ["e"]),
        node("Gemm", ["e", "fc.weight", "fc.bias"], ["y"], transB=1),
    ]
    initialisers = [
        weight("features.0.weight", 4, 3, 3, 3), weight("features.0.bias", 4),
        weight("bn.weight", 4), weight("bn.bias", 4), weight("bn.mean", 4),
        weight("bn.var", 4, positive=True), weight("fc.weight", 5, 4), weight("fc.bias", 5),
        numpy_helper.from_array(np.array([0]), "zero"),
        numpy_helper.from_array(np.array([-1]), "rest"),
    ]  # fmt: skip
    described = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "net", [described("x", DTYPES["float32"], ["N", 3, 8, 8])],
        [described("y", DTYPES["float32"], ["N", 5])], initialisers,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture
def parsed():
    """``parsed(body, opset)`` returns a model from ONNX's text format."""

    def make(body, opset=22):
        return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> {body}')

    return make

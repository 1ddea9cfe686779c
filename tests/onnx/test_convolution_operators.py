# SPDX-License-Identifier: Apache-2.0
"""Convolutions whose way differs from the usual one, against NumPy."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import sycl_dnn


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (16, 1), (3, 2)])
@pytest.mark.parametrize("rank", [1, 2])
def test_long_windows_over_one_channel(stride, dilation, rank):
    rng = np.random.default_rng(stride)
    x, w = rng.standard_normal((2, 400)).astype("f4"), rng.standard_normal((5, 80)).astype("f4")
    bias, ones = rng.standard_normal(5).astype("f4"), [1] * rank
    described = helper.make_tensor_value_info
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], strides=[*ones[1:], stride],
                            dilations=[*ones[1:], dilation])  # fmt: skip
    graph = helper.make_graph(
        [node], "g", [described("x", TensorProto.FLOAT, [2, *ones, 400])],
        [described("y", TensorProto.FLOAT, ["N", *"ABC"[:rank], "L"])],
        [numpy_helper.from_array(w.reshape(5, *ones, 80), "w"),
         numpy_helper.from_array(bias, "b")],
    )  # fmt: skip
    net = sycl_dnn.onnx.load(helper.make_model(graph, ir_version=10))
    starts = range(0, 400 - 79 * dilation, stride)
    frames = np.stack([x[:, s : s + 79 * dilation + 1 : dilation] for s in starts], 2)
    expected = np.einsum("ok,nkt->not", w, frames) + bias[:, None]
    result = net(x.reshape(2, *ones, 400)).asnumpy()
    np.testing.assert_allclose(result.reshape(expected.shape), expected, rtol=1e-4, atol=1e-4)

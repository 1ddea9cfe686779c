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


#: Padding of axes 2 and 3 as ``Pad`` has it, attributes of ``Conv``, whether one step does both.
PADDED = [
    ((0, 0, 1, 1), "strides = [2, 2]", True),
    ((1, 2, 1, 0), "pads = [1, 0, 0, 1]", True),
    ((1, 1, 1, 1), 'auto_pad = "SAME_UPPER", strides = [2, 2]', True),
    ((2, 0, 0, 2), "dilations = [2, 1]", True),
    ((3, 0, 0, 0), "strides = [1, 1]", False),  # whole windows of padding
    ((-1, 0, 0, 1), "strides = [1, 1]", False),
]


@pytest.mark.parametrize(("pads", "attributes", "is_one_step"), PADDED)
def test_padding_before_a_convolution_is_the_convolutions(pads, attributes, is_one_step, parsed):
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(s).astype("f4") for s in ((2, 3, 40, 40), (4, 3, 3, 3)))
    (top, left, bottom, right), shape = pads, "2, 3, 40, 40"
    inputs = f"float[{shape}] x, float[4, 3, 3, 3] w"
    body = f"y = Conv <{attributes}> ({{}}, w)"
    padded = parsed(
        f"g ({inputs}) => (float[N, C, A, B] y) <int64[8] p = {{0, 0, {top}, {left}, 0, 0, "
        f"{bottom}, {right}}}> {{ z = Pad (x, p) {body.format('z')} }}"
    )
    net = sycl_dnn.onnx.load(padded)
    wide = [n + a + b for n, a, b in zip((40, 40), pads[:2], pads[2:], strict=True)]
    plain = sycl_dnn.onnx.load(parsed(
        f"g (float[2, 3, {wide[0]}, {wide[1]}] x, float[4, 3, 3, 3] w) => (float[N, C, A, B] y) "
        f"{{ {body.format('x')} }}"
    ))  # fmt: skip
    inner = x[:, :, max(-top, 0) :, :]
    explicit = np.pad(inner, ((0, 0), (0, 0), (max(top, 0), bottom), (left, right)))
    np.testing.assert_allclose(
        net(x, w).asnumpy(), plain(explicit, w).asnumpy(), rtol=1e-5, atol=1e-5
    )
    launched = sycl_dnn.compile(net, passes={"run_on_host": False})
    report = launched.explain(*map(sycl_dnn.asarray, (x, w)))
    rows = [part.row for part in report.parts if part.row != "reorder"]
    assert (rows == ["convolution_forward"]) is is_one_step


def test_padding_with_another_reader_is_computed_once_read(parsed):
    net = sycl_dnn.onnx.load(parsed(
        "g (float[1, 1, 4, 4] x, float[1, 1, 3, 3] w) => (float[N, C, A, B] y, float[N, C, H, W] z)"
        " <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> { z = Pad (x, p) y = Conv (z, w) }"
    ))  # fmt: skip
    x, w = np.ones((1, 1, 4, 4), "f4"), np.ones((1, 1, 3, 3), "f4")
    y, z = net(x, w)
    assert z.asnumpy().sum() == 16
    assert z.shape == (1, 1, 6, 6)
    assert y.asnumpy()[0, 0].tolist() == [[4, 6, 6, 4], [6, 9, 9, 6], [6, 9, 9, 6], [4, 6, 6, 4]]

# SPDX-License-Identifier: Apache-2.0
"""Operators with attributes, versions or values that the official suite leaves out."""

import dpnp
import numpy as np
import pytest
from onnx import ValueInfoProto, helper, numpy_helper

import sycl_dnn
from sycl_dnn import functional as F

NAN = float("nan")


def loaded(name, x, constants=(), version=18, **attributes):
    """The model of one operator."""
    names = [f"c{i}" if c is not None else "" for i, c in enumerate(constants)]
    node = helper.make_node(name, ["x", *names], ["y"], **attributes)
    weights = [
        numpy_helper.from_array(np.asarray(c), n)
        for c, n in zip(constants, names, strict=True)
        if n
    ]
    given = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    graph = helper.make_graph([node], "g", [given], [ValueInfoProto(name="y")], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    return sycl_dnn.onnx.load(model)


def made(name, x, *args, **kwargs):
    """The result of one operator."""
    return dpnp.asnumpy(loaded(name, x, *args, **kwargs)(dpnp.asarray(x)))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sums_of_integers_keep_their_dtype(dtype):
    x = np.arange(1, 7).reshape(2, 3).astype(dtype)
    log = made("ReduceLogSum", x, [np.array([1])])
    assert log.dtype == dtype
    assert log.tolist() == [[1], [2]]
    soft = made("ReduceLogSumExp", x, [np.array([1])])
    assert soft.dtype == dtype
    assert soft.tolist() == [[3], [6]]
    total = made("Einsum", x, equation="ij->")
    assert total.dtype == dtype
    assert total == 21


@pytest.mark.parametrize(
    ("pads", "mode", "expected"),
    [
        ((-1, 1), "wrap", [1, 2, 3, 1]),
        ((1, -1), "wrap", [2, 0, 1, 2]),
        ((-2, 2), "edge", [2, 3, 3, 3]),
        ((-1, 2), "reflect", [1, 2, 3, 2, 1]),
    ],
)
def test_padding_does_not_repeat_removed_elements(pads, mode, expected):
    assert made("Pad", np.arange(4, dtype="f4"), [pads], 19, mode=mode).tolist() == expected


@pytest.mark.parametrize(
    ("scale", "expected"), [(1.5, [0, 0, 1, 2, 2, 3]), (0.8, [0, 2, 3]), (0.5, [0, 2])]
)
def test_nearest_elements_of_version_10_are_those_of_onnx_runtime(scale, expected):
    x = np.arange(4, dtype="f4").reshape(1, 1, 4)
    scales = np.array([1, 1, scale], "f4")
    assert made("Resize", x, [scales], 10, mode="nearest").ravel().tolist() == expected


@pytest.mark.parametrize(("size", "scale", "new"), [(10, 0.7, 7), (30, 1.3, 39), (20, 2.3, 46)])
@pytest.mark.parametrize(("name", "version"), [("Upsample", 9), ("Resize", 10), ("Resize", 19)])
def test_decimal_scales_give_the_sizes_of_decimals(name, version, size, scale, new):
    """The scales are float32: 0.7 is less than 0.7 there, but the product with 10 is 7."""
    scales = np.array([1, scale], "f4")
    x = np.zeros((3, size), "f4")
    y = made(name, x, [scales] if version < 11 else [None, scales], version, mode="linear")
    assert y.shape == (3, new)


def test_coordinates_by_decimal_scales_are_those_of_decimals():
    x = np.arange(5, dtype="f4")
    for way, expected in [("half_pixel", [0, 2, 3]), ("asymmetric", [0, 1, 3])]:
        y = made("Resize", x, [None, np.array([0.6], "f4")], 19, mode="nearest",
                 nearest_mode="floor", coordinate_transformation_mode=way)  # fmt: skip
        assert y.tolist() == expected


def test_half_pixels_of_one_element_are_the_first_of_the_input():
    """The number of elements decides, not their fraction."""
    x = np.arange(5, dtype="f4").reshape(1, 1, 5)
    y = made("Resize", x, [None, np.array([1, 1, 0.3], "f4")], 13, mode="linear",
             coordinate_transformation_mode="pytorch_half_pixel")  # fmt: skip
    assert y.ravel().tolist() == [0]


def test_coordinates_of_elements_are_not_off_by_rounding():
    x = np.arange(5, dtype="f4")
    y = made("Resize", x, [None, None, np.array([10])], 18, mode="nearest", nearest_mode="ceil",
             coordinate_transformation_mode="half_pixel_symmetric")  # fmt: skip
    assert y.tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    x = x.reshape(1, 5, 1)
    y = made("Resize", x, [None, None, np.array([1, 3, 1])], 18, mode="nearest", axes=[0, 1, 2],
             keep_aspect_ratio_policy="not_smaller", nearest_mode="ceil",
             coordinate_transformation_mode="half_pixel_symmetric")  # fmt: skip
    assert y.shape == (1, 5, 1)
    region = np.array([0.1, 0.9], "f4")
    y = made("Resize", np.arange(5, dtype="f4"), [region, None, np.array([1])], 18,
             mode="nearest", nearest_mode="floor",
             coordinate_transformation_mode="tf_crop_and_resize")  # fmt: skip
    assert y.tolist() == [2]


@pytest.mark.parametrize("way", ["half_pixel", "half_pixel_symmetric"])
def test_resized_integers_are_rounded_once(way):
    """Not along each axis in turn."""
    x = np.array([[[[0, 1], [2, 3]]]], "u1")
    y = made("Resize", x, [None, None, np.array([1, 1, 4, 4])], 19, mode="linear",
             coordinate_transformation_mode=way)  # fmt: skip
    assert y.ravel().tolist() == [0, 0, 1, 1, 0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3]


def test_signs_and_ramps():
    x = np.array([-2, -0.0, NAN, np.inf], "f4")
    np.testing.assert_array_equal(made("Sign", x), np.sign(x))
    assert made("Relu", np.array([-2, 0, 3])).tolist() == [0, 0, 3]
    assert made("ThresholdedRelu", x, alpha=0.5).tolist() == [0, 0, 0, np.inf]


@pytest.mark.parametrize("parts", [1, 2])
def test_fourier_transforms_have_gradients(parts):
    x = np.random.default_rng(parts).standard_normal((2, 8, parts), "f4")
    net = loaded("DFT", x, (None, np.array(1)), version=20)
    power = sycl_dnn.grad(lambda x: F.sum(F.square(net(x))))(dpnp.asarray(x))
    np.testing.assert_allclose(dpnp.asnumpy(power), 2 * 8 * x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("LpPool", {"kernel_shape": [1, 2], "strides": [1, 2]}),
        ("GlobalLpPool", {}),
        ("ReduceL2", {"keepdims": 0}),
        ("LpNormalization", {"axis": 2}),
    ],
)
def test_lengths_of_zeros_have_finite_gradients(name, attributes):
    """As torch's norm; the slope of a square root at 0 is infinite."""
    x = np.zeros((1, 2, 2, 4), "f4")
    model = loaded(name, x, **attributes)
    slope = sycl_dnn.grad(lambda x: model(x).sum())
    for gradient in (slope(dpnp.asarray(x)), sycl_dnn.compile(slope)(dpnp.asarray(x))):
        assert (dpnp.asnumpy(gradient) == 0).all()


def test_rois_without_a_sampling_ratio_are_sampled_by_their_sizes():
    """One sample for each pixel of a bin: of a linear image, the value at its center."""
    x = np.arange(64, dtype="f4").reshape(1, 1, 8, 8)
    boxes = np.array([[1, 1, 5, 7], [0.5, 0.5, 2.5, 6.5]], "f4")
    y = made("RoiAlign", x, [boxes, np.array([0, 0])], 16, output_height=2, output_width=2)
    rows, columns = np.array([2, 5.0])[:, None], np.array([1.5, 3.5])
    np.testing.assert_allclose(y[0, 0], 8 * rows + columns, rtol=1e-6)
    rows, columns = np.array([1.5, 4.5])[:, None], np.array([0.5, 1.5])
    np.testing.assert_allclose(y[1, 0], 8 * rows + columns, rtol=1e-6)


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 1), (1, 3, 1, 1), (5,), (4, 1), (3, 4, 5)])
def test_slopes_of_prelu_are_broadcast(shape):
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype("f4")
    slope = np.random.default_rng(1).standard_normal(shape).astype("f4")
    np.testing.assert_array_equal(made("PRelu", x, [slope]), np.where(x < 0, x * slope, x))
    rows = made("PRelu", x[:, :, 0, 0], [slope.ravel()[:1]])
    np.testing.assert_array_equal(rows, np.where(x < 0, x * slope.ravel()[0], x)[:, :, 0, 0])


@pytest.mark.parametrize("size", [2, 3, 4])
def test_channels_of_local_response_norm(size):
    """An even number of channels has one more after the channel than before it."""
    x = np.random.default_rng(0).standard_normal((2, 7, 3, 3), dtype=np.float32)
    before, after = (size - 1) // 2, size // 2
    squares = np.stack(
        [(x[:, max(0, c - before) : c + after + 1] ** 2).sum(1) for c in range(7)], 1
    )
    expected = x / (1.5 + 0.3 / size * squares) ** 0.75
    got = made("LRN", x, size=size, alpha=0.3, bias=1.5)
    np.testing.assert_allclose(got, expected, rtol=2e-5)


def test_clip_of_an_lstm_does_not_bound_its_cell():
    """Three steps with open gates: the state of the cell exceeds the bound."""
    weights = [np.zeros((1, 4, 1), np.float32), np.zeros((1, 4, 1), np.float32)]
    bias = np.array([[9.0, 9.0, 9.0, 9.0, 0.0, 0.0, 0.0, 0.0]], np.float32)
    last = made("LSTM", np.zeros((3, 1, 1), np.float32), [*weights, bias], hidden_size=1, clip=0.5)
    gate, cell = 1 / (1 + np.exp(-0.5)), 0.0
    for _ in range(3):
        cell = gate * cell + gate * np.tanh(0.5)
    assert cell > 0.5
    assert last[-1].item() == pytest.approx(gate * np.tanh(cell), rel=1e-6)


def test_instance_norm_of_one_position_is_its_bias():
    x = np.array([[[2.0], [NAN], [4.0]]], np.float32)
    scale, bias = (np.arange(3, dtype=np.float32) + start for start in (5, 1))
    np.testing.assert_array_equal(
        made("InstanceNormalization", x, [scale, bias]).ravel(), [1.0, NAN, 3.0]
    )

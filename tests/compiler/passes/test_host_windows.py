# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools of small images and signals as work of the host."""

import dpnp
import numpy as np
import pytest
from host_steps import compared, rows_of
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.lower import host_products

pytestmark = pytest.mark.cpu  # host tasks are for CPUs


def _gate(x, squeeze, expand, activation):
    y = F.adaptive_avg_pool2d(x, 1)
    y = activation(F.conv2d(F.relu(F.conv2d(y, *squeeze)), *expand))
    return x * y


@pytest.mark.parametrize("activation", [F.hardsigmoid, F.sigmoid, F.silu, F.hardswish, F.tanh])
@pytest.mark.parametrize(("n", "channels", "inner"), [(1, 40, 10), (2, 96, 24), (3, 7, 2)])
def test_squeeze_and_excitation_is_one_step(activation, n, channels, inner, on_queue):
    w = on_queue(channels, channels, 1, 1) / 6
    squeeze = on_queue(inner, channels, 1, 1) / 4, on_queue(inner)
    expand = on_queue(channels, inner, 1, 1) / 4, on_queue(channels)

    def block(x):
        return F.conv2d(_gate(F.conv2d(x, w), squeeze, expand, activation), w)

    report = compared(block, on_queue(n, channels, 5, 9))
    (part,) = [p for p in report.parts if p.row == "host_sequence"]
    assert part.implementation == "host"
    assert {"pooling_forward", "convolution_forward"} <= set(part.fused)


@pytest.mark.parametrize(
    ("n", "channels", "outputs", "length", "kernel", "stride", "padding"),
    [
        (1, 3, 20, 11, 3, 1, 1),
        (2, 5, 33, 12, 4, 2, 3),
        (1, 1, 130, 64, 16, 8, 0),
        (3, 17, 5, 9, 3, 2, 1),
        (1, 8, 16, 2, 5, 1, 4),
    ],
)
def test_windows_along_a_signal(n, channels, outputs, length, kernel, stride, padding, on_queue):
    first = on_queue(outputs, channels, kernel) / channels, on_queue(outputs)
    second = on_queue(outputs, outputs, 1) / outputs

    def function(x):
        return F.conv1d(F.relu(F.conv1d(x, *first, stride=stride, padding=padding)), second)

    report = compared(function, on_queue(n, channels, length))
    assert "host_sequence" in rows_of(report)


def test_programs_of_two_threads_have_the_values_of_one(on_queue):
    """Parts do not overlap, and calls of several threads compute all of theirs."""
    first, depthwise = on_queue(24, 3, 3, 3) / 5, on_queue(24, 1, 3, 3) / 3
    points = on_queue(70, 24, 1, 1) / 5, on_queue(8, 70, 1, 1) / 8
    last = on_queue(200, 512) / 20

    def function(x):
        y = F.relu(F.conv2d(x, first, padding=1))
        y = F.conv2d(F.conv2d(y, depthwise, stride=2, padding=1, groups=24), points[0])
        y = F.conv2d(F.max_pool2d(y, 2), points[1])
        return F.linear(F.reshape(y, (x.shape[0], -1)), last)

    compiled = sycl_dnn.compile(function)
    arrays = [on_queue(n, 3, 32, 32) for n in (1, 1, 2)]
    for x in arrays:
        assert "host_sequence" in rows_of(compared(function, x, tolerance=1e-5))
    expected = [dpnp.asnumpy(compiled(x)) for x in arrays]
    wrong = []

    def work(number):
        for _ in range(40):
            if not np.array_equal(sycl_dnn.asnumpy(compiled(arrays[number])), expected[number]):
                wrong.append(number)

    in_threads(3, work)
    assert not wrong


IMAGES = [
    (1, 3, 9, 11, 20, (3, 3), 1, 1, 1),
    (2, 4, 8, 7, 5, (3, 2), 2, 0, 1),
    (1, 1, 12, 12, 17, (5, 5), 1, 2, 1),
    (2, 16, 6, 6, 33, (3, 3), 1, 2, 2),
    (3, 5, 4, 4, 8, (1, 1), 1, 0, 1),
    (1, 6, 1, 30, 40, (1, 3), 1, (0, 4), (1, 4)),
    # A row of results is one more than those that are computed at once.
    *[(1, 4, 3, 257 + i, 12, (3, 3), 1, 1, 1) for i in range(2)],
    (2, 8, 1, 403, 48, (1, 3), 1, (0, 8), (1, 8)),
]


@pytest.mark.parametrize(
    ("n", "channels", "h", "w", "outputs", "kernel", "stride", "padding", "dilation"), IMAGES
)
def test_windows_of_images(n, channels, h, w, outputs, kernel, stride, padding, dilation, on_queue):
    weights, bias = on_queue(outputs, channels, *kernel) / channels, on_queue(outputs)
    slopes, last = on_queue(outputs), on_queue(outputs, outputs, 1, 1) / outputs

    def function(x):
        y = F.conv2d(x, weights, bias, stride=stride, padding=padding, dilation=dilation)
        return F.conv2d(F.prelu(y, slopes), last)

    report = compared(function, on_queue(n, channels, h, w), tolerance=1e-5)
    assert "host_sequence" in rows_of(report)


@pytest.mark.parametrize("channels", [1, 3, 8, 21, 64])
@pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 0), (2, 1)])
def test_depthwise_windows_and_the_greatest_of_windows(channels, stride, padding, on_queue):
    weights, bias = on_queue(channels, 1, 3, 3), on_queue(channels)
    last = on_queue(channels, channels, 1, 1) / channels

    def function(x):
        y = F.conv2d(x, weights, bias, stride=stride, padding=padding, groups=channels)
        y = F.max_pool2d(F.leaky_relu(F.conv2d(y, last), 0.1), 3, stride=2, padding=1)
        return F.conv2d(y, last)

    report = compared(function, on_queue(2, channels, 10, 9), tolerance=1e-5)
    assert "host_sequence" in rows_of(report)


def test_nan_in_windows_rows_and_softmax(on_queue):
    w, x = on_queue(20, 20, 1, 1), on_queue(1, 20, 6, 6)
    x[0, 3, 2, 2] = float("nan")

    def function(x):
        y = F.max_pool2d(F.conv2d(x, w), 2)
        z = F.layer_norm(F.reshape(F.transpose(y, 1, 3), (9, 20)), (20,))
        return y, z, F.softmax(z @ w[:, :, 0, 0], -1) @ w[:, :, 0, 0]

    compiled = sycl_dnn.compile(function)
    assert "host_sequence" in rows_of(compiled.explain(x))
    for result in compiled(x):
        assert np.isnan(dpnp.asnumpy(result)).sum() == 20


@pytest.mark.parametrize(
    ("n", "channels", "outputs", "kernel", "stride", "padding", "extra"),
    [(2, 5, 3, (2, 2), (2, 2), (0, 0), (0, 0)), (1, 8, 20, (3, 3), (2, 2), (1, 1), (1, 1)),
     (1, 4, 1, (4, 3), (2, 1), (1, 0), (0, 0)), (2, 3, 17, (5, 4), (3, 2), (0, 2), (2, 1)),
     (1, 16, 8, (3, 3), (1, 1), (2, 2), (0, 0)), (2, 5, 1, (3, 4), (2, 4), (1, 0), (1, 0)),
     (1, 6, 9, (2, 2), (2, 2), (0, 0), (0, 1))],
)  # fmt: skip
def test_transposed_convolutions(n, channels, outputs, kernel, stride, padding, extra, on_queue):
    first = on_queue(channels, channels, 3, 3) / (3 * channels)
    weights, bias = on_queue(channels, outputs, *kernel) / channels, on_queue(outputs)

    def function(x):
        y = F.relu(F.conv2d(x, first, padding=1))
        y = F.conv_transpose2d(y, weights, bias, stride, padding, extra)
        return F.sigmoid(y)

    report = compared(function, on_queue(n, channels, 7, 6), tolerance=1e-5)
    assert rows_of(report) == ["host_sequence"]


def test_transposed_convolution_of_a_signal(on_queue):
    weights, narrow = on_queue(6, 4, 3) / 6, on_queue(4, 2, 2)
    w, scale = on_queue(6, 6, 1) / 6, on_queue(2, 1)

    def function(x):
        y = F.conv_transpose1d(F.relu(F.conv1d(x, w)), weights, stride=2)
        return F.conv_transpose1d(y, narrow, stride=2) * scale

    assert rows_of(compared(function, on_queue(2, 6, 9), tolerance=1e-5)) == ["host_sequence"]


@pytest.mark.parametrize("channels", [3, 16, 36])
def test_joined_channels_and_their_normalization(channels, on_queue):
    weights = on_queue(12, channels, 3, 3) / channels
    last = on_queue(5, channels + 12, 1, 1) / channels
    statistics = [on_queue(channels + 12) for _ in range(4)]
    statistics[1] = F.abs(statistics[1]) + 0.5

    def function(x):
        y = F.cat([x, F.conv2d(x, weights, padding=1)], 1)
        return F.conv2d(F.relu(F.batch_norm(y, *statistics)), last)

    x = F.permute(on_queue(2, 9, 7, channels), (0, 3, 1, 2))
    report = compared(function, x, tolerance=1e-5)
    assert any("concat" in p.fused for p in report.parts if p.row == "host_sequence")


@pytest.mark.parametrize("shape", [(2, 3, 90, 70), (1, 40, 33, 17)])
def test_images_are_turned_in_parts(shape, on_queue):
    w = on_queue(4, shape[1], 3, 3) / 9
    function = lambda x: F.conv2d(x, w, stride=2)  # noqa: E731
    report = compared(function, on_queue(*shape), tolerance=1e-5)
    assert not host_products.has_fast_loops() or rows_of(report) == ["host_sequence"]


NARROW = [
    ((1, 6, 9, 11), 3, (3, 3), 1, 1),
    ((2, 5, 12, 7), 1, (5, 3), (0, 2), 1),
    ((1, 8, 10, 30), 4, (3, 9), (1, 4), (2, 1)),
    ((1, 3, 4, 3), 2, (3, 5), (4, 2), 1),
    ((2, 4, 17), 3, (5,), 2, 3),
]


@pytest.mark.parametrize(("shape", "outputs", "kernel", "padding", "dilation"), NARROW)
@pytest.mark.parametrize("is_last", [True, False])
def test_few_results_for_each_pixel(
    shape, outputs, kernel, padding, dilation, is_last, on_queue, monkeypatch
):
    """Their products for a row of a window are computed together, into planes or pixels."""
    kinds = []
    kind_of = host_products._narrow
    monkeypatch.setattr(
        host_products, "_narrow", lambda *args: kinds.append(kind_of(*args)) or kinds[-1]
    )
    conv = F.conv1d if len(shape) == 3 else F.conv2d
    square = (1,) * len(kernel)
    first = on_queue(shape[1], shape[1], *square) / shape[1]
    weights, bias = on_queue(outputs, shape[1], *kernel) / shape[1], on_queue(outputs)
    last = on_queue(20, outputs, *square)

    def function(x):
        y = F.tanh(conv(conv(x, first), weights, bias, padding=padding, dilation=dilation))
        return y if is_last else conv(y, last)

    report = compared(function, on_queue(*shape), tolerance=1e-5)
    if host_products.has_fast_loops() and report.parts:
        assert any(kinds)

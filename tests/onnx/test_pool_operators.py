# SPDX-License-Identifier: Apache-2.0
"""Pools with padding on one side, against NumPy: values, and how many steps they are."""

import math

import numpy as np
import pytest

import sycl_dnn

#: Attributes, elements before and after each axis, and whether they are those of torch's pools.
CASES = [
    ("kernel_shape = [3, 3], strides = [2, 2], pads = [0, 0, 1, 1]", (0, 1), True),
    ("kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1", (0, 1), True),
    ('kernel_shape = [3, 3], strides = [2, 2], auto_pad = "SAME_UPPER"', (0, 1), True),
    ("kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 0, 0]", (1, 0), True),
    ("kernel_shape = [3, 3], strides = [1, 1], pads = [0, 0, 1, 1]", (0, 1), False),
    ("kernel_shape = [2, 2], strides = [1, 1], pads = [1, 1, 0, 0]", (1, 0), False),
]


def _windows(x, kernel, stride, pads, fill):
    padded = np.pad(x, ((0, 0), (0, 0), pads, pads), constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (2, 3))
    return views[:, :, ::stride, ::stride]


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(("attributes", "pads", "is_one_step"), CASES)
def test_padding_on_one_side(op, attributes, pads, is_one_step, parsed):
    x = np.random.default_rng(3).standard_normal((2, 5, 12, 12)).astype("f4")
    net = sycl_dnn.onnx.load(parsed(
        f"g (float[N, C, 12, 12] x) => (float[N, C, A, B] y) {{ y = {op} <{attributes}> (x) }}"
    ))  # fmt: skip
    kernel, stride = (int(attributes.split(a)[1][0]) for a in ("kernel_shape = [", "strides = ["))
    if op == "MaxPool":
        expected = _windows(x, kernel, stride, pads, -math.inf).max((-1, -2))
    else:  # without the padding
        expected = np.nanmean(_windows(x, kernel, stride, pads, np.nan), (-1, -2))
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    launched = sycl_dnn.compile(net, passes={"run_on_host": False})
    report = launched.explain(sycl_dnn.asarray(x))
    rows = [part.row for part in report.parts if part.row != "reorder"]
    assert (rows == ["pooling_forward"]) is is_one_step

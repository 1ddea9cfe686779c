# SPDX-License-Identifier: Apache-2.0
"""Products of one-hot values and a matrix read its rows; others are what the model says."""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import sycl_dnn
from sycl_dnn import functional as F

RANGE, AXIS = "int64[5] s = {0, 1, 2, 3, 4}", "int64[1] a = {2}"
VALUES = "float[2] v = {0, 1}, int64 n = {5}"
#: Constants and nodes of a model over indices ``i`` (2, 3) and weights ``w`` (5, 4).
ROWS = {
    "compared": (f"{RANGE}, {AXIS}", "u = Unsqueeze(i, a) e = Equal(u, s) c = Cast<to = 1>(e)"),
    "range first": (f"{RANGE}, {AXIS}", "u = Unsqueeze(i, a) e = Equal(s, u) c = Cast<to = 1>(e)"),
    "one-hot": (VALUES, "c = OneHot(i, n, v)"),
}
OTHERS = {
    "no range": (
        f"int64[5] s = {{0, 1, 2, 4, 3}}, {AXIS}",
        "u = Unsqueeze(i, a) e = Equal(u, s) c = Cast <to = 1> (e)",
    ),
    "other values": ("float[2] v = {0, 2}, int64 n = {5}", "c = OneHot(i, n, v)"),
}


def model(parsed, constants, nodes):
    return parsed(f"""g (int64[2, 3] i, float[5, 4] w) => (float[2, 3, 4] y)
        <{constants}> {{ {nodes} y = MatMul(c, w) }}""")


@pytest.mark.parametrize("case", [*ROWS, *OTHERS])
def test_values(parsed, case):
    result = model(parsed, *(ROWS | OTHERS)[case])
    weights = np.random.default_rng(0).standard_normal((5, 4)).astype("f4")
    given = {"i": np.array([[0, 4, 2], [1, 5, 9]]), "w": weights}
    for row, value in (((0, 0), 1.0), ((1, 2), np.inf), ((3, 0), np.nan)):
        given["w"][row] = value
        with np.errstate(invalid="ignore"):
            expected = ReferenceEvaluator(result).run(None, given)[0]
        net = sycl_dnn.onnx.load(result)
        np.testing.assert_allclose(net(**given).asnumpy(), expected, rtol=1e-6)
    arrays = {name: sycl_dnn.asarray(value) for name, value in given.items()}
    has_product = "matmul" in str(sycl_dnn.compile(net).explain(**arrays))
    assert has_product == (case in OTHERS)


def test_one_hot_values_with_another_reader(parsed):
    result = parsed(f"""g (int64[2, 3] i, float[5, 4] w) => (float[2, 3, 4] y, float[2, 3, 5] c)
        <{VALUES}> {{ c = OneHot(i, n, v) y = MatMul(c, w) }}""")
    given = {"i": np.array([[0, 4, 2], [1, -1, 3]]), "w": np.ones((5, 4), "f4")}
    for actual, expected in zip(
        sycl_dnn.onnx.load(result)(**given),
        ReferenceEvaluator(result).run(None, given),
        strict=True,
    ):
        np.testing.assert_array_equal(actual.asnumpy(), expected)


def test_rows_are_trained(parsed):
    result = model(parsed, *ROWS["compared"])
    net, index = sycl_dnn.onnx.load(result), sycl_dnn.asarray(np.array([[0, 4, 2], [1, 4, 3]]))
    weights = sycl_dnn.asarray(np.ones((5, 4), "f4"))
    slopes = sycl_dnn.grad(lambda w: F.sum(net(i=index, w=w)))(weights)
    counts = np.repeat(np.array([1, 1, 1, 1, 2], "f4")[:, None], 4, 1)
    np.testing.assert_array_equal(slopes.asnumpy(), counts)

# SPDX-License-Identifier: Apache-2.0
"""Instance norms of groups of channels are group norms; what resembles them is what it says."""

import numpy as np
import pytest
from onnx_values import check_values

import sycl_dnn

_NORM = "r = Reshape(c, groups) n = InstanceNormalization(r, scale, shift) s = Shape(c)"
GROUP_NORMS = {
    "torch": f"{_NORM} f = Reshape(n, s) m = Mul(f, weight) y = Add(m, bias)",
    "other order": f"{_NORM} f = Reshape(n, s) m = Mul(weight, f) y = Add(bias, m)",
    "without weights": f"{_NORM} y = Reshape(n, s)",
    "activation": f"{_NORM} f = Reshape(n, s) m = Add(f, bias) g = Sigmoid(m) y = Mul(m, g)",
    "read twice": f"{_NORM} f = Reshape(n, s) m = Mul(f, weight) y = Add(m, f)",
}
OTHERS = {
    "groups are a result": f"{_NORM} h = Relu(n) y = Reshape(h, s)",
    "groups are read": f"{_NORM} q = Add(n, r) y = Reshape(q, s)",
    "rows": "r = Reshape(c, rows) n = Relu(r) s = Shape(c) y = Reshape(n, s)",
}


def model(parsed, body):
    return parsed(f"""g (float[2, 3, 5, 4] x, float[6, 3, 1, 1] k) => (float[2, 6, 5, 4] y)
        <int64[3] groups = {{0, 3, -1}}, int64[3] rows = {{2, 6, 20}}, float[3] scale = {{1, 2, 3}},
         float[3] shift = {{0, 1, 0.5}}, float[6, 1, 1] weight = {{1, 2, 3, 4, 5, 6}},
         float[1, 6, 1, 1] bias = {{1, -1, 0.5, 2, 3, 0}}> {{ c = Conv(x, k) {body} }}""")


@pytest.mark.parametrize(
    "body", [*GROUP_NORMS.values(), *OTHERS.values()], ids=[*GROUP_NORMS, *OTHERS]
)
def test_values(parsed, body):
    shapes = {"x": (2, 3, 5, 4), "k": (6, 3, 1, 1)}
    report = check_values(model(parsed, body), shapes, rtol=1e-4, atol=2e-5)
    is_one = body in GROUP_NORMS.values() and "group_normalization_forward" in str(report)
    assert is_one == (body in GROUP_NORMS.values())
    if is_one:
        assert not any(part.row == "reorder" and part.shape[1] == 3 for part in report.parts[2:])


def test_weights_are_parameters(parsed):
    net = sycl_dnn.onnx.load(model(parsed, GROUP_NORMS["torch"]))
    rng = np.random.default_rng(1)
    x, k = (
        sycl_dnn.asarray(rng.standard_normal(s).astype("f4")) for s in ((2, 3, 5, 4), (6, 3, 1, 1))
    )
    _, grads = sycl_dnn.value_and_grad(lambda net: (net(x, k) ** 2).sum())(net)
    assert all(
        np.abs(np.asarray(sycl_dnn.asnumpy(g))).max() > 0 for g in sycl_dnn.tree.leaves(grads)
    )

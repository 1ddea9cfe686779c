# SPDX-License-Identifier: Apache-2.0
"""GELU written as products with erf is one function; what only resembles it is what it says."""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import sycl_dnn

#: With the constants ``root`` = sqrt(2), ``inverse`` = sqrt(1/2), ``half``, ``one`` and ``third``.
ORDERS = {
    "paddle": "a = Div(c, root) b = Erf(a) d = Add(b, one) e = Mul(c, d) y = Mul(e, half)",
    "torch": "a = Div(c, root) b = Erf(a) d = Add(b, one) e = Mul(c, d) y = Mul(half, e)",
    "half first": "h = Mul(c, half) a = Mul(c, inverse) b = Erf(a) d = Add(one, b) y = Mul(h, d)",
    "half weight": "a = Mul(inverse, c) b = Erf(a) d = Add(b, one) e = Mul(d, half) y = Mul(e, c)",
}
OTHERS = {
    "third": "a = Div(c, root) b = Erf(a) d = Add(b, one) e = Mul(c, d) y = Mul(e, third)",
    "no x": "a = Div(c, root) b = Erf(a) d = Add(b, one) y = Mul(d, half)",
    "other x": "a = Div(x, root) b = Erf(a) d = Add(b, one) e = Mul(c, d) y = Mul(e, half)",
    "added": "a = Div(c, root) b = Erf(a) d = Add(b, half) e = Mul(c, d) y = Mul(e, half)",
    "half of": "a = Mul(c, half) b = Erf(a) d = Add(b, one) e = Mul(a, d) y = Add(e, a)",
    "product": "w = Mul(x, half) y = MatMul(c, w)",
}


def model(parsed, body):
    constants = {"root": 2**0.5, "inverse": 0.5**0.5, "half": 0.5, "one": 1.0, "third": 1 / 3}
    given = ", ".join(f"float {name} = {{{value!r}}}" for name, value in constants.items())
    return parsed(f"""g (float[1, 3, 5, 5] x, float[3, 3, 1, 1] k) => (float[1, 3, 5, 5] y)
        <{given}> {{ c = Conv(x, k) {body} }}""")


@pytest.mark.parametrize("body", [*ORDERS.values(), *OTHERS.values()], ids=[*ORDERS, *OTHERS])
@pytest.mark.sweep(2)
def test_values(parsed, body):
    rng = np.random.default_rng(0)
    given = {"x": rng.standard_normal((1, 3, 5, 5)), "k": rng.standard_normal((3, 3, 1, 1))}
    given = {name: value.astype("f4") for name, value in given.items()}
    result = model(parsed, body)
    net = sycl_dnn.onnx.load(result)
    expected = ReferenceEvaluator(result).run(None, given)[0]
    np.testing.assert_allclose(net(**given).asnumpy(), expected, rtol=1e-5, atol=1e-5)
    arrays = {name: sycl_dnn.asarray(value) for name, value in given.items()}
    compiled = sycl_dnn.compile(net)
    np.testing.assert_allclose(compiled(**arrays).asnumpy(), expected, rtol=1e-5, atol=1e-5)
    assert ("gelu_erf" in str(compiled.explain(**arrays))) == (body in ORDERS.values())

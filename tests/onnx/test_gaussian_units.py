# SPDX-License-Identifier: Apache-2.0
"""GELU written as products with erf is one function; what only resembles it is what it says."""

import pytest
from onnx_values import check_values

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
    shapes = {"x": (1, 3, 5, 5), "k": (3, 3, 1, 1)}
    report = check_values(model(parsed, body), shapes, rtol=1e-5, atol=1e-5)
    assert ("gelu_erf" in str(report)) == (body in ORDERS.values())

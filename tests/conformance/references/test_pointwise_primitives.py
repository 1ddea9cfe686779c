# SPDX-License-Identifier: Apache-2.0
"""The references of eltwise, prelu and softmax against other formulas."""

import math

import numpy as np
from cases import CASES
from reference_calls import call, each, exact, random, run

from conformance.references import reference

X = 0.75  # where the functions below are taken
ELTWISE_VALUES = {
    "relu": ((0.5, 0.0), (-2.0, -1.0)),
    "elu": ((0.5, 0.0), (-X, 0.5 * (math.exp(-X) - 1))),
    "linear": ((2.0, 1.0), (X, 2.5)),
    "soft_relu": ((2.0, 0.0), (X, math.log(1 + math.exp(2 * X)) / 2)),
    "hardsigmoid": ((0.5, 0.25), (X, 0.625)),
    "logistic": ((0.0, 0.0), (X, 1 / (1 + math.exp(-X)))),
    "gelu_erf": ((0.0, 0.0), (X, X * (1 + math.erf(X / math.sqrt(2))) / 2)),
    "swish": ((2.0, 0.0), (X, X / (1 + math.exp(-2 * X)))),
    "clip": ((-0.5, 0.5), (X, 0.5)),
    "clip_v2": ((-0.5, 0.5), (-X, -0.5)),
    "pow": ((3.0, 2.0), (X, 3 * X**2)),
    "round": ((0.0, 0.0), (2.5, 2.0)),
    "mish": ((0.0, 0.0), (X, X * math.tanh(math.log(1 + math.exp(X))))),
    "hardswish": ((0.5, 0.25), (X, X * 0.625)),
}


@each("name", ELTWISE_VALUES)
def test_eltwise_value(name):
    """One value each, from the definition."""
    (alpha, beta), (x, y) = ELTWISE_VALUES[name]
    params = {"algorithm": f"eltwise_{name}", "alpha": alpha, "beta": beta}
    assert math.isclose(call("eltwise_forward", params, src=np.array([x]))[0], y)


def test_gelu_forms_agree():
    """The tanh form approximates the other one."""
    x = np.linspace(-4, 4, 81)
    forms = [
        call("eltwise_forward", {"algorithm": f"eltwise_gelu_{f}"}, src=x) for f in ("erf", "tanh")
    ]
    assert np.abs(forms[0] - forms[1]).max() < 1e-3


def test_clip_forms_differ_at_the_upper_edge():
    """clip passes the gradient at beta, clip_v2 does not; neither does at alpha."""
    edges, ones = np.array([-1.0, 0.0, 1.0]), np.ones(3)
    for name, expected in (("clip", (0, 1, 1)), ("clip_v2", (0, 1, 0))):
        params = {"algorithm": f"eltwise_{name}", "alpha": -1.0, "beta": 1.0}
        found = reference("eltwise_backward", params, {"src": edges, "diff_dst": ones})
        assert found["diff_src"].tolist() == list(expected)


def test_gradient_from_dst_is_that_from_src():
    """Every ``_use_dst_for_bwd`` form against the plain one."""
    for case in CASES["eltwise_backward"]:
        if case.params["algorithm"].endswith("_use_dst_for_bwd"):
            arrays = exact(case.forward_case.inputs())
            arrays |= run(case.forward_case, arrays) | {
                "diff_dst": random(*case.shapes["diff_dst"])
            }
            plain = case.params["algorithm"].removesuffix("_use_dst_for_bwd")
            found = reference(case.row, case.params | {"algorithm": plain}, arrays)
            assert np.allclose(found["diff_src"], run(case, arrays)["diff_src"])


def test_prelu_is_relu_with_a_slope_per_channel():
    """Channel by channel against eltwise_relu."""
    src, slopes = random(2, 3, 4), np.array([0.5, -1.0, 0.0])
    found = call("prelu_forward", {}, src=src, weights=slopes.reshape(1, 3, 1))
    for channel, slope in enumerate(slopes):
        params = {"algorithm": "eltwise_relu", "alpha": slope}
        expected = call("eltwise_forward", params, src=src[:, channel])
        assert np.array_equal(found[:, channel], expected)


@each("case", CASES["softmax_forward"], ids=lambda case: case.id)
def test_softmax_sums_to_one(case):
    """And the logarithm is the logarithm of it."""
    arrays = case.inputs()
    dst = run(case, arrays)["dst"]
    log = case.params["algorithm"] == "softmax_log"
    assert np.allclose((np.exp(dst) if log else dst).sum(axis=case.params["axis"]), 1.0)
    other = case.params | {"algorithm": "softmax_accurate" if log else "softmax_log"}
    with np.errstate(divide="ignore"):
        twin = call(case.row, other, **arrays)
        assert np.allclose(np.exp(dst), twin) if log else np.allclose(np.exp(twin), dst)

# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F

#: name: shape, normalized shape, whether weight, whether bias, layout.
_SHAPES = {
    "rows": ((3, 5, 7), (7,), True, True),
    "two-axes": ((4, 3, 5), (3, 5), True, True),
    "whole": ((17,), (17,), True, True),
    "one-row-each": ((6, 1, 33), (33,), True, True),
    "single-values": ((5, 1), (1,), True, True),
    "bare": ((13, 19), (19,), False, False),
    "weight": ((13, 19), (19,), True, False),
    "bias": ((13, 19), (19,), False, True),
    "wide": ((3, 1027), (1027,), True, True),
    "rank-6": ((2, 1, 2, 3, 2, 5), (2, 5), True, True),
    "strided": ((4, 3, 6), (6,), True, True, "strided"),
    "reversed": ((4, 3, 6), (6,), True, True, "reversed"),
    "transposed": ((4, 3, 6), (3, 6), True, True, "transposed"),
    "no-rows": ((0, 4), (4,), True, True),
    "no-columns": ((4, 0), (0,), True, True),
}


def _cases(function, has_bias):
    for name, (shape, normalized, weight, bias, *layout) in _SHAPES.items():
        if not has_bias and name in ("bias", "single-values"):
            continue
        x = Spec(shape, layout=layout[0] if layout else "plain")
        parameters = [Spec(normalized, "positive") if weight else None]
        parameters += [Spec(normalized) if bias else None] * has_bias
        args = (x, normalized, *parameters)
        name = f"{function.__name__}-{name}"
        yield Case(name, function, args, torch=function.__name__, slack=3)


CASES = [*_cases(F.layer_norm, True), *_cases(F.rms_norm, False)]
CASES += [
    Case("layer_norm-eps", F.layer_norm, (Spec((4, 9)), (9,), None, None, 0.5),
         torch="layer_norm"),
    Case("rms_norm-eps", F.rms_norm, (Spec((4, 9)), (9,), Spec((9,)), 0.5),
         torch="rms_norm"),
    Case("rms_norm-single-values", F.rms_norm, (Spec((5, 1)), (1,), Spec((1,)), 0.1),
         torch="rms_norm"),
    Case("rms_norm-shifted", F.rms_norm,
         (Spec((5, 64), "positive"), (64,), Spec((64,), "positive")), torch="rms_norm", slack=3),
]  # fmt: skip
_NARROW = ("rows", "two-axes", "bare", "wide", "strided", "shifted")
CASES += [c.as_dtype("bfloat16") for c in CASES if c.name.endswith(_NARROW)]
TestCases = checked(CASES, sweep=4)


def test_weights_of_another_dtype(queue):
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s).astype("f4") for s in ((4, 33), (33,), (33,)))
    x, w, b = (dpnp.asarray(a, sycl_queue=queue) for a in (x, w, b))
    actual, pullback = sycl_dnn.vjp(F.layer_norm, sycl_dnn.asarray(x, "bfloat16"), (33,), w, b)
    assert actual.dtype == "bfloat16"
    assert [g.dtype for g in (pullback(actual)[0], *pullback(actual)[2:])] == [
        "bfloat16",
        w.dtype,
        w.dtype,
    ]
    np.testing.assert_allclose(to_numpy(actual), to_numpy(F.layer_norm(x, (33,), w, b)), atol=0.05)


def test_a_weight_converted_twice_has_one_gradient_each(queue):
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype("f4") for s in ((4, 33), (33,)))
    x, w = (sycl_dnn.asarray(dpnp.asarray(a, sycl_queue=queue), "bfloat16") for a in (x, w))

    def twice(x, w):
        return F.layer_norm(F.layer_norm(x, (33,), w), (33,), w)

    y, pullback = sycl_dnn.vjp(twice, x, w)
    narrow = pullback(y)[1]
    wide = sycl_dnn.vjp(twice, x.astype("f4"), w.astype("f4"))[1](y.astype("f4"))[1]
    np.testing.assert_allclose(
        to_numpy(narrow), to_numpy(wide), atol=0.03 * abs(to_numpy(wide)).max()
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("norm", [F.layer_norm, F.rms_norm])
def test_small_rows_are_normalized_in_one_step(norm, dtype, queue):
    """oneDNN's primitive reads vectors in float32 only, which took a step for each."""
    x = to_device(np.arange(24).reshape(2, 12), dtype, queue)
    weight = to_device(np.ones(12), dtype, queue)
    with sycl_dnn.profile() as profile:
        norm(x, (12,), weight)
    assert sum(r.is_execution for r in profile.records) == 1

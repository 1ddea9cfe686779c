# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
import pytest
from functional.case import Spec
from functional.checks import checked
from functional.losses import make
from functional.on_device import to_device

import sycl_dnn
from sycl_dnn import functional as F

pytestmark = pytest.mark.filterwarnings("ignore:kl_div:UserWarning", "ignore:reduction:UserWarning")


UNIT = Spec((3, 5, 7), "unit")


def weight(shape):
    # torch has no gradient for it.
    return shape and Spec(shape, "positive", differentiable=False)


REDUCTIONS = ("none", "mean", "sum")
SHAPES = [(4, 5), (11,), (), (0, 3), (71, 72)]
CASES = [make("binary_cross_entropy", (UNIT, UNIT), reduction=r) for r in REDUCTIONS]
CASES += [
    make("binary_cross_entropy", (UNIT, UNIT, Spec(s, "positive", differentiable=False)),
         reduction="mean")
    for s in ((3, 5, 7), (7,), (5, 1), (1,))
]  # fmt: skip
LOGITS = "binary_cross_entropy_with_logits"
CASES += [make(LOGITS, (Spec((3, 5, 7)), UNIT), reduction=r) for r in REDUCTIONS]
CASES += [
    make(LOGITS,
         (Spec((3, 5, 7)), UNIT, weight(w), None, None, r, weight(p)))
    for w, p, r in [
        ((3, 5, 7), None, "mean"), ((7,), None, "sum"), (None, (7,), "mean"),
        (None, (5, 1), "none"), ((5, 1), (7,), "mean"), (None, (1,), "sum"),
    ]
]  # fmt: skip
CASES += [
    make(name, (Spec(s, v), Spec(s, "unit")), reduction=r)
    for name, v in [("binary_cross_entropy", "unit"), (LOGITS, "normal"), ("kl_div", "normal")]
    for s in SHAPES
    for r in ("none", "sum")
]  # fmt: skip
CASES += [
    make("kl_div", (Spec((3, 5, 7)), Spec((3, 5, 7), v)), reduction=r, log_target=is_log)
    for r in (*REDUCTIONS, "batchmean")
    for is_log, v in ((False, "unit"), (True, "normal"))
]
CASES += [make("kl_div", (Spec((3, 5)), Spec((5,), "unit")), reduction="mean")]
CASES += [
    make(name, (Spec(shape, layout=a), Spec(shape, "unit", layout=b)), reduction="none")
    for name, shape, a, b in [
        (LOGITS, (2, 3, 4, 5), "channels_last", "plain"),
        (LOGITS, (4, 5), "strided", "transposed"),
        ("kl_div", (4, 5), "reversed", "strided"),
    ]
]
CASES += [
    make("binary_cross_entropy", (UNIT, UNIT), "bfloat16", reduction="mean"),
    make(LOGITS, (Spec((3, 5, 7)), UNIT), "bfloat16", reduction="none"),
    make(LOGITS, (Spec((3, 5, 7)), UNIT), "float16", reduction="mean"),
    make("kl_div", (Spec((3, 5, 7)), UNIT), "bfloat16", reduction="sum"),
]  # fmt: skip
TestCases = checked(CASES, sweep=12)


def compare(name, values, queue, **kwargs):
    torch = pytest.importorskip("torch")
    tensors = [torch.tensor(v, dtype=torch.float64) for v in values]
    tensors[0].requires_grad_(True)
    expected = getattr(torch.nn.functional, name)(*tensors, reduction="none", **kwargs)
    (slope,) = torch.autograd.grad(expected.sum(), tensors[0])
    arrays = [to_device(v, "float32", queue) for v in values]
    y, pullback = sycl_dnn.vjp(getattr(F, name), *arrays, reduction="none", **kwargs)
    np.testing.assert_allclose(dpnp.asnumpy(y), expected.detach().numpy(), 1e-5, 3e-7)
    actual = dpnp.asnumpy(pullback(dpnp.ones_like(y))[0])
    np.testing.assert_allclose(actual, slope.numpy(), 1e-5, 1e-6)


def test_extreme_logits(queue):
    x = np.array([-1e4, -100, -30, -17, -1e-6, 0, 1e-6, 17, 30, 100, 1e4], np.float32)
    for target in (0.0, 0.25, 1.0):
        compare(LOGITS, [x, np.full_like(x, target)], queue)


def test_probabilities_of_0_and_1(queue):
    p = np.array([0, 1, 1e-30, 1e-6, 1 - 2**-20, 0.5], np.float32)
    for target in (0.0, 0.25, 1.0):
        t = np.full_like(p, target)
        y = F.binary_cross_entropy(
            *(to_device(v, "float32", queue) for v in (p, t)), reduction="none"
        )
        with np.errstate(divide="ignore"):
            logs = [np.maximum(np.log(v), -100) for v in (p.astype("f8"), 1 - p.astype("f8"))]
        expected = -(t * logs[0] + (1 - t) * logs[1])
        np.testing.assert_allclose(dpnp.asnumpy(y), expected, 1e-5, 3e-7)
    compare("binary_cross_entropy", [p[2:], np.full_like(p[2:], 0.25)], queue)


def test_probabilities_of_0_and_1_have_infinite_target_gradients(queue):
    """As in torch: only the loss bounds logarithms."""
    p, t = ([0.0, 1.0, 0.25, 1e-30], [0.0, 1.0, 0.5, 0.5])
    args = [dpnp.asarray(v, dtype="f4", sycl_queue=queue) for v in (p, t)]
    y, pullback = sycl_dnn.vjp(lambda p, t: F.binary_cross_entropy(p, t, reduction="none"), *args)
    result = dpnp.asnumpy(pullback(dpnp.ones_like(y))[1])
    np.testing.assert_allclose(result, [np.inf, -np.inf, np.log(3), 30 * np.log(10)], rtol=1e-5)


def test_short_alias():
    assert F.bce_with_logits is F.binary_cross_entropy_with_logits


def test_divergence_warns_about_reduction_mean(queue):
    sycl_dnn.cache.clear()
    x = to_device(np.ones((2, 3)), "float32", queue)
    with pytest.warns(UserWarning, match="kl_div: reduction='mean' divides by the number"):
        F.kl_div(x, x)

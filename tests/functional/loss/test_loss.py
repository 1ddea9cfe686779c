# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import dpnp
import numpy as np
import pytest
from functional.case import Spec
from functional.checks import checked
from functional.losses import make
from functional.on_device import to_device

import sycl_dnn
from sycl_dnn import functional as F

SHAPE = (3, 5, 7)
PAIR = (Spec(SHAPE), Spec(SHAPE))
LAYOUTS = [
    (Spec((2, 3, 5, 2), layout="channels_last"), Spec((2, 3, 5, 2))),
    (Spec((4, 5), layout="strided"), Spec((4, 5), layout="transposed")),
    (Spec((11,), layout="reversed"), Spec((11,))),
    (Spec(()), Spec(())),
    (Spec((0, 3)), Spec((0, 3))),
    (Spec((97, 101)), Spec((97, 101))),
    (Spec((5003,)), Spec((5003,))),
]
BROADCAST = [(Spec((3, 5)), Spec((5,))), (Spec((1, 5)), Spec((3, 1)))]
WEIGHT = Spec(SHAPE, "positive")


#: Name: parameters to test.
FUNCTIONS = {
    "mse_loss": [{}], "l1_loss": [{}], "smooth_l1_loss": [{}, {"beta": 0.3}, {"beta": 0.0}],
    "huber_loss": [{}, {"delta": 0.4}],
}  # fmt: skip
CASES = [
    make(name, PAIR, reduction=r, **kwargs)
    for name, every in FUNCTIONS.items()
    for kwargs in every
    for r in ("none", "mean", "sum")
]
CASES += [
    make(name, specs, reduction=r)
    for name in ("mse_loss", "huber_loss")
    for specs in LAYOUTS
    for r in ("none", "mean", "sum")
]
CASES += [
    make(name, specs, reduction=r)
    for name in ("mse_loss", "l1_loss")
    for specs in BROADCAST
    for r in ("none", "mean")
]
CASES += [
    make(name, (*PAIR, *((r, 1.0) if name == "huber_loss" else (None, None, r)), WEIGHT))
    for name in ("mse_loss", "l1_loss", "huber_loss")
    for r in ("none", "mean", "sum")
]
CASES += [make(n, PAIR, "bfloat16", reduction="mean") for n in FUNCTIONS]
CASES += [make(n, PAIR, "bfloat16", reduction="none") for n in FUNCTIONS]
CASES += [make("mse_loss", PAIR, "float16", reduction="mean")]
# The mean of an empty array is NaN, and so are differences from it.
CASES = [
    replace(c, has_gradient=c.args[0].shape != (0, 3) or c.kwargs["reduction"] != "mean")
    for c in CASES
]
pytestmark = pytest.mark.filterwarnings("ignore:.*broadcast.*:UserWarning")
TestCases = checked(CASES, sweep=12)


def test_long_sums_are_accurate(queue):
    x = dpnp.ones(2_000_000, dtype="float32", sycl_queue=queue)
    assert float(F.mse_loss(x, 0.1 * x)) == pytest.approx(0.81, rel=1e-6)


def test_deprecated_reduction_arguments(queue):
    x = to_device(np.array([1.0, 2.0]), "float32", queue)
    for average, reduce, ndim in [(None, False, 1), (False, None, 0), (None, True, 0)]:
        sycl_dnn.cache.clear()
        with pytest.warns(UserWarning, match="mse_loss: size_average and reduce are deprecated"):
            y = F.mse_loss(x, 0 * x, average, reduce)
        assert y.ndim == ndim
    assert float(F.mse_loss(x, 0 * x, False)) == 5


def test_broadcasting_warns(queue):
    sycl_dnn.cache.clear()
    x = to_device(np.ones((2, 3)), "float32", queue)
    with pytest.warns(UserWarning, match=r"l1_loss: target should have the shape of input"):
        F.l1_loss(x, x[0])

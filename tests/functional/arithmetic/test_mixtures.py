# SPDX-License-Identifier: Apache-2.0
"""Composite element-wise functions."""

import dpnp
import numpy as np
import pytest
from functional.case import Spec
from functional.checks import checked
from functional.named import LAYOUTS, named
from functional.on_device import to_device

from sycl_dnn import functional as F

X, Y = Spec((3, 4)), Spec((3, 4), "positive")
MASK = np.array([True, False, True, False])


CASES = [
    named("lerp", F.lerp, (X, Y, 0.3), on_gpu=True),
    named("lerp-array", F.lerp, (Spec((3, 1)), Spec((4,)), Spec((3, 4), "unit"))),
    named("addcmul", F.addcmul, (X, X, Y), value=0.5),
    named("addcdiv", F.addcdiv,
          (X, Spec((4,)), Spec((3, 1), "positive")), value=2),
    named("clamp_min", F.clamp_min, (Spec((3, 4), "distinct"), 0.03)),
    named("clamp_max", F.clamp_max, (Spec((3, 4), "distinct"), Spec((4,)))),
    named("logaddexp", F.logaddexp, (X, Spec((4,)))),
    named("logit", F.logit, (Spec((3, 4), "unit"),), slack=4),
    named("logit-eps", F.logit, (Spec((3, 4), "unit"), 0.2)),
]  # fmt: skip
CASES += [named(f"lerp-{layout}", F.lerp, (Spec((2, 8, 5, 7), layout=layout),
                Spec((2, 8, 5, 7)), 0.3)) for layout in LAYOUTS[1:]]  # fmt: skip
CASES += [c.as_dtype(d) for c in CASES for d in ("bfloat16", "float16")
          if c.name in ("lerp", "addcmul", "logaddexp")]  # fmt: skip
TestCases = checked(CASES, sweep=2)


def test_masked_fill_keeps_the_dtype(queue):
    x, mask = to_device(np.ones((2, 4)), "float32", queue), dpnp.asarray(MASK, sycl_queue=queue)
    expected = np.where(MASK, -np.inf, np.ones((2, 4)))
    np.testing.assert_array_equal(dpnp.asnumpy(F.masked_fill(x, mask, float("-inf"))), expected)
    filler = to_device(np.array(3.0), "float32", queue)
    assert F.masked_fill(x.astype("int64"), mask, filler).dtype == np.int64
    assert F.masked_fill(F.astype(x, "bfloat16"), mask, 2).dtype == "bfloat16"


SPECIAL = np.array([np.nan, np.inf, -np.inf, 1.5, -2.0])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("provided", [{}, {"nan": 1.0, "posinf": 2.0, "neginf": -3.0}])
def test_nan_to_num_matches_torch(provided, dtype, queue):
    torch = pytest.importorskip("torch")
    expected = torch.tensor(SPECIAL).to(getattr(torch, dtype)).nan_to_num(**provided).double()
    actual = F.astype(F.nan_to_num(to_device(SPECIAL, dtype, queue), **provided), "float32")
    np.testing.assert_array_equal(dpnp.asnumpy(actual).astype("f8"), expected)
    whole = to_device(np.arange(3), "int64", queue)
    assert F.nan_to_num(whole).tolist() == [0, 1, 2]

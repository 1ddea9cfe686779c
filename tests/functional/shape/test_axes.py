# SPDX-License-Identifier: Apache-2.0
"""Moving, splitting and joining axes; diagonals."""

import dpnp
import numpy as np
from functional.case import Spec
from functional.checks import checked
from functional.named import LAYOUTS, X, named

from sycl_dnn import functional as F

M, V = Spec((4, 6)), Spec((3,))
CASES = [
    named("unbind", F.unbind, (X,), on_gpu=True),
    named("unbind-last", F.unbind, (X, -1)),
    *(named(f"rot90-{k}", F.rot90, (X, k, (0, -1))) for k in (-1, 0, 1, 2)),
    named("select", F.select, (X, 1, -2)),
    named("movedim", F.movedim, (X, 0, -1)),
    named("movedim-several", F.movedim, (Spec((2, 3, 4, 5)), (0, 3), (2, 0))),
    named("swapaxes", F.swapaxes, (X, 0, -1)),
    named("hstack", F.hstack, ([Spec((2, 1, 3)), Spec((2, 4, 3))],)),
    named("hstack-vectors", F.hstack, ([V, Spec((2,)), Spec(())],)),
    named("vstack", F.vstack, ([Spec((2, 3)), V],)),
    named("diagonal", F.diagonal, (M,)),
    named("diagonal-above", F.diagonal, (M, 3)),
    named("diagonal-below", F.diagonal, (M, -1)),
    named("diagonal-outside", F.diagonal, (M, 9)),
    named("diagonal-axes", F.diagonal, (X, 1, -1, 0)),
    named("diag", F.diag, (V,)),
    named("diag-above", F.diag, (V, 2)),
    named("diag-below", F.diag, (V, -1)),
    named("diag-matrix", F.diag, (M, 1)),
]
CASES += [named(f"unbind-{layout}", F.unbind, (Spec((2, 8, 5, 7), layout=layout), 2))
          for layout in LAYOUTS[1:]]  # fmt: skip
CASES += [c.as_dtype(d) for c in CASES for d in ("bfloat16", "float16")
          if c.name in ("unbind", "diagonal")]  # fmt: skip
# oneDNN has only its reference for the selection in diag.
TestCases = checked(CASES, sweep=2, may_be_slow=[c for c in CASES if c.function is F.diag])


def test_nan_off_the_diagonal_does_not_leak(queue):
    x = dpnp.asarray(np.array([np.nan, 1.0], "f4"), sycl_queue=queue)
    np.testing.assert_array_equal(dpnp.asnumpy(F.diag(x)), [[np.nan, 0], [0, 1]])

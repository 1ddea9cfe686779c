# SPDX-License-Identifier: Apache-2.0
"""Sums of products over named axes: einsum, tensordot, outer, dot, mv."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.named import of_words
from functional.torch_functions import of_torch

from sycl_dnn import functional as F

#: Equations and the shapes of their operands.
EQUATIONS = {
    "ij,jk->ik": [(3, 4), (4, 5)],
    "ij,jk": [(3, 4), (4, 5)],
    "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
    "bhid,bhjd->bhij": [(2, 2, 3, 4), (2, 2, 5, 4)],
    "ij->ji": [(3, 4)],
    "ij->j": [(3, 4)],
    "ij->": [(3, 4)],
    "ii->i": [(4, 4)],
    "ii": [(4, 4)],
    "iij->ij": [(3, 3, 2)],
    "i,j->ij": [(3,), (4,)],
    "ij,ij->ij": [(3, 4), (3, 4)],
    "ij,j->i": [(3, 4), (4,)],
    "ij,k->j": [(3, 4), (2,)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)],
    "i,ij,j": [(3,), (3, 4), (4,)],
    "ab,bc,cd,de->ae": [(2, 3), (3, 4), (4, 2), (2, 3)],
    "bn,anm,bm->ba": [(2, 3), (5, 3, 4), (2, 4)],
    "...ij,...jk->...ik": [(2, 1, 3, 4), (5, 4, 2)],
    "...i->...": [(2, 3, 4)],
    "i...,i...": [(3, 4), (3, 4)],
    "ii,ij->j": [(3, 3), (3, 2)],
}


CASES = [
    *(Case(f"einsum-{equation}", F.einsum,
           (equation, *(Spec(s) for s in shapes)), torch=of_torch("einsum"))
      for equation, shapes in EQUATIONS.items()),
    of_words("einsum-bf16", "ij,kj->ik", Spec((3, 4)), Spec((5, 4)), dtype="bfloat16"),
    of_words("outer", Spec((3,)), Spec((4,))),
    of_words("dot", Spec((3,)), Spec((3,))),
    of_words("mv", Spec((4, 3)), Spec((3,))),
    *(Case(f"tensordot-{dims}", F.tensordot, (Spec(a), Spec(b), dims),
           torch=of_torch("tensordot"))
      for a, b, dims in [((2, 3, 4), (3, 4, 5), 2), ((2, 3), (4,), 0), ((3, 4), (4, 3), 1),
                         ((2, 3, 4), (4, 5, 2), ([0, 2], [2, 0]))]),
]  # fmt: skip
TestCases = checked(CASES, sweep=2, may_be_slow=True)


def test_lists_of_axes_and_integers(queue):
    a, b = (dpnp.asarray(np.arange(6.0).reshape(s), dtype="f4", sycl_queue=queue)
            for s in ((2, 3), (3, 2)))  # fmt: skip
    expected = dpnp.asnumpy(a) @ dpnp.asnumpy(b)
    np.testing.assert_allclose(F.einsum(a, [0, 1], b, [1, 2], [0, 2]).asnumpy(), expected)
    np.testing.assert_allclose(F.einsum("ij,jk->ik", [a, b]).asnumpy(), expected)
    whole = F.einsum("ij,jk->ik", a.astype("i8"), b.astype("i8"))
    np.testing.assert_array_equal(whole.asnumpy(), expected)
    assert F.einsum("ij,jk->ik", a[:0], b).shape == (0, 2)
    np.testing.assert_array_equal(
        F.einsum("ij,jk->ik", a[:, :0], b[:0]).asnumpy(), np.zeros((2, 2))
    )


@pytest.mark.slow
def test_integer_sums_follow_torch_promotion(queue):
    """As in torch: sums of one operand are of int64, products and axes of one element not."""
    a, b = (dpnp.ones(s, dtype="i4", sycl_queue=queue) for s in ((2, 3), (1, 2)))
    for equation, args, expected, dtype in (
        ("ab,ac->b", (a, a), [6, 6, 6], "int64"),
        ("ab,ca->b", (a, b), [2, 2, 2], "int32"),
        ("ab->a", (a,), [3, 3], "int64"),
        ("ab,a->b", (a, b[0]), [2, 2, 2], "int32"),
    ):
        actual = F.einsum(equation, *args)
        assert (actual.tolist(), actual.dtype) == (expected, dtype)

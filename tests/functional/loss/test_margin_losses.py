# SPDX-License-Identifier: Apache-2.0
"""Losses with margins and of distributions, against torch."""

import re

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked

import sycl_dnn
from sycl_dnn import functional as F

#: What texts name: floats, signs of floats, positive ones, labels, targets, and weights of classes.
ARGUMENTS = {
    **{name: Spec((4, 5)) for name in "abc"}, "s": Spec((4, 5), differentiable=False),
    "row": Spec((5,)), "one": Spec((4,), differentiable=False),
    "p": Spec((4, 5), "positive"), "q": Spec((4, 1), "positive"), "r": Spec((4,), "positive"),
    "t": Spec((4, 5), "positive", differentiable=False),
    "n": Spec((4, 5), "integer", 6), "m": Spec((5,), "integer", 6), "k": Spec((4,), "integer", 5),
    "i": Spec((), "integer", 5), "w": Spec((5,), "positive", differentiable=False),
}  # fmt: skip
#: Calls as both libraries write them.
TEXTS = [
    "margin_ranking_loss(a, b, sign(s))",
    "margin_ranking_loss(a, b, sign(s), margin=0.3, reduction='none')",
    "hinge_embedding_loss(a, sign(s))",
    "hinge_embedding_loss(a, sign(s), margin=0.3, reduction='sum')",
    "cosine_embedding_loss(a, b, sign(one))",
    "cosine_embedding_loss(a, b, sign(one), margin=0.1, reduction='none')",
    "soft_margin_loss(a, sign(s))", "soft_margin_loss(a, sign(s), reduction='none')",
    "multi_margin_loss(a, k)", "multi_margin_loss(a, k, p=2, margin=0.5)",
    "multi_margin_loss(a, k, reduction='none', weight=w)",
    "multi_margin_loss(row, i, reduction='none')",
    "multilabel_margin_loss(a, n - 1)", "multilabel_margin_loss(a, n - 1, reduction='none')",
    "multilabel_margin_loss(row, m - 1)",
    "multilabel_soft_margin_loss(a, sign(s) / 2 + 0.5)",
    "multilabel_soft_margin_loss(a, sign(s) / 2 + 0.5, reduction='none', weight=w)",
    "triplet_margin_loss(a, b, c)", "triplet_margin_loss(a, b, c, swap=True, p=1.0)",
    "triplet_margin_loss(a, b, c, margin=2.0, reduction='none')",
    "triplet_margin_with_distance_loss(a, b, c)",
    "triplet_margin_with_distance_loss(a, b, c, swap=True, reduction='sum')",
    "poisson_nll_loss(a, 3 * t)", "poisson_nll_loss(a, 3 * t, full=True, reduction='none')",
    "poisson_nll_loss(p, 3 * t, log_input=False, full=True)",
    "gaussian_nll_loss(a, b, p)", "gaussian_nll_loss(a, b, p, full=True, reduction='none')",
    "gaussian_nll_loss(a, b, q)", "gaussian_nll_loss(a, b, r, eps=0.1)",
]  # fmt: skip


def _by_torch(text):
    def call(*args):
        import torch

        names = vars(torch.nn.functional) | {"sign": torch.sign}
        return eval(text, dict(names))(*args)

    return call


def _case(text):
    given = [name for name in ARGUMENTS if re.search(rf"\b{name}\b(?!=)", text)]
    function = f"lambda {', '.join(given)}: {text}"
    specs = tuple(ARGUMENTS[name] for name in given)
    return Case(text, eval(function, vars(F) | {"sign": F.sign}), specs, torch=_by_torch(function))


CASES = [_case(text) for text in TEXTS]
CASES += [c.as_dtype("bfloat16") for c in CASES if "=" not in c.name and "row" not in c.name]
TestCases = checked(CASES, sweep=2)


@pytest.mark.parametrize("name", ["all", "any"])
def test_all_and_any(name, queue):
    torch = pytest.importorskip("torch")
    values = (np.random.default_rng(0).random((3, 4, 5)) > 0.4).astype("f4")
    for dtype in ("float32", "bool", "int64", "uint8"):
        x = dpnp.asarray(values.astype(dtype), sycl_queue=queue)
        theirs = torch.tensor(values.astype(dtype))
        for args in ((), (1,), (-1, True), ((0, 2),)):
            actual, expected = getattr(F, name)(x, *args), getattr(torch, name)(theirs, *args)
            assert str(actual.dtype) == str(expected.dtype).removeprefix("torch.")
            np.testing.assert_array_equal(dpnp.asnumpy(actual), expected)
    compiled = sycl_dnn.compile(lambda x: getattr(F, name)(x, 1))
    np.testing.assert_array_equal(dpnp.asnumpy(compiled(x)), getattr(torch, name)(theirs, 1))

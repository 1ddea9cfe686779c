# SPDX-License-Identifier: Apache-2.0
"""Sums and means without NaN, counts, and both extremes."""

from functional.case import Case, Spec
from functional.checks import checked
from functional.torch_functions import of_torch

from sycl_dnn import functional as F

X = Spec((4, 5), "distinct")


def _case(name, dtype="float32", **options):
    words = "-".join([name, *(f"{n}={v}" for n, v in options.items())])
    has_gradient = name != "count_nonzero"
    return Case(words, getattr(F, name), (X,), options, of_torch(name), dtype,
                has_gradient=has_gradient)  # fmt: skip


CASES = [
    *(_case(name, **options) for name in ("nansum", "nanmean")
      for options in ({}, {"dim": (0, 1), "keepdim": True}, {"dim": 1})),
    _case("nansum", "bfloat16", dim=1),
    _case("count_nonzero"), _case("count_nonzero", dim=(0, -1)),
    _case("aminmax"), _case("aminmax", dim=1, keepdim=True),
]  # fmt: skip
TestCases = checked(CASES, sweep=2, may_be_slow=True)

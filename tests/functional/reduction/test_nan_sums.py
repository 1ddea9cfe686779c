# SPDX-License-Identifier: Apache-2.0
"""Sums and means without NaN, counts, and both extremes."""

import dpnp
import numpy as np
import pytest
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


def test_nan_and_dtypes(queue):
    nan = np.nan
    x = dpnp.asarray([[1, nan, 3], [nan] * 3, [0, 0, 2]], dtype="f4", sycl_queue=queue)
    np.testing.assert_array_equal(F.nansum(x, 1).asnumpy(), [4, 0, 2])
    np.testing.assert_allclose(F.nanmean(x, 1).asnumpy(), [2, nan, 2 / 3], rtol=1e-6)
    assert F.count_nonzero(x, 1).asnumpy().tolist() == [3, 3, 1]
    assert F.nansum(x, dtype="float16").dtype == "float16"
    whole = dpnp.asarray([1, 0, 3], sycl_queue=queue)
    assert F.nansum(whole.astype("i1")).dtype == F.count_nonzero(whole).dtype == "int64"
    with pytest.raises(TypeError, match="nanmean: input must"):
        F.nanmean(whole)

# SPDX-License-Identifier: Apache-2.0
"""Elements by rank: medians, k-th values, quantiles."""

import dpnp
import numpy as np
from functional.case import Case, Spec
from functional.checks import checked
from functional.torch_functions import of_torch

import sycl_dnn
from sycl_dnn import functional as F

X, SHARES = Spec((4, 5), "distinct"), Spec((3,), "unit")


def _case(name, *args, spec=X, **options):
    dtype = options.pop("dtype", "float32")
    words = "-".join([name, "x".join(map(str, spec.shape)), *map(str, args), *options.values()])
    words = words.replace(str(SHARES), "shares")
    return Case(words, getattr(F, name), (spec, *args), options, of_torch(name), dtype)


CASES = [
    *(_case(name, *args) for name in ("median", "nanmedian") for args in ((), (1,), (0, True))),
    _case("median", -1, dtype="bfloat16"), _case("median", 1, spec=Spec((2, 300), "distinct")),
    _case("kthvalue", 2), _case("kthvalue", 3, 0, True), _case("kthvalue", 2, dtype="bfloat16"),
    *(_case(name, share) for name in ("quantile", "nanquantile") for share in (0.3, SHARES)),
    _case("quantile", SHARES, 0, True), _case("nanquantile", 0.3, 1),
    *(_case("quantile", 0.3, 1, interpolation=how)
      for how in ("lower", "higher", "nearest", "midpoint")),
]  # fmt: skip
TestCases = checked(CASES, sweep=3, may_be_slow=True)


def test_medians_with_nan(queue):
    """The first NaN of a row is the median, unless NaN are skipped."""
    nan, inf = np.nan, np.inf
    rows = np.array([[1, nan, 3, nan], [4, 2, 1, inf], [nan] * 4], "f4")
    x = dpnp.asarray(rows, sycl_queue=queue)
    values, places = sycl_dnn.compile(lambda x: F.median(x, 1))(x)
    np.testing.assert_array_equal(values.asnumpy(), [nan, 2, nan])
    assert places.asnumpy().tolist() == [1, 1, 0]
    values, places = F.nanmedian(x, 1)
    np.testing.assert_array_equal(values.asnumpy(), [1, 2, nan])
    assert places.asnumpy()[:2].tolist() == [0, 1]
    assert np.isnan(float(F.median(x)))
    assert float(F.nanmedian(x)) == 2
    np.testing.assert_array_equal(F.quantile(x, 0.5, 1).asnumpy(), [nan, 3, nan])
    np.testing.assert_array_equal(F.nanquantile(x, 0.5, 1).asnumpy(), [2, 3, nan])


def test_equal_elements_share_the_gradient_of_a_median(queue):
    x = dpnp.asarray([[2.0, 1.0], [2.0, 5.0]], dtype="f4", sycl_queue=queue)
    slope = sycl_dnn.grad(lambda x: F.median(x * x))
    assert slope(x).asnumpy().tolist() == [[2, 0], [2, 0]]
    x[0, 1] = np.nan
    np.testing.assert_array_equal(slope(x).asnumpy(), [[0, np.nan], [0, 0]])


def test_no_elements(queue):
    x = dpnp.ones((0, 3), dtype="f4", sycl_queue=queue)
    assert np.isnan(float(F.median(x)))
    assert [v.shape for v in F.nanmedian(x, 1, True)] == [(0, 1), (0, 1)]

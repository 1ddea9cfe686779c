# SPDX-License-Identifier: Apache-2.0
"""Histograms."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.torch_functions import of_torch

import sycl_dnn
from sycl_dnn import functional as F

X = Spec((4, 5))
CASES = [
    Case(f"histc-{args}", F.histc, (X, *args), {}, of_torch("histc"), has_gradient=False)
    for args in ((), (5,), (4, -1.0, 1.0), (3, 0.5, 0.5))
]
TestCases = checked(CASES, may_be_slow=True)


def test_counts_of_integers(queue):
    x = dpnp.asarray([3, 1, 1, 0], sycl_queue=queue)
    assert F.bincount(x).tolist() == [1, 2, 0, 1]
    assert F.bincount(x, minlength=6).tolist() == [1, 2, 0, 1, 0, 0]
    weights = dpnp.asarray([0.5, 1.0, 2.0, 4.0], dtype="f4", sycl_queue=queue)
    assert F.bincount(x, weights).tolist() == [4.0, 3.0, 0.0, 0.5]
    assert (F.bincount(x, weights).dtype, F.bincount(x, x).dtype) == ("float32", "float64")
    assert F.bincount(x[:0], minlength=2).tolist() == [0, 0]


def test_numbers_outside_the_range_are_not_counted(queue):
    x = dpnp.asarray([-1, 0, 0.5, 1, 2, np.nan, np.inf], dtype="f4", sycl_queue=queue)
    assert F.histc(x, 2, 0, 1).tolist() == [1, 2]
    assert sycl_dnn.compile(lambda x: F.histc(x, 2, 0, 1))(x).tolist() == [1, 2]
    assert F.histc(x[:0], 2).tolist() == [0, 0]
    assert F.histc(x[1:3] * 0, 3).tolist() == [0, 2, 0]
    for part in (x, x[:6], x[6:]):
        assert np.isnan(F.histc(part, 3).asnumpy()).all()
    with pytest.raises(TypeError, match="bincount: input must be an array with values"):
        sycl_dnn.compile(F.bincount)(F.astype(x[1:3], "int64"))


def test_histograms_count_beyond_the_integers_of_float32(queue):
    n = 2**24 + 6
    ones = dpnp.broadcast_to(dpnp.ones(1, dtype="f4", sycl_queue=queue), (n,))
    assert F.histc(ones, 1, 0, 2).tolist() == [n]

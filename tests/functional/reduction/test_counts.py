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


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: F.bincount(-x), ValueError, "bincount: input must not be negative, got -1"),
        (lambda x: F.bincount(x[None]), ValueError, "bincount: input must have one axis"),
        (lambda x: F.bincount(x, x[:1]), ValueError, r"weights must have shape \(2,\)"),
        (lambda x: F.bincount(x / 2), TypeError, "bincount: input must be of integers"),
        (lambda x: F.histc(x), TypeError, "histc: input must have a floating-point dtype"),
        (lambda x: F.histc(x / 2, 0), ValueError, "histc: bins must be at least 1, got 0"),
        (lambda x: F.histc(x / 2, 2, 2, 1), ValueError, "histc: max must be finite and at least"),
        (
            sycl_dnn.compile(lambda x: F.bincount(x)),
            TypeError,
            "must be an array with values",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, error, words, queue):
    with pytest.raises(error, match=words):
        call(dpnp.asarray([1, 0], sycl_queue=queue))

# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from functional.case import Case, Spec
from functional.checks import check_gradient, check_torch, check_value
from sycl_dnn import functional as F

CASES = [
    Case("relu", F.relu, lambda x: np.maximum(x, 0), (Spec((3, 5, 7), "distinct"),), torch="relu"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value(case, queue):
    check_value(case, queue)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradient(case, queue):
    check_gradient(case, queue)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_torch(case, queue):
    check_torch(case, queue)

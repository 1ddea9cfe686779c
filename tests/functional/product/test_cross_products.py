# SPDX-License-Identifier: Apache-2.0
"""Cross products."""

import dpnp
import pytest
from functional.case import Spec
from functional.checks import checked
from functional.named import of_words

from sycl_dnn import functional as F

X = Spec((3, 5))


CASES = [
    of_words("cross", X, X, 0), of_words("cross-broadcast", Spec((4, 3)), Spec((1, 3)), -1),
]  # fmt: skip
TestCases = checked(CASES, may_be_slow=True)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: F.cross(x, x), ValueError, "cross: input must have an axis of 3 elements"),
        (lambda x: F.cross(x, x, 1), ValueError, "cross: input must have 3 elements along axis 1"),
    ],
)
def test_wrong_arguments_are_refused(call, error, words, queue):
    with pytest.raises(error, match=words):
        call(dpnp.ones((4, 5), dtype="f4", sycl_queue=queue))

# SPDX-License-Identifier: Apache-2.0
"""Cross products."""

from functional.case import Spec
from functional.checks import checked
from functional.named import of_words

X = Spec((3, 5))


CASES = [
    of_words("cross", X, X, 0), of_words("cross-broadcast", Spec((4, 3)), Spec((1, 3)), -1),
]  # fmt: skip
TestCases = checked(CASES, may_be_slow=True)

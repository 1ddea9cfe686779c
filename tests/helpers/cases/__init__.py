# SPDX-License-Identifier: Apache-2.0
"""Named calls of every oneDNN primitive, as data that any test or benchmark can run."""

from . import conv, eltwise, matmul, norm, pool, rnn, shape
from .case import Case, draw_inputs

__all__ = ["CASES", "Case", "draw_inputs"]

# Row (name of the C++ struct) -> its cases.
CASES: dict[str, list[Case]] = {}
for _family in (conv, eltwise, matmul, norm, pool, rnn, shape):
    CASES |= _family.CASES

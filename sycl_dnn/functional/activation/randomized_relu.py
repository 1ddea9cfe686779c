# SPDX-License-Identifier: Apache-2.0
"""rrelu, a leaky ReLU with random slopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sycl_dnn.functional.activation.activations import leaky_relu
from sycl_dnn.functional.arithmetic.binary import add, mul
from sycl_dnn.functional.arithmetic.comparison import le, where
from sycl_dnn.functional.arithmetic.elementwise import pointwise
from sycl_dnn.functional.creation.random_numbers import rand_like
from sycl_dnn.trace.captured_inputs import drawing

if TYPE_CHECKING:
    from sycl_dnn.trace.values import Tensor


@drawing
@pointwise
def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False,
    inplace: bool = False,
) -> Tensor:  # fmt: skip
    """Return ``x`` where it is positive, else ``x`` times a random slope.

    lower, upper : float
        Bounds of the slopes; without ``training`` all slopes are their mean.
    training : bool
        Whether each element has its own slope. Each call draws the next seed of the generator that
        ``manual_seed`` seeds.
    """
    if not lower <= upper:
        raise ValueError(f"rrelu: lower must be at most upper={upper}, got {lower}")
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    slopes = add(mul(rand_like(input), upper - lower), lower)
    return where(le(input, 0), mul(input, slopes), input)

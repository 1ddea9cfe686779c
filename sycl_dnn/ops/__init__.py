# SPDX-License-Identifier: Apache-2.0
"""Operations by family; each is one row with its shape rule and gradient."""

from sycl_dnn.ops import (
    activation,
    arithmetic,
    creation,
    elementwise_losses,
    losses,
    normalization,
    products,
    reduction,
    scan,
    selection,
    shape,
)

__all__ = [
    "activation",
    "arithmetic",
    "creation",
    "elementwise_losses",
    "losses",
    "normalization",
    "products",
    "reduction",
    "scan",
    "selection",
    "shape",
]

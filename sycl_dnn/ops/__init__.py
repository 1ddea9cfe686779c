# SPDX-License-Identifier: Apache-2.0
"""Operations by family: an operation is one row with its shape rule and its gradient."""

from sycl_dnn.ops import activation, elementwise, product, reduction, shape

__all__ = ["activation", "elementwise", "product", "reduction", "shape"]

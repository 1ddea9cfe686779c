# SPDX-License-Identifier: Apache-2.0
"""Every operation of the Graph API in NumPy and float64, independent of oneDNN.

Names are those of `sycl_dnn.graph`: tensors and attributes as the rows of its table call them.
"""

from __future__ import annotations

import numpy as np

from graph_ops.in_numpy import contractions, elementwise_operations  # noqa: F401
from graph_ops.in_numpy.formats import OPERATIONS, Array, Attrs, Shapes, Tensors
from sycl_dnn.tools.cases import storage

__all__ = ["OPERATIONS", "compute", "stored"]


def compute(name: str, tensors: Tensors, attributes: Attrs, shapes: Shapes) -> list[Array]:
    """Compute one operation.

    Parameters
    ----------
    name : str
        The builder's name, such as ``"conv_transpose"``.
    tensors : mapping
        float64 arrays by input of the row; a sequence of them for ``concat``.
    attributes : mapping
        All attributes that have a value, including defaults.
    shapes : sequence
        Shapes of the results, used if the inputs do not determine them.

    Returns
    -------
    list of float64 arrays
        All outputs of the row, neither rounded nor saturated.
    """
    return OPERATIONS[name](name, tensors, attributes, shapes)


def stored(values: Array, dtype: str) -> Array:
    """Return values as tensors of integers or 8-bit floats hold them; others remain exact."""
    if dtype in storage.INTEGERS or dtype.startswith("f8"):
        return storage.rounded(values, dtype)
    return np.asarray(values, np.float64)

# SPDX-License-Identifier: Apache-2.0
"""What nodes define, computed of arrays, for code above the functions that records kernels."""

from __future__ import annotations

from sycl_dnn.call.operation import operation
from sycl_dnn.lower.node_lowering import all_computed


@operation
def defined(definition, tensors):
    """Record nodes of several results; arrays that a traced function refers to are captured."""
    return all_computed(definition, *tensors)

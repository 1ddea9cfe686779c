# SPDX-License-Identifier: Apache-2.0
"""Kernels from node functions, for code above ``functional``."""

from __future__ import annotations

from sycl_dnn.call.operation import operation
from sycl_dnn.lower.node_lowering import all_computed


@operation
def defined(definition, tensors):
    """Record a function of nodes that returns several results, capturing closed-over arrays."""
    return all_computed(definition, *tensors)

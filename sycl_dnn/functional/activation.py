# SPDX-License-Identifier: Apache-2.0
"""Activations: torch.nn.functional's element-wise functions."""

from __future__ import annotations

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Out


def eltwise(x: Tensor, kind: algorithm, alpha: float = 0.0, beta: float = 0.0) -> Tensor:
    """Apply one of oneDNN's element-wise functions, in the layout of ``x``."""
    made = x.trace.primitive(
        "eltwise_forward",
        {"src": x},
        {"dst": Out(x.shape, x.dtype, x)},
        ask={"src": x},
        prop_kind=x.trace.forward_kind,
        algorithm=kind,
        alpha=alpha,
        beta=beta,
    )
    return made["dst"]


@operation
def relu(input):
    """Return ``max(input, 0)`` element by element."""
    return eltwise(input, algorithm.eltwise_relu)

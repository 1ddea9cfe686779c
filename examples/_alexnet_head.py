# SPDX-License-Identifier: Apache-2.0
"""The head of AlexNet as a training step of oneDNN primitives, in float32 or bfloat16."""

from __future__ import annotations

from typing import Any

import dpnp
from _layer_base import Plan
from _layers import Convolution, LocalResponseNorm, MaxPool, Relu
from _training_data import HeadData

from sycl_dnn import onednn as dnnl


class AlexNetHead:
    """Convolution, ReLU, LRN and max pooling, and back to the gradients of weights and bias.

    Parameters
    ----------
    queue : dpctl.SyclQueue
    data : HeadData
    data_type : {"f32", "bf16"}
        Data type of the inner tensors; sums are always float32.
    bias_type : {"f32", "bf16"}
        The same for the bias.
    diff_bias_type : {"f32", "bf16"}
        The same for its gradient.
    computes : {"f32"}, optional
        Type in which all primitives compute, on tensors that are stored in the types above. By
        default each primitive computes in the types of its tensors.
    is_huge : bool
        Whether the convolution's results reach 1e9 or more.

    Attributes
    ----------
    outputs : dict of str to dpnp.ndarray
        ``dst`` (32, 96, 27, 27), ``diff_weights`` and ``diff_bias``, float32, valid after `step`.
    implementations : list of (str, str, str)
        Name, primitive and oneDNN's implementation of each step, in order of execution.
    """

    def __init__(
        self,
        queue: Any,
        data: HeadData,
        *,
        data_type: str = "f32",
        bias_type: str = "f32",
        diff_bias_type: str = "f32",
        computes: str | None = None,
        is_huge: bool = False,
    ) -> None:
        self._plan = plan = Plan(queue, data_type, bias_type, diff_bias_type, computes)
        src = plan.forward.tensor(data.src)
        conv = Convolution(plan, src, data.weights, data.bias, stride=4)
        relu = Relu(plan, conv.dst)
        norm = LocalResponseNorm(plan, relu.dst, is_huge=is_huge)
        pool = MaxPool(plan, norm.dst, kernel=3, stride=2)
        row_major = dnnl.MemoryDesc(pool.dst.desc.dims, dnnl.data_type.f32)
        dst = plan.forward.reordered("dst", pool.dst, row_major)

        gradient = plan.backward.tensor(data.diff_dst)
        gradient = plan.rounded(plan.backward, "diff_dst", gradient, plan.stored_type)
        for layer in (pool, norm, relu):
            gradient = layer.make_backward(gradient)
        conv.make_backward(gradient, wants_diff_src=False)

        self.implementations = plan.implementations
        results = {"dst": dst, "diff_weights": conv.diff_weights, "diff_bias": conv.diff_bias}
        self.outputs: dict[str, dpnp.ndarray] = {n: m.to_array() for n, m in results.items()}

    def step(self) -> None:
        """Run forward and backward once; return when ``outputs`` are complete."""
        self._plan.forward.submit()
        self._plan.backward.run()

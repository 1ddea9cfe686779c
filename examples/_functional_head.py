# SPDX-License-Identifier: Apache-2.0
"""The head of AlexNet as one compiled function: what `_alexnet_head.py` makes of primitives."""

from __future__ import annotations

from typing import Any

import dpnp
from _training_data import HeadData

import sycl_dnn
from sycl_dnn import functional as F


def forward(src: Any, weights: Any, bias: Any) -> Any:
    """Apply convolution, ReLU, LRN and max pooling to images (N, 3, H, W)."""
    x = F.relu(F.conv2d(src, weights, bias, stride=4))
    return F.max_pool2d(F.local_response_norm(x, 5, alpha=1e-4, beta=0.75, k=1.0), 3, 2)


def training_step(src: Any, weights: Any, bias: Any, diff_dst: Any) -> tuple[Any, Any, Any]:
    """Return the output, and the gradients of weights and bias."""
    dst, pullback = sycl_dnn.vjp(lambda w, b: forward(src, w, b), weights, bias)
    return (dst, *pullback(diff_dst))


class FunctionalHead:
    """The training step of `AlexNetHead` by ``sycl_dnn.functional``, compiled.

    Parameters
    ----------
    queue : dpctl.SyclQueue
    data : HeadData
    data_type : {"f32", "bf16"}
        Data type of the products, by ``sycl_dnn.autocast``. Where the device cannot compute in
        bfloat16, they are in float32, and ``sycl_dnn.FallbackWarning`` says so.

    Attributes
    ----------
    outputs : dict of str to dpnp.ndarray
        Those of `AlexNetHead`.
    """

    def __init__(self, queue: Any, data: HeadData, data_type: str = "f32") -> None:
        self._arrays = [dpnp.asarray(values, dtype="f4", sycl_queue=queue) for values in data]
        self._queue = queue
        self._dtype = {"f32": "float32", "bf16": "bfloat16"}[data_type]
        self._step = sycl_dnn.compile(training_step)
        self.outputs: dict[str, dpnp.ndarray] = {}

    def step(self) -> None:
        """Run forward and backward once; return when ``outputs`` are complete."""
        with sycl_dnn.autocast(self._dtype):  # "float32" casts nothing
            results = self._step(*self._arrays)
        self.outputs = dict(zip(("dst", "diff_weights", "diff_bias"), results, strict=True))
        sycl_dnn.synchronize(self._queue)

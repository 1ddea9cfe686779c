# SPDX-License-Identifier: Apache-2.0
"""The layers that `layers.py` compares, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Layer:
    """One call of a function that both libraries have."""

    name: str
    function: str
    #: Shapes of the array arguments; the first is the activation.
    shapes: tuple[tuple[int, ...], ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    #: Whether torch has a channels-last form.
    images: bool = False
    dtypes: tuple[str, ...] = ("float32", "bfloat16")
    #: What to measure: "forward", "backward".
    passes: tuple[str, ...] = ("forward", "backward")
    #: Of the activation; "" for the better one in each library.
    layout: str = ""


LAYERS = (
    Layer("conv 3x3 32x64x56x56", "conv2d", ((32, 64, 56, 56), (64, 64, 3, 3), (64,)),
          {"padding": 1}, images=True),
    Layer("conv 1x1 32x256x56x56", "conv2d", ((32, 256, 56, 56), (64, 256, 1, 1), (64,)),
          images=True),
    Layer("AlexNet conv1", "conv2d", ((32, 3, 227, 227), (96, 3, 11, 11), (96,)), {"stride": 4},
          images=True),
    Layer("matmul 1024", "matmul", ((1024, 1024), (1024, 1024))),
    Layer("matmul 4096x1024x1024", "matmul", ((4096, 1024), (1024, 1024))),
    Layer("linear batch 1", "linear", ((1, 1024), (1024, 1024), (1024,))),
    Layer("layer_norm 32x128x768", "layer_norm", ((32, 128, 768), (768,), (768,))),
    Layer("softmax 32x12x128x128", "softmax", ((32, 12, 128, 128),), {"dim": -1}),
    Layer("LRN 32x96x55x55", "local_response_norm", ((32, 96, 55, 55),), {"size": 5}, images=True),
    Layer("max pool 3x3/2 32x96x55x55", "max_pool2d", ((32, 96, 55, 55),),
          {"kernel_size": 3, "stride": 2}, images=True),
    Layer("avg pool 3x3/2 32x96x55x55", "avg_pool2d", ((32, 96, 55, 55),),
          {"kernel_size": 3, "stride": 2}, images=True),
    Layer("batch_norm training 32x64x56x56", "batch_norm", ((32, 64, 56, 56), (64,), (64,)),
          {"training": True}, images=True),
    Layer("LSTM T32 N32 C1024", "lstm", ((32, 32, 1024),)),
    Layer("attention 1x12x512x64", "scaled_dot_product_attention", ((1, 12, 512, 64),) * 3),
)  # fmt: skip

# SPDX-License-Identifier: Apache-2.0
"""Registration of all operator families."""

from __future__ import annotations

import importlib

FAMILIES = (
    "attention", "control_flow", "convolution", "elementwise", "index", "integer", "microsoft",
    "normalization", "pool", "product", "quantization", "random", "recurrent", "reduction",
    "resize", "shape", "signal", "training", "vision",
)  # fmt: skip


def register_all() -> None:
    """Import every family."""
    for family in FAMILIES:
        importlib.import_module(f"sycl_dnn.onnx.{family}_operators")
    importlib.import_module("sycl_dnn.onnx.quantized_layers")

# SPDX-License-Identifier: Apache-2.0
"""ONNX models as modules: ``load``; needs the library ``onnx`` (extra ``[onnx]``)."""

import importlib.util

if importlib.util.find_spec("onnx") is None:
    raise ImportError("sycl_dnn.onnx reads models with the library onnx: pip install onnx")

from sycl_dnn.onnx.loaded_model import OnnxModel, load
from sycl_dnn.onnx.model_graph import ModelInput

__all__ = ["ModelInput", "OnnxModel", "load"]

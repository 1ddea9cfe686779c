# SPDX-License-Identifier: Apache-2.0
"""ONNX models as modules and back: ``load``, ``export`` (extra ``[onnx]``)."""

import importlib.util

if importlib.util.find_spec("onnx") is None:
    raise ImportError("sycl_dnn.onnx reads models with the library onnx: pip install onnx")

from sycl_dnn.onnx.loaded_model import OnnxModel, load
from sycl_dnn.onnx.model_graph import ModelInput
from sycl_dnn.onnx.onnx_export import export

__all__ = ["ModelInput", "OnnxModel", "export", "load"]

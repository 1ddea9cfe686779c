# SPDX-License-Identifier: Apache-2.0
"""ONNX's backend interface, as used by its conformance tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend as _Backend
from onnx.backend.base import BackendRep

from sycl_dnn.onnx.evaluation import is_host, to_host
from sycl_dnn.onnx.loaded_model import OnnxModel, load


class PreparedModel(BackendRep):
    """A loaded model that accepts and returns NumPy arrays."""

    def __init__(self, model: OnnxModel) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[np.ndarray, ...]:
        """Return the outputs for NumPy arrays, passed by position or name."""
        outputs = self.model(inputs) if isinstance(inputs, dict) else self.model(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return tuple(v if is_host(v) else to_host(v) for v in outputs)


class Backend(_Backend):
    """Runs models on the CPU, or on an Intel GPU if there is one (``device="XPU"``)."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """Return a model for repeated calls."""
        return PreparedModel(load(model, device="cpu" if device == "CPU" else "gpu"))

    @classmethod
    def run_model(
        cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[np.ndarray, ...]:
        """Return the outputs of one call."""
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU",
        outputs_info: Sequence[Any] | None = None, **kwargs: Any,
    ) -> tuple[np.ndarray, ...]:  # fmt: skip
        """Run a single node."""
        helper = onnx.helper
        inputs_by_name = dict(zip(node.input, inputs, strict=True))
        described = [
            helper.make_tensor_value_info(
                n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape
            ) for n, v in inputs_by_name.items()
        ]  # fmt: skip
        results = [onnx.ValueInfoProto(name=name) for name in node.output]
        graph = helper.make_graph([node], "node", described, results)
        return cls.run_model(helper.make_model(graph), list(inputs_by_name.values()), device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a kind of device is available."""
        return device == "CPU"


prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device

# SPDX-License-Identifier: Apache-2.0
"""Exported networks through ONNX Runtime and OpenVINO, for `model_workers.py`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from model_calls import OWN_DTYPES, Calls, flat


class OnnxRuntime:
    """ONNX Runtime on the exported networks, float32."""

    def __init__(self, entries: dict[str, Any], folder: Path) -> None:
        import onnxruntime

        self._runtime, self._entries, self._folder = onnxruntime, entries, folder
        self._made: dict[str, Calls] = {}
        self.version = f"onnxruntime {onnxruntime.__version__}"
        self.compile_ms: dict[str, float] = {}

    def calls(self, name: str, dtype: str) -> Calls:
        """Return the calls by variant."""
        path = self._folder / f"{name}.onnx"
        if dtype != "float32" or not path.exists():
            return {}
        if name not in self._made:
            start = time.perf_counter()
            self._made[name] = self._calls(path, self._entries[name])
            self.compile_ms[dtype] = (time.perf_counter() - start) * 1e3
        return self._made[name]

    def _calls(self, path: Path, entry: Any) -> Calls:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = 2
        session = self._runtime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        feed = dict(zip((i.name for i in session.get_inputs()), flat(entry.arrays()), strict=True))
        return {"onnxruntime": lambda: session.run(None, feed)[0]}

    def numpy(self, y: Any) -> np.ndarray:
        """Return a result on the host."""
        return y


class OpenVino:
    """OpenVINO on the exported networks, float32 and bfloat16."""

    def __init__(self, entries: dict[str, Any], folder: Path) -> None:
        import openvino

        self._core, self._entries, self._folder = openvino.Core(), entries, folder
        self._made: dict[tuple[str, str], Calls] = {}
        self.version = f"openvino {openvino.__version__}"
        self.compile_ms: dict[str, float] = {}

    def calls(self, name: str, dtype: str) -> Calls:
        """Return the calls by variant."""
        path = self._folder / f"{name}.onnx"
        if dtype in OWN_DTYPES or not path.exists():
            return {}
        if (name, dtype) not in self._made:
            start = time.perf_counter()
            self._made[name, dtype] = self._calls(path, self._entries[name], dtype)
            self.compile_ms[dtype] = (time.perf_counter() - start) * 1e3
        return self._made[name, dtype]

    def _calls(self, path: Path, entry: Any, dtype: str) -> Calls:
        hints = {"INFERENCE_NUM_THREADS": 2, "PERFORMANCE_HINT": "LATENCY"}
        hints["INFERENCE_PRECISION_HINT"] = "bf16" if dtype == "bfloat16" else "f32"
        network = self._core.compile_model(str(path), "CPU", hints)
        request, given = network.create_infer_request(), flat(entry.arrays())
        return {"openvino": lambda: request.infer(given)[0]}

    def numpy(self, y: Any) -> np.ndarray:
        """Return a result on the host."""
        return np.array(y)

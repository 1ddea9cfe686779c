# SPDX-License-Identifier: Apache-2.0
"""Networks through torch, for `model_workers.py`; the other libraries read its exports."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from model_calls import OWN_DTYPES, Calls, first, mapped
from required import require


class Torch:
    """torch eager and torch.compile; exports the networks for the others."""

    def __init__(self, entries: dict[str, Any], folder: Path) -> None:
        require("torch")
        import torch

        torch.set_num_threads(2)
        torch.manual_seed(0)
        self._torch, self._entries, self._folder = torch, entries, folder
        self._made: dict[tuple[str, str], Calls] = {}
        self.version = f"torch {torch.__version__}"
        self.compile_ms: dict[str, float] = {}
        for entry in entries.values():
            entry.module.F = _TorchFunctions(torch)

    def calls(self, name: str, dtype: str) -> Calls:
        """Return the calls by variant."""
        if dtype == "export":
            self._export(name)
            return {}
        if dtype in OWN_DTYPES:
            return {}
        if (name, dtype) not in self._made:
            self._made[name, dtype] = self._calls(self._entries[name], dtype)
        return self._made[name, dtype]

    def _module(self, entry: Any, kind: Any) -> tuple[Any, list[Any]]:
        torch = self._torch
        p = {n: self._tensor(v, kind) for n, v in entry.parameters().items()}
        args = mapped(entry.arrays(), lambda a: self._tensor(a, kind))

        class Network(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                for n, v in p.items():
                    self.register_buffer(n.replace(".", "_"), v)

            def forward(self, *given: Any) -> Any:
                own = {n: getattr(self, n.replace(".", "_")) for n in p}
                return first(entry.function(own, *given))

        return Network().eval(), args

    def _tensor(self, values: np.ndarray, kind: Any) -> Any:
        tensor = self._torch.from_numpy(values).to(kind)
        last = self._torch.channels_last
        return tensor.contiguous(memory_format=last) if values.ndim == 4 else tensor

    def _calls(self, entry: Any, dtype: str) -> Calls:
        torch = self._torch
        network, args = self._module(entry, getattr(torch, dtype))

        def without_gradient(call: Callable[..., Any]) -> Callable[[], Any]:
            def run() -> Any:
                with torch.no_grad():
                    return call(*args)

            return run

        found = {"eager": without_gradient(network)}
        torch._dynamo.reset()
        torch._inductor.config.freezing = True
        compiled = without_gradient(torch.compile(network))
        start = time.perf_counter()
        try:
            compiled()
        except Exception as error:
            print(f"torch.compile: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            return found
        self.compile_ms[dtype] = (time.perf_counter() - start) * 1e3
        return found | {"torch.compile": compiled}

    def _export(self, name: str) -> None:
        torch = self._torch
        network, args = self._module(self._entries[name], torch.float32)
        path = self._folder / f"{name}.onnx"
        with torch.no_grad():
            torch.onnx.export(network, tuple(args), str(path), dynamo=False, opset_version=17)

    def numpy(self, y: Any) -> np.ndarray:
        """Return a result on the host."""
        return first(y).float().numpy()


class _TorchFunctions:
    """The names of ``sycl_dnn.functional`` in torch."""

    def __init__(self, torch: Any) -> None:
        self._places = (torch.nn.functional, torch)

    def __getattr__(self, name: str) -> Any:
        found = next((p for p in self._places if hasattr(p, name)), None)
        if found is None:
            raise AttributeError(name)
        return getattr(found, name)

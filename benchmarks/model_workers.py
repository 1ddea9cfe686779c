# SPDX-License-Identifier: Apache-2.0
"""Networks in one library; `compile_models.py` starts one process for each.

Each waits for a request (name, dtype) on its standard input, measures a block of every variant
that it has, and answers with one line of JSON: times in ms and the first results.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from layer_workers import block
from models import zoo

#: What only ours has: integers throughout, integers as weights alone.
OWN_DTYPES = ("int8", "w8", "w4")
#: By name: dtype of the weights, elements that share a scale.
WEIGHTS = {"w8": ("int8", None), "w4": ("int4", 64)}
#: Results that are sent along for comparison.
N_SHOWN = 64
Calls = dict[str, Callable[[], Any]]


def first(result: Any) -> Any:
    """Return the first array of a result."""
    return result[0] if isinstance(result, (tuple, list)) else result


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return nested lists with ``change`` applied to the arrays."""
    return [mapped(v, change) for v in value] if isinstance(value, list) else change(value)


class Ours:
    """Eager functions, compiled ones, the same from a C++ loop, and integers."""

    def __init__(self, entries: dict[str, Any], folder: Path) -> None:
        import dpnp

        import sycl_dnn

        self._dnn, self._dpnp, self._entries = sycl_dnn, dpnp, entries
        self._queue = sycl_dnn.default_queue("cpu")
        self._made: dict[tuple[str, str], Calls] = {}
        self.version = f"sycl_dnn {sycl_dnn.__version__}"
        self.compile_ms: dict[str, float] = {}

    def calls(self, name: str, dtype: str) -> Calls:
        """Return the calls by variant."""
        if (name, dtype) not in self._made:
            self._made[name, dtype] = self._calls(self._entries[name], dtype)
        return self._made[name, dtype]

    def _calls(self, entry: Any, dtype: str) -> Calls:
        on_device = lambda a: self._dpnp.asarray(a, sycl_queue=self._queue)  # noqa: E731
        p = {n: on_device(v) for n, v in entry.parameters().items()}
        if dtype in WEIGHTS:
            p = {n: self._narrowed(v, *WEIGHTS[dtype]) if v.ndim == 2 else v for n, v in p.items()}
        args = mapped(entry.arrays(), on_device)
        eager = lambda *given: entry.function(p, *given)  # noqa: E731
        compiled = self._dnn.compile(eager, dtype="bfloat16" if dtype == "bfloat16" else None)
        if dtype == "int8":
            compiled, _ = self._dnn.quantize(compiled, [tuple(args)])
        start = time.perf_counter()
        compiled.warmup(*args)
        self.compile_ms[dtype] = (time.perf_counter() - start) * 1e3
        found = {"compiled": lambda: compiled(*args)}
        if os.environ.get("LEAN"):
            return {n: self._waiting(c) for n, c in found.items()}
        found["compiled, C++ loop"] = compiled.bind(*args)
        if dtype == "float32":
            frozen = {n: self._dnn.freeze(a) if a.ndim > 1 else a for n, a in p.items()}
            found["eager"] = lambda: entry.function(frozen, *args)
        return {n: self._waiting(c) for n, c in found.items()}

    def _narrowed(self, weight: Any, dtype: str, group: int | None) -> Any:
        """Return a matrix (N, K) of integers with a scale for each row, or for groups in it."""
        groups = {} if group is None else {"group_size": group}
        axis = 0 if group is None else 1
        return self._dnn.functional.quantize_dynamic(weight, dtype, axis, **groups)

    def _waiting(self, call: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            y = call()
            self._queue.wait()
            return y

        return run

    def numpy(self, y: Any) -> np.ndarray:
        """Return a result on the host."""
        return self._dpnp.asnumpy(y)


class Torch:
    """torch eager and torch.compile; exports the networks for the others."""

    def __init__(self, entries: dict[str, Any], folder: Path) -> None:
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


def flat(values: list[Any]) -> list[np.ndarray]:
    """Return nested arrays in order."""
    return [a for v in values for a in (v if isinstance(v, list) else [v])]


LIBRARIES = {"ours": Ours, "torch": Torch, "onnxruntime": OnnxRuntime, "openvino": OpenVino}


def answer(library: Any, name: str, dtype: str) -> dict[str, Any]:
    """Return times in ms by variant, results, time to compile, memory at its peak and of files."""
    found: dict[str, Any] = {"times": {}, "results": {}}
    for variant, call in library.calls(name, dtype).items():
        values = library.numpy(first(call())).astype(np.float64).ravel()
        found["results"][variant] = values[:N_SHOWN].tolist()
        found["times"][variant] = block(call)
    found["compile_ms"] = library.compile_ms.pop(dtype, None)
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["files_mb"] = mapped_files_mb()
    return found


def mapped_files_mb() -> float:
    """Return how much of the resident memory is code and data of files, shared by processes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssFile")) / 1024


def main() -> None:
    """Serve requests until standard input ends."""
    name, folder, kind = sys.argv[1:4]
    entries = zoo.TINY if kind == "tiny" else zoo.ENTRIES
    try:
        library = LIBRARIES[name](entries, Path(folder))
    except ImportError as error:
        print(json.dumps(None), flush=True)
        print(f"{name}: {error}", file=sys.stderr)
        return
    print(json.dumps(library.version), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(library, *json.loads(line))), flush=True)


if __name__ == "__main__":
    main()

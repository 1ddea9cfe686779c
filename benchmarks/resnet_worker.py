# SPDX-License-Identifier: Apache-2.0
"""ResNet-50's forward pass in one library; `resnet50.py` starts one process for each."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
from layer_workers import block
from required import require

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))


def images(batch: int) -> np.ndarray:
    """Return the input, the same in each process."""
    return np.random.default_rng(0).standard_normal((batch, 3, 224, 224), dtype=np.float32)


class Ours:
    """``examples/_resnet50.py`` unchanged, and bound as a plan: the same calls from a C++ loop."""

    def __init__(self) -> None:
        import _resnet50

        import sycl_dnn

        self._dnn, self._network = sycl_dnn, _resnet50
        self._queue = sycl_dnn.default_queue("cpu")
        self._parameters = _resnet50.random_parameters(0)
        self._nets: dict[str, Any] = {}
        self.version = f"sycl_dnn {sycl_dnn.__version__}"

    def calls(self, batch: int, dtype: str) -> dict[str, Any]:
        """Return the calls by variant."""
        if dtype not in self._nets:
            self._nets[dtype] = self._network.ResNet50(self._parameters, self._queue, dtype)
        network = self._nets[dtype]
        x = self._dnn.asarray(images(batch), dtype=dtype, sycl_queue=self._queue)
        bound = self._dnn.plan(network, x)

        def wait(call: Any) -> Any:
            def run() -> Any:
                y = call()
                self._queue.wait()
                return y

            return run

        return {"functions": wait(lambda: network(x)), "C++ loop": wait(bound)}

    def logits(self, y: Any) -> list[float]:
        """Return the first image's logits."""
        import dpnp

        return dpnp.asnumpy(self._dnn.functional.astype(y, "float32"))[0].tolist()


class Torch:
    """The same code over torch.nn.functional, eager, channels-last."""

    def __init__(self) -> None:
        import _resnet50

        require("torch")
        import torch

        torch.set_num_threads(2)
        names = ("conv2d", "relu", "max_pool2d", "adaptive_avg_pool2d", "linear", "batch_norm")
        found = {n: getattr(torch.nn.functional, n) for n in names}
        _resnet50.F = types.SimpleNamespace(**found, add=torch.add, flatten=torch.flatten)
        self._torch, self._network = torch, _resnet50
        self._parameters = _resnet50.random_parameters(0)
        self.version = f"torch {torch.__version__}"

    def calls(self, batch: int, dtype: str) -> dict[str, Any]:
        """Return the calls by variant."""
        torch = self._torch
        kind = getattr(torch, dtype)
        network = object.__new__(self._network.ResNet50)
        network.parameters = {n: self._tensor(p, kind) for n, p in self._parameters.items()}
        x = torch.from_numpy(images(batch)).to(kind, memory_format=torch.channels_last)

        def run() -> Any:
            with torch.no_grad():
                return network(x)

        return {"channels_last": run}

    def _tensor(self, values: np.ndarray, kind: Any) -> Any:
        tensor = self._torch.from_numpy(values).to(kind)
        if values.ndim != 4:
            return tensor
        return tensor.contiguous(memory_format=self._torch.channels_last)

    def logits(self, y: Any) -> list[float]:
        """Return the first image's logits."""
        return y[0].float().tolist()


def serve(library: Any) -> None:
    """Answer requests: batch and dtype in, times in ms by variant and logits out."""
    print(json.dumps(library.version), flush=True)
    for line in sys.stdin:
        batch, dtype = json.loads(line)
        calls = library.calls(int(batch), dtype)
        answer = {"times": {}, "logits": {}}
        for name, call in calls.items():
            answer["logits"][name] = library.logits(call())
            answer["times"][name] = block(call)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve({"ours": Ours, "torch": Torch}[sys.argv[1]]())

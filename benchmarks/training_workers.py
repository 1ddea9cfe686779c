# SPDX-License-Identifier: Apache-2.0
"""Training steps in one library; `training.py` starts one process for each variant.

A request is one line of JSON. ``["start", network, dtype, folder]`` creates network, optimizer and
step, and returns the losses of the first steps. ``["block"]`` returns times in ms.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from required import require

#: Steps whose losses are compared; the first ones trace, compile and pack.
N_COMPARED = 4
#: A block repeats its step for about this many seconds, and at least this often.
BLOCK_SECONDS, LEAST = 1.0, 3
#: Small: the first step of AdamW is the sign of gradients, some of which are only rounding.
RATE = 1e-4


class Ours:
    """One compiled program: value, gradients, AdamW."""

    def __init__(self, way: str) -> None:
        import dpnp

        import sycl_dnn
        from sycl_dnn import optim

        self._dnn, self._dpnp, self._way = sycl_dnn, dpnp, way
        self._queue = sycl_dnn.default_queue("cpu")
        self._opt = optim.AdamW(RATE)
        self.version = f"sycl_dnn {sycl_dnn.__version__}"

    def start(self, entry: Any, dtype: str, weights: Path) -> None:
        """Make the network, its batches and the step."""
        self._net = entry.module().to(self._queue)
        self._net.load_state_dict(dict(np.load(weights)))
        self._state = self._opt.init(self._net)
        self._dtype = dtype
        self._batches = [
            tuple(self._dpnp.asarray(a, sycl_queue=self._queue) for a in batch)
            for batch in entry.batches(N_COMPARED)
        ]

        def step(net: Any, state: Any, *batch: Any) -> Any:
            value, grads = self._dnn.value_and_grad(entry.loss)(net, *batch)
            return value, *self._opt.update(grads, state, net)

        # As in torch, parameters and moments are overwritten.
        compiled = self._dnn.compile(donate=("net", "state"))
        self._step = compiled(step) if self._way == "compiled" else step

    def step(self, number: int) -> Any:
        """Make one step."""
        batch = self._batches[number % len(self._batches)]
        narrow = self._dtype != "float32"
        with self._dnn.autocast(self._dtype) if narrow else contextlib.nullcontext():
            value, self._net, self._state = self._step(self._net, self._state, *batch)
        self._queue.wait()
        return value


class Torch:
    """torch eager, or loss and gradients by torch.compile; AdamW in its fused form."""

    def __init__(self, way: str) -> None:
        require("torch")
        import torch

        torch.set_num_threads(2)
        torch.manual_seed(0)
        self._torch, self._way = torch, way
        self.version = f"torch {torch.__version__}"

    def _tensor(self, array: np.ndarray) -> Any:
        tensor = self._torch.from_numpy(array)
        last = self._torch.channels_last
        return tensor.contiguous(memory_format=last) if array.ndim == 4 else tensor

    def start(self, entry: Any, dtype: str, weights: Path) -> None:
        """Create network, batches and step; write the weights if no other process has."""
        torch = self._torch
        net = entry.module()
        if weights.exists():
            given = np.load(weights)
            net.load_state_dict({n: torch.from_numpy(given[n]) for n in given})
        else:
            np.savez(weights, **{n: p.numpy() for n, p in net.state_dict().items()})
        self._net = net.to(memory_format=torch.channels_last)
        self._opt = torch.optim.AdamW(net.parameters(), RATE, fused=True)
        self._narrow = dtype != "float32"
        self._batches = [tuple(map(self._tensor, b)) for b in entry.batches(N_COMPARED)]
        self._loss = torch.compile(entry.loss) if self._way == "compile" else entry.loss

    def step(self, number: int) -> Any:
        """Make one step."""
        batch = self._batches[number % len(self._batches)]
        self._opt.zero_grad(set_to_none=True)
        with self._torch.autocast("cpu", self._torch.bfloat16, enabled=self._narrow):
            value = self._loss(self._net, *batch)
        value.backward()
        self._opt.step()
        return value.detach()


class Worker:
    """Answers the requests to one process."""

    def __init__(self, library: Any, kind: str) -> None:
        from models import training_zoo

        self._library, self._count = library, 0
        self._entries = training_zoo.TINY if kind == "tiny" else training_zoo.ENTRIES

    def start(self, name: str, dtype: str, folder: str) -> dict[str, Any]:
        """Create all; return the first losses, the time of the first step, resident memory."""
        self._library.start(self._entries[name], dtype, Path(folder) / f"{name}.npz")
        before, losses, times = peak_mb(), [], []
        for number in range(N_COMPARED):
            start = time.perf_counter()
            losses.append(float(self._library.step(number)))
            times.append((time.perf_counter() - start) * 1e3)
        return {"losses": losses, "first_ms": times[0], "before_mb": before, "peak_mb": peak_mb()}

    def block(self) -> dict[str, Any]:
        """Return the times of steps in ms, and the peak memory so far."""
        times: list[float] = []
        while len(times) < LEAST + 1 or sum(times) < BLOCK_SECONDS * 1e3:
            start = time.perf_counter()
            self._library.step(self._count)
            times.append((time.perf_counter() - start) * 1e3)
            self._count += 1
        return {"times": times[1:], "peak_mb": peak_mb()}


def peak_mb() -> float:
    """Return the largest resident memory of this process so far."""
    # Not getrusage: its maximum starts from that of the process that started this one.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def main() -> None:
    """Serve requests until standard input ends."""
    library, way, kind = sys.argv[1:4]
    os.environ["LIBRARY"] = library
    side = {"ours": Ours, "torch": Torch}[library](way)
    worker = Worker(side, kind)
    print(json.dumps(side.version), flush=True)
    for line in sys.stdin:
        request, *given = json.loads(line)
        print(json.dumps(getattr(worker, request)(*given)), flush=True)


if __name__ == "__main__":
    main()

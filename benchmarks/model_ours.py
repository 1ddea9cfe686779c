# SPDX-License-Identifier: Apache-2.0
"""Networks through sycl_dnn, for `model_workers.py`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from model_calls import Calls, mapped

#: By name: dtype of the weights, number of elements that share a scale.
WEIGHTS = {"w8": ("int8", None), "w4": ("int4", 64)}


class Ours:
    """Eager functions, compiled ones, compiled ones from a C++ loop, and integers."""

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
        """Return a matrix (N, K) of integers with a scale for each row, or for groups within it."""
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

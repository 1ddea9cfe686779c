# SPDX-License-Identifier: Apache-2.0
"""What the examples of the Graph API share: start, arrays, running and comparing, the last line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dpnp  # noqa: E402
import numpy as np  # noqa: E402
from _common import finish, make_parser, start  # noqa: E402

import sycl_dnn  # noqa: E402
from sycl_dnn.graph import Graph  # noqa: E402


class Example:
    """One program: its options, its queue and its comparisons."""

    def __init__(self, doc: str | None) -> None:
        self.options, self.queue = start(make_parser(doc))
        self.kind = "cpu" if self.queue.sycl_device.is_cpu else "gpu"
        self.rng = np.random.default_rng(0)

    def graph(self, **settings: Any) -> Graph:
        """Return an empty graph for the device."""
        return Graph(self.kind, **settings)

    def normal(self, *shape: int) -> np.ndarray:
        """Return random numbers, exact in bfloat16 so that references use the same ones."""
        x = self.rng.standard_normal(shape, dtype=np.float32)
        return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)

    def for_inputs(self, graph: Graph) -> dict[str, np.ndarray]:
        """Return random numbers in the shapes of the graph's inputs, by name."""
        shapes = {name: value.shape or () for name, value in graph.inputs.items()}
        return {name: self.normal(*(n or 1 for n in shape)) for name, shape in shapes.items()}

    def array(self, values: np.ndarray, dtype: str = "float32") -> Any:
        """Return an array on the device."""
        if dtype in ("bfloat16", "uint4"):
            return sycl_dnn.asarray(values.astype(np.float32), dtype, sycl_queue=self.queue)
        return dpnp.asarray(values.astype(dtype), sycl_queue=self.queue)

    def run(self, graph: Graph, arrays: Mapping[str, Any]) -> Any:
        """Compile, print what fused, call with the arrays, and return the results."""
        compiled = graph.compile(self.queue)
        result = compiled(**arrays)
        print(compiled.summary())
        return result

    def compare(self, name: str, got: Any, wanted: np.ndarray, tolerance: float) -> None:
        """Print the largest error, relative to the largest value, and fail above the tolerance."""
        host = got.asnumpy() if isinstance(got, sycl_dnn.Array) else dpnp.asnumpy(got)
        error = np.abs(host.astype(np.float64) - wanted).max() / np.abs(wanted).max()
        print(f"{name}: largest error {error:.1e} of the largest value")
        assert self.options.no_check or error <= tolerance


def run(program: Callable[[Example], None], doc: str | None) -> None:
    """Run an example, and print its last line."""
    example = Example(doc)
    program(example)
    finish(example.options, Path(sys.argv[0]).stem)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: Any = 0.0) -> np.ndarray:
    """Return softmax(q k^T / sqrt(size) + mask) v in float64; axes of 1 are broadcast."""
    weights = probabilities(q, k, mask)
    return weights @ v.astype(np.float64)


def probabilities(q: np.ndarray, k: np.ndarray, mask: Any = 0.0) -> np.ndarray:
    """Return softmax(q k^T / sqrt(size) + mask) in float64."""
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)
    scores = scores / np.sqrt(q.shape[-1]) + mask
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def swish(x: np.ndarray) -> np.ndarray:
    """Return x / (1 + exp(-x)) in float64."""
    return x / (1 + np.exp(-x.astype(np.float64)))

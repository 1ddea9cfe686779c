# SPDX-License-Identifier: Apache-2.0
"""Attention with a mask as one partition, in float32 and bfloat16 with float32 inside.

Counterpart of oneDNN's sdpa.
"""

import numpy as np
from _graph_example import Example, attention, run

SHAPE = (2, 8, 64, 32)


def main(example: Example) -> None:
    """Scores, scale, mask, softmax, values: five operations that oneDNN fuses."""
    q, k, v = (example.normal(*SHAPE) for _ in range(3))
    mask = np.where(np.arange(64) < 48, 0.0, -np.inf).reshape(1, 1, 1, 64)
    for dtype, tolerance in (("float32", 1e-5), ("bfloat16", 2e-2)):
        graph = example.graph()
        query, key, value = (graph.input(SHAPE, dtype, name=n) for n in "qkv")
        scores = graph.matmul(query, key, transpose_b=True, dtype="f32")
        scores = graph.divide(scores, SHAPE[-1] ** 0.5)
        scores = graph.add(scores, graph.input(mask.shape, name="mask"))
        weights = graph.softmax(scores, axis=-1, mode="inf_as_zero", dtype=dtype)
        graph.matmul(weights, value)
        arrays = {n: example.array(a, dtype) for n, a in zip("qkv", (q, k, v), strict=True)}
        actual = example.run(graph, arrays | {"mask": example.array(mask)})
        example.compare(dtype, actual, attention(q, k, v, mask), tolerance)


if __name__ == "__main__":
    run(main, __doc__)

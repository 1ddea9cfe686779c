# SPDX-License-Identifier: Apache-2.0
"""Attention over int8 queries, keys, values and probabilities, one partition.

Counterpart of oneDNN's sdpa_quantized.
"""

import numpy as np
from _graph_example import Example, probabilities, run

SHAPE, SCALE, OF_WEIGHTS = (2, 8, 64, 32), 0.02, 1 / 127


def main(example: Example) -> None:
    """Dequantize, attend, quantize; compare with float64 over the same integers."""
    graph = example.graph()
    query, key, value = (
        graph.dequantize(graph.input(SHAPE, "s8", name=n), scales=(SCALE,)) for n in "qkv"
    )
    scores = graph.divide(graph.matmul(query, key, transpose_b=True), SHAPE[-1] ** 0.5)
    weights = graph.softmax(scores, axis=-1, mode="inf_as_zero")
    weights = graph.quantize(weights, dtype="s8", scales=(OF_WEIGHTS,))
    weights = graph.dequantize(weights, scales=(OF_WEIGHTS,))
    graph.quantize(graph.matmul(weights, value), dtype="s8", scales=(SCALE,))

    provided = [example.rng.integers(-127, 128, SHAPE) for _ in range(3)]
    arrays = {n: example.array(a, "int8") for n, a in zip("qkv", provided, strict=True)}
    actual = example.run(graph, arrays)
    q, k, v = (a * SCALE for a in provided)
    rounded = np.rint(probabilities(q, k) / OF_WEIGHTS) * OF_WEIGHTS
    example.compare("int8 attention", actual, np.rint(rounded @ v / SCALE), 0.03)


if __name__ == "__main__":
    run(main, __doc__)

# SPDX-License-Identifier: Apache-2.0
"""Causal attention of the last queries to all keys, with the mask computed in the partition.

Counterpart of oneDNN's sdpa_bottom_right_causal_mask.
"""

import numpy as np
from _graph_example import Example, attention, run

BATCH, HEADS, QUERIES, KEYS, SIZE = 2, 8, 16, 64, 32


def main(example: Example) -> None:
    """Compare the indices of rows and columns; numbers remain on the host."""
    graph = example.graph()
    query = graph.input((BATCH, HEADS, QUERIES, SIZE), name="q")
    key, value = (graph.input((BATCH, HEADS, KEYS, SIZE), name=n) for n in "kv")
    scores = graph.matmul(query, key, transpose_b=True)
    scores = graph.multiply(scores, graph.scalar("f32", name="scale"))
    rows = graph.gen_index(scores, axis=-2)
    rows = graph.add(rows, graph.scalar("s32", name="n_keys"))
    rows = graph.subtract(rows, graph.scalar("s32", name="n_queries"))
    seen = graph.greater_equal(rows, graph.gen_index(scores, axis=-1))
    scores = graph.select(seen, scores, graph.scalar("f32", name="lowest"))
    graph.matmul(graph.softmax(scores, axis=-1, mode="inf_as_zero"), value)

    q = example.normal(BATCH, HEADS, QUERIES, SIZE)
    k, v = (example.normal(BATCH, HEADS, KEYS, SIZE) for _ in range(2))
    arrays = {n: example.array(a) for n, a in zip("qkv", (q, k, v), strict=True)}
    numbers = {"scale": SIZE**-0.5, "n_keys": KEYS, "n_queries": QUERIES, "lowest": -np.inf}
    actual = example.run(graph, arrays | numbers)
    allowed = np.arange(QUERIES)[:, None] + KEYS - QUERIES >= np.arange(KEYS)
    example.compare("causal", actual, attention(q, k, v, np.where(allowed, 0.0, -np.inf)), 1e-5)


if __name__ == "__main__":
    run(main, __doc__)

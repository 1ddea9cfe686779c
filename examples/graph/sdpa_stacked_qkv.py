# SPDX-License-Identifier: Apache-2.0
"""Attention over queries, keys and values that are interleaved in one array, without a copy.

Counterpart of oneDNN's sdpa_stacked_qkv.
"""

from _graph_example import Example, attention, run

BATCH, LENGTH, HEADS, SIZE = 2, 64, 8, 32


def main(example: Example) -> None:
    """Pass views: a call compiles for the strides of its arguments."""
    graph = example.graph()
    query, key, value = (graph.input((BATCH, HEADS, LENGTH, SIZE), name=n) for n in "qkv")
    scores = graph.divide(graph.matmul(query, key, transpose_b=True), SIZE**0.5)
    graph.matmul(graph.softmax(scores, axis=-1, mode="inf_as_zero"), value)

    stacked = example.normal(BATCH, LENGTH, HEADS, 3, SIZE)
    on_device = example.array(stacked)
    parts = [stacked[..., i, :].transpose(0, 2, 1, 3) for i in range(3)]
    views = {n: on_device[..., i, :].transpose(0, 2, 1, 3) for i, n in enumerate("qkv")}
    example.compare("stacked", example.run(graph, views), attention(*parts), 1e-5)


if __name__ == "__main__":
    run(main, __doc__)

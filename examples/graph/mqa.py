# SPDX-License-Identifier: Apache-2.0
"""Attention where all query heads share one head of keys and values, one partition.

Counterpart of oneDNN's mqa.
"""

from _graph_example import Example, attention, run

BATCH, HEADS, LENGTH, SIZE = 2, 8, 64, 32


def main(example: Example) -> None:
    """Keys and values have one head, which the products broadcast."""
    graph = example.graph()
    query = graph.input((BATCH, HEADS, LENGTH, SIZE), name="q")
    key, value = (graph.input((BATCH, 1, LENGTH, SIZE), name=n) for n in "kv")
    scores = graph.divide(graph.matmul(query, key, transpose_b=True), SIZE**0.5)
    graph.matmul(graph.softmax(scores, axis=-1, mode="inf_as_zero"), value)

    values = example.for_inputs(graph)
    actual = example.run(graph, {n: example.array(v) for n, v in values.items()})
    example.compare("one head of keys", actual, attention(*values.values()), 1e-5)


if __name__ == "__main__":
    run(main, __doc__)

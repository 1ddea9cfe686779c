# SPDX-License-Identifier: Apache-2.0
"""Attention where groups of query heads share keys and values, one partition.

Counterpart of oneDNN's gqa.
"""

from _graph_example import Example, attention, run

BATCH, SHARED, GROUP, LENGTH, SIZE = 2, 2, 4, 64, 32


def main(example: Example) -> None:
    """Five axes: batch, shared heads, heads of a group, length, size."""
    graph = example.graph()
    query = graph.input((BATCH, SHARED, GROUP, LENGTH, SIZE), name="q")
    key, value = (graph.input((BATCH, SHARED, 1, LENGTH, SIZE), name=n) for n in "kv")
    scores = graph.divide(graph.matmul(query, key, transpose_b=True), SIZE**0.5)
    graph.matmul(graph.softmax(scores, axis=-1, mode="inf_as_zero"), value)

    values = example.for_inputs(graph)
    actual = example.run(graph, {n: example.array(v) for n, v in values.items()})
    example.compare("grouped", actual, attention(*values.values()), 1e-5)


if __name__ == "__main__":
    run(main, __doc__)

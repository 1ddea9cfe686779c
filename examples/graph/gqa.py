# SPDX-License-Identifier: Apache-2.0
"""Attention where query heads share keys and values, all of them or groups; one partition each.

Counterpart of oneDNN's gqa and mqa.
"""

from _graph_example import Example, attention, run

BATCH, SHARED, GROUP, LENGTH, SIZE = 2, 2, 4, 64, 32
#: Heads of queries, and of keys and values: axes of length 1 are broadcast by the products.
HEADS = {"grouped": ((SHARED, GROUP), (SHARED, 1)), "one head of keys": ((8,), (1,))}


def main(example: Example) -> None:
    """Axes: batch, heads (of a group and shared, if there are groups), length, size."""
    for name, (of_queries, of_keys) in HEADS.items():
        graph = example.graph()
        query = graph.input((BATCH, *of_queries, LENGTH, SIZE), name="q")
        key, value = (graph.input((BATCH, *of_keys, LENGTH, SIZE), name=n) for n in "kv")
        scores = graph.divide(graph.matmul(query, key, transpose_b=True), SIZE**0.5)
        graph.matmul(graph.softmax(scores, axis=-1, mode="inf_as_zero"), value)

        values = example.for_inputs(graph)
        actual = example.run(graph, {n: example.array(v) for n, v in values.items()})
        example.compare(name, actual, attention(*values.values()), 1e-5)


if __name__ == "__main__":
    run(main, __doc__)

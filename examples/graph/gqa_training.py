# SPDX-License-Identifier: Apache-2.0
"""Training of grouped attention: a forward graph that keeps statistics, and the backward graph.

Counterpart of oneDNN's gqa_training.
"""

import numpy as np
from _graph_example import Example, Graph, attention, probabilities, run

BATCH, SHARED, GROUP, LENGTH, SIZE = 2, 2, 3, 16, 8
SHAPES = {"q": (BATCH, SHARED, GROUP, LENGTH, SIZE)} | dict.fromkeys(
    "kv", (BATCH, SHARED, 1, LENGTH, SIZE)
)


def forward(graph: Graph) -> None:
    """Results: the output, and the logarithms of the sums of exponentials."""
    q, k, v = (graph.input(s, name=n) for n, s in SHAPES.items())
    scores = graph.divide(graph.matmul(q, k, transpose_b=True), SIZE**0.5)
    weights, stats = graph.softmax(scores, axis=-1, mode="inf_as_zero", with_stats=True)
    graph.output(graph.matmul(weights, v))
    graph.output(stats)


def backward(graph: Graph) -> None:
    """Results: the gradients in q, k and v; the weights are recomputed from the statistics."""
    q, k, v = (graph.input(s, name=n) for n, s in SHAPES.items())
    o, do = (graph.input(SHAPES["q"], name=n) for n in ("o", "do"))
    stats = graph.input((*SHAPES["q"][:-1], 1), name="stats")
    scale = graph.constant(SIZE**0.5)
    scores = graph.divide(graph.matmul(q, k, transpose_b=True), scale)
    weights = graph.exp(graph.subtract(scores, stats))
    dv = graph.matmul(weights, do, transpose_a=True)
    along = graph.reduce_sum(graph.multiply(o, do), axes=(4,), keep_dims=True)
    dw = graph.subtract(graph.matmul(do, v, transpose_b=True), along)
    ds = graph.divide(graph.multiply(weights, dw), scale)
    dk = graph.matmul(ds, q, transpose_a=True)
    graph.output(graph.matmul(ds, k))
    for gradient in (dk, dv):
        graph.output(graph.reduce_sum(gradient, axes=(2,), keep_dims=True))


def main(example: Example) -> None:
    """Run both graphs; compare the gradients with formulas in float64."""
    q, k, v, do = (example.normal(*s) for s in (*SHAPES.values(), SHAPES["q"]))
    arrays = {n: example.array(a) for n, a in zip("qkv", (q, k, v), strict=True)}
    ahead, back = example.graph(), example.graph()
    forward(ahead)
    backward(back)
    o, stats = example.run(ahead, arrays)
    example.compare("output", o, attention(q, k, v), 1e-5)
    gradients = example.run(back, arrays | {"o": o, "stats": stats, "do": example.array(do)})

    weights, do = probabilities(q, k), do.astype(np.float64)
    dw = do @ v.swapaxes(-1, -2)
    ds = weights * (dw - (weights * dw).sum(-1, keepdims=True)) / np.sqrt(SIZE)
    dk, dv = ds.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ do
    expected = (ds @ k, dk.sum(2, keepdims=True), dv.sum(2, keepdims=True))
    for name, actual, right in zip("qkv", gradients, expected, strict=True):
        example.compare(f"gradient of {name}", actual, right, 1e-4)


if __name__ == "__main__":
    run(main, __doc__)

# SPDX-License-Identifier: Apache-2.0
"""The gated feed-forward layer of language models: three products and a gate, one partition.

Counterpart of oneDNN's gated_mlp.
"""

import numpy as np
from _graph_example import Example, run, swish

ROWS, SIZE, HIDDEN = 8, 64, 128


def main(example: Example) -> None:
    """down(swish(x gate) * (x up))."""
    graph = example.graph()
    x = graph.input((ROWS, SIZE), name="x")
    gate, up = (graph.input((SIZE, HIDDEN), name=n) for n in ("gate", "up"))
    a, b = graph.matmul(x, gate), graph.matmul(x, up)
    hidden = graph.multiply(graph.multiply(a, graph.sigmoid(a)), b)
    graph.matmul(hidden, graph.input((HIDDEN, SIZE), name="down"))

    values = example.for_inputs(graph)
    actual = example.run(graph, {n: example.array(v) for n, v in values.items()})
    wide = {n: v.astype(np.float64) for n, v in values.items()}
    hidden_wanted = swish(wide["x"] @ wide["gate"]) * (wide["x"] @ wide["up"])
    example.compare("gated layer", actual, hidden_wanted @ wide["down"], 1e-5)


if __name__ == "__main__":
    run(main, __doc__)

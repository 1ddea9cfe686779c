# SPDX-License-Identifier: Apache-2.0
"""The gated layer with gate and up as views of the halves of one matrix.

Counterpart of oneDNN's gated_mlp_wei_combined.
"""

import numpy as np
from _graph_example import Example, run, swish

ROWS, SIZE, HIDDEN = 8, 64, 128


def main(example: Example) -> None:
    """Pass columns of one device array as two inputs; nothing is copied."""
    graph = example.graph()
    x = graph.input((ROWS, SIZE), name="x")
    gate, up = (graph.input((SIZE, HIDDEN), name=n) for n in ("gate", "up"))
    a, b = graph.matmul(x, gate), graph.matmul(x, up)
    hidden = graph.multiply(graph.multiply(a, graph.sigmoid(a)), b)
    graph.matmul(hidden, graph.input((HIDDEN, SIZE), name="down"))

    shapes = {"x": (ROWS, SIZE), "both": (SIZE, 2 * HIDDEN), "down": (HIDDEN, SIZE)}
    values = {name: example.normal(*shape) for name, shape in shapes.items()}
    weights = example.array(values["both"])
    arrays = {name: example.array(values[name]) for name in ("x", "down")}
    arrays |= {"gate": weights[:, :HIDDEN], "up": weights[:, HIDDEN:]}
    actual = example.run(graph, arrays)
    wide = {name: value.astype(np.float64) for name, value in values.items()}
    gated, plain = np.split(wide["x"] @ wide["both"], 2, axis=1)
    example.compare("gated layer, combined", actual, (swish(gated) * plain) @ wide["down"], 1e-5)


if __name__ == "__main__":
    run(main, __doc__)

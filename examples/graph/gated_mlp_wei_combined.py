# SPDX-License-Identifier: Apache-2.0
"""The gated layer where gate and up are halves of one matrix, taken as views.

Counterpart of oneDNN's gated_mlp_wei_combined.
"""

import numpy as np
from _graph_example import Example, swish

ROWS, SIZE, HIDDEN = 8, 64, 128


def main() -> None:
    """Columns of one array on the device are two inputs; nothing is copied."""
    example = Example(__doc__)
    graph = example.graph()
    x = graph.input((ROWS, SIZE), name="x")
    gate, up = (graph.input((SIZE, HIDDEN), name=n) for n in ("gate", "up"))
    a, b = graph.matmul(x, gate), graph.matmul(x, up)
    hidden = graph.multiply(graph.multiply(a, graph.sigmoid(a)), b)
    graph.matmul(hidden, graph.input((HIDDEN, SIZE), name="down"))

    x, both, down = (example.normal(*s) for s in ((ROWS, SIZE), (SIZE, 2 * HIDDEN), (HIDDEN, SIZE)))
    weights = example.array(both)
    arrays = {"x": example.array(x), "down": example.array(down)}
    arrays |= {"gate": weights[:, :HIDDEN], "up": weights[:, HIDDEN:]}
    got = example.run(graph, arrays)
    x, both, down = (v.astype(np.float64) for v in (x, both, down))
    a, b = x @ both[:, :HIDDEN], x @ both[:, HIDDEN:]
    example.compare("gated layer, combined", got, (swish(a) * b) @ down, 1e-5)
    example.finish("gated_mlp_wei_combined")


if __name__ == "__main__":
    main()

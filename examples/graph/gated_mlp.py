# SPDX-License-Identifier: Apache-2.0
"""The gated feed-forward layer of language models: three products and a gate, one partition.

Counterpart of oneDNN's gated_mlp and gated_mlp_wei_combined.
"""

import numpy as np
from _graph_example import Example, run, swish

ROWS, SIZE, HIDDEN = 8, 64, 128


def main(example: Example) -> None:
    """down(swish(x gate) * (x up)), with two matrices, and with views of the halves of one."""
    graph = example.graph()
    x = graph.input((ROWS, SIZE), name="x")
    gate, up = (graph.input((SIZE, HIDDEN), name=n) for n in ("gate", "up"))
    a, b = graph.matmul(x, gate), graph.matmul(x, up)
    hidden = graph.multiply(graph.multiply(a, graph.sigmoid(a)), b)
    graph.matmul(hidden, graph.input((HIDDEN, SIZE), name="down"))

    values = example.for_inputs(graph)
    wide = {n: v.astype(np.float64) for n, v in values.items()}
    expected = (swish(wide["x"] @ wide["gate"]) * (wide["x"] @ wide["up"])) @ wide["down"]
    apart = {n: example.array(v) for n, v in values.items()}
    both = example.array(np.concatenate([values["gate"], values["up"]], axis=1))
    views = {"gate": both[:, :HIDDEN], "up": both[:, HIDDEN:]}  # nothing is copied
    for name, arrays in (("gated layer", apart), ("gated layer, combined", apart | views)):
        example.compare(name, example.run(graph, arrays), expected, 1e-5)


if __name__ == "__main__":
    run(main, __doc__)

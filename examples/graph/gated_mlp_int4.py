# SPDX-License-Identifier: Apache-2.0
"""The gated layer with 4-bit weights that are dequantized inside the partition.

Counterpart of oneDNN's gated_mlp_int4.
"""

import numpy as np
from _graph_example import Example, run, swish

ROWS, SIZE, HIDDEN, GROUP = 8, 64, 128, 32
SHAPES = {"gate": (SIZE, HIDDEN), "up": (SIZE, HIDDEN), "down": (HIDDEN, SIZE)}


def main(example: Example) -> None:
    """Weights are (u4 - zero point) * scale, with one scale for each group of columns."""
    graph = example.graph(fpmath_mode="bf16")
    graph.set_fpmath_mode("bf16", True)  # integers may become bfloat16 as well
    x = graph.input((ROWS, SIZE), "bf16", name="x")
    weights = {}
    for name, (rows, columns) in SHAPES.items():
        data = graph.input((rows, columns), "u4", name=name)
        scales = graph.input((rows, columns // GROUP), "bf16", name=f"{name}_scales")
        zps = graph.input((rows, columns // GROUP), "u8", name=f"{name}_zps")
        weights[name] = graph.dynamic_dequantize(
            data, scales, zps, qtype="per_group", group_shape=(1, GROUP), axis=-1
        )
    a, b = (graph.matmul(x, weights[n], dtype="f32") for n in ("gate", "up"))
    hidden = graph.multiply(graph.multiply(a, graph.sigmoid(a)), b)
    graph.matmul(graph.type_cast(hidden, dtype="bf16"), weights["down"])

    values = {"x": example.normal(ROWS, SIZE)}
    arrays, wide = {"x": example.array(values["x"], "bfloat16")}, {}
    for name, (rows, columns) in SHAPES.items():
        integers = example.rng.integers(0, 16, (rows, columns))
        factors = np.abs(example.normal(rows, columns // GROUP))
        wide[name] = (integers - 8.0) * np.repeat(factors, GROUP, axis=1)
        arrays[name] = example.array(integers, "uint4")
        arrays[f"{name}_scales"] = example.array(factors, "bfloat16")
        arrays[f"{name}_zps"] = example.array(np.full_like(factors, 8), "uint8")
    actual = example.run(graph, arrays)
    rows_in = values["x"].astype(np.float64)
    expected = (swish(rows_in @ wide["gate"]) * (rows_in @ wide["up"])) @ wide["down"]
    example.compare("4-bit gated layer", actual, expected, 2e-2)


if __name__ == "__main__":
    run(main, __doc__)

# SPDX-License-Identifier: Apache-2.0
"""A quantized convolution: integers in and out, one partition.

Counterpart of oneDNN's cpu_inference_int8.
"""

from typing import Any

import numpy as np
from _graph_example import Example, dpnp, run

from sycl_dnn import functional as F

WINDOW: dict[str, Any] = {
    "strides": (1, 1),
    "pads_begin": (1, 1),
    "pads_end": (1, 1),
    "dilations": (1, 1),
}
SCALE_X, SCALE_Y = 0.02, 0.1


def main(example: Example) -> None:
    """Dequantize, convolve, ReLU, quantize; compare with the same in float32."""
    scales_w = tuple(float(s) for s in np.linspace(0.005, 0.02, 32, dtype=np.float32))
    graph = example.graph(data_format="NCX")
    x = graph.dequantize(graph.input((8, 16, 28, 28), "u8", name="x"), scales=(SCALE_X,), zps=(0,))
    w = graph.dequantize(
        graph.input((32, 16, 3, 3), "s8", name="w"), qtype="per_channel", axis=0, scales=scales_w
    )
    y = graph.relu(graph.convolution(x, w, graph.input((32,), name="b"), **WINDOW))
    graph.quantize(y, dtype="u8", scales=(SCALE_Y,), zps=(0,))

    images = example.rng.integers(0, 256, (8, 16, 28, 28))
    weights = example.rng.integers(-60, 60, (32, 16, 3, 3))
    arrays = {"x": example.array(images, "uint8"), "w": example.array(weights, "int8")}
    arrays["b"] = example.array(example.normal(32))
    actual = example.run(graph, arrays)
    factors = np.reshape(scales_w, (-1, 1, 1, 1))
    wide = example.array(images * SCALE_X), example.array(weights * factors)
    expected = dpnp.asnumpy(F.relu(F.conv2d(*wide, arrays["b"], padding=1)))
    example.compare("int8", actual, np.clip(np.rint(expected / SCALE_Y), 0, 255), 1 / 255)


if __name__ == "__main__":
    run(main, __doc__)

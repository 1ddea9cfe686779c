# SPDX-License-Identifier: Apache-2.0
"""First steps with the Graph API: two convolutions with bias and ReLU, fused by oneDNN.

Counterpart of oneDNN's cpu_getting_started, sycl_getting_started and gpu_opencl_getting_started.
"""

from typing import Any

from _graph_example import Example, dpnp, run

from sycl_dnn import functional as F

WINDOW: dict[str, Any] = {
    "strides": (4, 4),
    "pads_begin": (0, 0),
    "pads_end": (0, 0),
    "dilations": (1, 1),
}


def main(example: Example) -> None:
    """Build, print the partitions, run, compare with the functions."""
    graph = example.graph(data_format="NCX")
    x = graph.input((8, 3, 59, 59), name="x")
    w1, b1 = graph.input((32, 3, 11, 11), name="w1"), graph.input((32,), name="b1")
    w2, b2 = graph.input((32, 32, 1, 1), name="w2"), graph.input((32,), name="b2")
    y = graph.relu(graph.convolution(x, w1, b1, **WINDOW))
    graph.relu(graph.convolution(y, w2, b2, **{**WINDOW, "strides": (1, 1)}))
    print(graph.summary())

    values = example.for_inputs(graph)
    arrays = {n: example.array(v) for n, v in values.items()}
    actual = example.run(graph, arrays)
    expected = F.relu(F.conv2d(arrays["x"], arrays["w1"], arrays["b1"], stride=4))
    expected = F.relu(F.conv2d(expected, arrays["w2"], arrays["b2"]))
    example.compare("two layers", actual, dpnp.asnumpy(expected), 1e-5)


if __name__ == "__main__":
    run(main, __doc__)

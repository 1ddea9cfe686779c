# SPDX-License-Identifier: Apache-2.0
"""Convolution with bias and ReLU, then one with a separate filter for each channel.

Counterpart of oneDNN's primitives/convolution.
"""

import numpy as np
from _primitive_example import RELU, Example, convolve, desc, post_ops, run

from sycl_dnn import onednn as dnnl

N, IC, SIZE, KERNEL, STRIDE, PADDING = 3, 32, 13, 3, 4, 1


def convolve_and_rectify(example: Example, name: str, weights: np.ndarray, tag: str) -> None:
    """Run one convolution; oneDNN chooses the layouts of source, weights and result."""
    src, bias = example.normal(N, IC, SIZE, SIZE), example.normal(len(weights) * weights.shape[1])
    expected = np.maximum(convolve(src, weights, bias, STRIDE, PADDING), 0)
    if tag == "oihw":
        weights = weights[0]
    pd = dnnl.convolution_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        algorithm=dnnl.algorithm.convolution_direct,
        src=desc(src.shape),
        weights=desc(weights.shape),
        bias=desc(bias.shape, "a"),
        dst=desc(expected.shape),
        strides=(STRIDE, STRIDE),
        padding_l=(PADDING, PADDING),
        padding_r=(PADDING, PADDING),
        attr=post_ops(RELU),
    )
    actual = example.run(
        pd,
        src=example.memory(src, "nhwc"),
        weights=example.memory(weights, tag),
        bias=example.memory(bias),
    )
    example.compare(name, actual["dst"], expected)


def main(example: Example) -> None:
    """Convolve over all channels, and by channel."""
    convolve_and_rectify(example, "convolution", example.normal(1, 64, IC, KERNEL, KERNEL), "oihw")
    convolve_and_rectify(example, "depthwise", example.normal(IC, 1, 1, KERNEL, KERNEL), "goihw")


if __name__ == "__main__":
    run(main, __doc__)

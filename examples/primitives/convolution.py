# SPDX-License-Identifier: Apache-2.0
"""Convolution with bias and ReLU, then one with a filter of its own for each channel.

Counterpart of oneDNN's primitives/convolution.
"""

import numpy as np
from _primitive_example import RELU, Example, desc, post_ops, run
from numpy.lib.stride_tricks import sliding_window_view

from sycl_dnn import onednn as dnnl

N, IC, SIZE, KERNEL, STRIDE, PADDING = 3, 32, 13, 3, 4, 1


def expected(src, weights, bias):
    """Return the result in NumPy; weights are (groups, O / groups, I / groups, kernel, kernel)."""
    padded = np.pad(src, ((0, 0), (0, 0), (PADDING,) * 2, (PADDING,) * 2))
    seen = sliding_window_view(padded, (KERNEL, KERNEL), (2, 3))[:, :, ::STRIDE, ::STRIDE]
    seen = seen.reshape(N, len(weights), -1, *seen.shape[2:])
    result = np.einsum("ngiyxkl,goikl->ngoyx", seen, weights, optimize=True)
    return np.maximum(result.reshape(N, -1, *result.shape[3:]) + bias[:, None, None], 0)


def convolve(example: Example, name: str, weights: np.ndarray, tag: str) -> None:
    """Run one convolution; oneDNN chooses the layouts of source, weights and result."""
    src, bias = example.normal(N, IC, SIZE, SIZE), example.normal(len(weights) * weights.shape[1])
    wanted = expected(src, weights, bias)
    if tag == "oihw":
        weights = weights[0]
    pd = dnnl.convolution_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        algorithm=dnnl.algorithm.convolution_direct,
        src=desc(src.shape),
        weights=desc(weights.shape),
        bias=desc(bias.shape, "a"),
        dst=desc(wanted.shape),
        strides=(STRIDE, STRIDE),
        padding_l=(PADDING, PADDING),
        padding_r=(PADDING, PADDING),
        attr=post_ops(RELU),
    )
    got = example.run(
        pd,
        src=example.memory(src, "nhwc"),
        weights=example.memory(weights, tag),
        bias=example.memory(bias),
    )
    example.compare(name, got["dst"], wanted)


def main(example: Example) -> None:
    """Convolve over all channels, and by channel."""
    convolve(example, "convolution", example.normal(1, 64, IC, KERNEL, KERNEL), "oihw")
    convolve(example, "depthwise", example.normal(IC, 1, 1, KERNEL, KERNEL), "goihw")


if __name__ == "__main__":
    run(main, __doc__)

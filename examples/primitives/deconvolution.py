# SPDX-License-Identifier: Apache-2.0
"""Deconvolution with bias and ReLU: the gradient of a convolution as a layer.

Counterpart of oneDNN's primitives/deconvolution.
"""

import numpy as np
from _primitive_example import RELU, Example, desc, post_ops, run

from sycl_dnn import onednn as dnnl

N, IC, OC, SIZE, KERNEL, STRIDE, PADDING = 3, 32, 64, 13, 3, 4, 1
OUT = (SIZE - 1) * STRIDE + KERNEL - 2 * PADDING


def expected(src, weights, bias):
    """Return NumPy's result: each input pixel adds the kernel times its value."""
    whole = np.zeros((N, OC, OUT + 2 * PADDING, OUT + 2 * PADDING))
    reach = (SIZE - 1) * STRIDE + 1
    for y, x in np.ndindex(KERNEL, KERNEL):
        whole[:, :, y : y + reach : STRIDE, x : x + reach : STRIDE] += np.einsum(
            "niyx,oi->noyx", src, weights[:, :, y, x], optimize=True
        )
    cut = whole[:, :, PADDING : PADDING + OUT, PADDING : PADDING + OUT]
    return np.maximum(cut + bias[:, None, None], 0)


def main(example: Example) -> None:
    """Enlarge images; oneDNN chooses the layouts."""
    src, weights = example.normal(N, IC, SIZE, SIZE), example.normal(OC, IC, KERNEL, KERNEL)
    bias = example.normal(OC)
    pd = dnnl.deconvolution_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        algorithm=dnnl.algorithm.deconvolution_direct,
        src=desc(src.shape),
        weights=desc(weights.shape),
        bias=desc(bias.shape, "a"),
        dst=desc((N, OC, OUT, OUT)),
        strides=(STRIDE, STRIDE),
        padding_l=(PADDING, PADDING),
        padding_r=(PADDING, PADDING),
        attr=post_ops(RELU),
    )
    actual = example.run(
        pd,
        src=example.memory(src, "nhwc"),
        weights=example.memory(weights, "oihw"),
        bias=example.memory(bias),
    )
    example.compare("dst", actual["dst"], expected(src, weights, bias))


if __name__ == "__main__":
    run(main, __doc__)

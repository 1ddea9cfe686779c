# SPDX-License-Identifier: Apache-2.0
"""Fully connected layer over whole images, with bias and ReLU.

Counterpart of oneDNN's primitives/inner_product.
"""

import numpy as np
from _primitive_example import RELU, Example, desc, post_ops, run

from sycl_dnn import onednn as dnnl

SHAPE, OC = (3, 3, 227, 227), 96


def main(example: Example) -> None:
    """Multiply all pixels of an image by the weights of each output; weights are reordered."""
    src, weights = example.normal(*SHAPE), example.normal(OC, *SHAPE[1:])
    bias = example.normal(OC)
    pd = dnnl.inner_product_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        src=desc(SHAPE, "nhwc"),
        weights=desc(weights.shape),
        bias=desc(bias.shape, "a"),
        dst=desc((SHAPE[0], OC), "nc"),
        attr=post_ops(RELU),
    )
    actual = example.run(
        pd,
        src=example.memory(src, "nhwc"),
        weights=example.memory(weights, "oihw"),
        bias=example.memory(bias),
    )
    flat = src.reshape(SHAPE[0], -1).astype("f8")
    expected = np.maximum(flat @ weights.reshape(OC, -1).T.astype("f8") + bias, 0)
    # On GPUs the reference adds the 150,000 products of an element one by one.
    example.compare("dst", actual["dst"], expected, 5e-5)


if __name__ == "__main__":
    run(main, __doc__)

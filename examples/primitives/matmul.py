# SPDX-License-Identifier: Apache-2.0
"""Batched matrix product with bias and ReLU.

Counterpart of oneDNN's primitives/matmul.
"""

import numpy as np
from _primitive_example import RELU, Example, desc, post_ops, run

from sycl_dnn import onednn as dnnl

BATCH, M, K, N = 3, 128, 256, 512


def main(example: Example) -> None:
    """Multiply; the bias is broadcast over batch and rows."""
    src, weights = example.normal(BATCH, M, K), example.normal(BATCH, K, N)
    bias = example.normal(1, 1, N)
    pd = dnnl.matmul(
        example.engine,
        src=desc(src.shape, "abc"),
        weights=desc(weights.shape, "abc"),
        bias=desc(bias.shape, "abc"),
        dst=desc((BATCH, M, N), "abc"),
        attr=post_ops(RELU),
    )
    actual = example.run(
        pd,
        src=example.memory(src),
        weights=example.memory(weights),
        bias=example.memory(bias),
    )
    example.compare("dst", actual["dst"], np.maximum(src.astype("f8") @ weights + bias, 0))


if __name__ == "__main__":
    run(main, __doc__)

# SPDX-License-Identifier: Apache-2.0
"""Multiply two tensors, one of them broadcast along the width, then ReLU, in place.

Counterpart of oneDNN's primitives/binary.
"""

import numpy as np
from _primitive_example import RELU, Example, desc, post_ops, run

from sycl_dnn import onednn as dnnl

SHAPE, COLUMN = (3, 3, 150, 150), (3, 3, 150, 1)


def main(example: Example) -> None:
    """Multiply and rectify."""
    src_0, src_1 = example.normal(*SHAPE), example.normal(*COLUMN)
    pd = dnnl.binary(
        example.engine,
        algorithm=dnnl.algorithm.binary_mul,
        src0=desc(SHAPE, "nhwc"),
        src1=desc(COLUMN, "nhwc"),
        dst=desc(SHAPE, "nhwc"),
        attr=post_ops(RELU),
    )
    tensor = example.memory(src_0, "nhwc")
    actual = example.run(pd, src_0=tensor, src_1=example.memory(src_1, "nhwc"), dst=tensor)
    example.compare("dst", actual["dst"], np.maximum(src_0 * src_1, 0))


if __name__ == "__main__":
    run(main, __doc__)

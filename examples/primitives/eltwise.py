# SPDX-License-Identifier: Apache-2.0
"""ReLU of a tensor.

Counterpart of oneDNN's primitives/eltwise.
"""

import numpy as np
from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

SHAPE = (3, 3, 227, 227)


def main(example: Example) -> None:
    """Rectify."""
    src = example.normal(*SHAPE)
    pd = dnnl.eltwise_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        algorithm=dnnl.algorithm.eltwise_relu,
        src=desc(SHAPE, "nhwc"),
        dst=desc(SHAPE, "nhwc"),
    )
    actual = example.run(pd, src=example.memory(src, "nhwc"))
    example.compare("dst", actual["dst"], np.maximum(src, 0), 0)


if __name__ == "__main__":
    run(main, __doc__)

# SPDX-License-Identifier: Apache-2.0
"""Parametric ReLU: each element has its own slope for negative values.

Counterpart of oneDNN's primitives/prelu.
"""

import numpy as np
from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

SHAPE = (3, 3, 227, 227)


def main(example: Example) -> None:
    """Rectify; oneDNN chooses the layouts of slopes and result."""
    src, slopes = example.normal(*SHAPE), np.full(SHAPE, 0.3, "f4")
    pd = dnnl.prelu_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        src=desc(SHAPE, "nhwc"),
        weights=desc(SHAPE),
        dst=desc(SHAPE),
    )
    actual = example.run(
        pd, src=example.memory(src, "nhwc"), weights=example.memory(slopes, "nhwc")
    )
    example.compare("dst", actual["dst"], np.where(src > 0, src, slopes * src))


if __name__ == "__main__":
    run(main, __doc__)

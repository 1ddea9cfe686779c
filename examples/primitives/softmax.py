# SPDX-License-Identifier: Apache-2.0
"""Softmax over the classes of each sample, in place.

Counterpart of oneDNN's primitives/softmax.
"""

import numpy as np
from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

SHAPE, AXIS = (3, 1000), 1


def main(example: Example) -> None:
    """Turn scores into probabilities."""
    src = example.normal(*SHAPE)
    pd = dnnl.softmax_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        algorithm=dnnl.algorithm.softmax_accurate,
        src=desc(SHAPE, "nc"),
        dst=desc(SHAPE, "nc"),
        axis=AXIS,
    )
    tensor = example.memory(src)
    weights = np.exp(src.astype("f8"))
    expected = weights / weights.sum(AXIS, keepdims=True)
    example.compare("dst", example.run(pd, src=tensor, dst=tensor)["dst"], expected)


if __name__ == "__main__":
    run(main, __doc__)

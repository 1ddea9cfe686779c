# SPDX-License-Identifier: Apache-2.0
"""Concatenate ten tensors along the channels; oneDNN creates the descriptor of the result.

Counterpart of oneDNN's primitives/concat.
"""

import numpy as np
from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

N_SRC, SHAPE, AXIS = 10, (3, 3, 120, 120), 1


def main(example: Example) -> None:
    """Concatenate the channels of all tensors."""
    srcs = [example.normal(*SHAPE) for _ in range(N_SRC)]
    pd = dnnl.concat(
        example.engine, concat_dimension=AXIS, srcs=[desc(SHAPE, "nhwc") for _ in srcs]
    )
    tensors = {f"multiple_src_{i}": example.memory(x, "nhwc") for i, x in enumerate(srcs)}
    example.compare("dst", example.run(pd, **tensors)["dst"], np.concatenate(srcs, AXIS), 0)


if __name__ == "__main__":
    run(main, __doc__)

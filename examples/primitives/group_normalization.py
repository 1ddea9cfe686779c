# SPDX-License-Identifier: Apache-2.0
"""Group normalization with one channel per group: instance normalization of volumes, in place.

Counterpart of oneDNN's primitives/group_normalization.
"""

import numpy as np
from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

SHAPE, EPSILON = (2, 32, 20, 28, 28), 1e-10


def main(example: Example) -> None:
    """Normalize each channel of each volume separately."""
    src, scale, shift = example.normal(*SHAPE), example.normal(SHAPE[1]), example.normal(SHAPE[1])
    flags = dnnl.normalization_flags
    pd = dnnl.group_normalization_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        src=desc(SHAPE, "ncdhw"),
        dst=desc(SHAPE, "ncdhw"),
        groups=SHAPE[1],
        epsilon=EPSILON,
        flags=flags.use_scale | flags.use_shift,
    )
    tensor = example.memory(src)
    actual = example.run(
        pd, src=tensor, dst=tensor, scale=example.memory(scale), shift=example.memory(shift)
    )
    axes = (2, 3, 4)
    exact = src - src.mean(axes, dtype="f8", keepdims=True)
    variance = (exact**2).mean(axes, keepdims=True)
    expected = exact / np.sqrt(variance + EPSILON)
    by_channel = (-1, 1, 1, 1)
    expected = expected * scale.reshape(by_channel) + shift.reshape(by_channel)
    example.compare("variance", actual["variance"], variance.reshape(SHAPE[:2]))
    example.compare("dst", actual["dst"], expected)


if __name__ == "__main__":
    run(main, __doc__)

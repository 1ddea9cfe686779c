# SPDX-License-Identifier: Apache-2.0
"""Batch normalization with scale, shift and ReLU, in place; statistics come from the batch.

Counterpart of oneDNN's primitives/batch_normalization.
"""

import numpy as np
from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

SHAPE, EPSILON = (3, 3, 227, 227), 1e-10


def main(example: Example) -> None:
    """Normalize each channel over images and pixels."""
    src, scale, shift = example.normal(*SHAPE), example.normal(SHAPE[1]), example.normal(SHAPE[1])
    flags = dnnl.normalization_flags
    pd = dnnl.batch_normalization_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        src=desc(SHAPE, "nhwc"),
        dst=desc(SHAPE, "nhwc"),
        epsilon=EPSILON,
        flags=flags.use_scale | flags.use_shift | flags.fuse_norm_relu,
    )
    tensor = example.memory(src, "nhwc")
    actual = example.run(
        pd, src=tensor, dst=tensor, scale=example.memory(scale), shift=example.memory(shift)
    )
    mean, variance = src.mean((0, 2, 3), dtype="f8"), src.var((0, 2, 3), dtype="f8")
    factor = scale / np.sqrt(variance + EPSILON)
    expected = np.moveaxis((np.moveaxis(src, 1, 3) - mean) * factor + shift, 3, 1)
    example.compare("mean", actual["mean"], mean, 1e-3)  # near 0
    example.compare("variance", actual["variance"], variance, 1e-4)
    example.compare("dst", actual["dst"], np.maximum(expected, 0))


if __name__ == "__main__":
    run(main, __doc__)

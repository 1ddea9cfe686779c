# SPDX-License-Identifier: Apache-2.0
"""Layer normalization over the channels of each word, with scale and shift, in place.

Counterpart of oneDNN's primitives/layer_normalization.
"""

import numpy as np
from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

SHAPE, EPSILON = (12, 3, 227), 1e-10


def main(example: Example) -> None:
    """Normalize the last axis."""
    src, scale, shift = example.normal(*SHAPE), example.normal(SHAPE[2]), example.normal(SHAPE[2])
    flags = dnnl.normalization_flags
    pd = dnnl.layer_normalization_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        src=desc(SHAPE, "tnc"),
        dst=desc(SHAPE, "tnc"),
        epsilon=EPSILON,
        flags=flags.use_scale | flags.use_shift,
    )
    tensor = example.memory(src)
    actual = example.run(
        pd, src=tensor, dst=tensor, scale=example.memory(scale), shift=example.memory(shift)
    )
    mean, variance = src.mean(2, dtype="f8"), src.var(2, dtype="f8")
    expected = (src - mean[..., None]) / np.sqrt(variance + EPSILON)[..., None] * scale + shift
    example.compare("mean", actual["mean"], mean)
    example.compare("variance", actual["variance"], variance)
    example.compare("dst", actual["dst"], expected)


if __name__ == "__main__":
    run(main, __doc__)

# SPDX-License-Identifier: Apache-2.0
"""Batch normalization of u8 images as a subtraction with a chain of binary post-ops.

Counterpart of oneDNN's bnorm_u8_via_binary_postops.
"""

import numpy as np
from _example import Example, desc, post_ops, run

from sycl_dnn import onednn as dnnl

SHAPE, PARAMETERS = (3, 3, 150, 150), (1, 3, 1, 1)


def main(example: Example) -> None:
    """Compute (src - mean) / deviation * scale + shift, times a factor that quantizes, in place."""
    src = example.rng.integers(0, 256, SHAPE, dtype="u1")
    mean = example.rng.uniform(60, 80, PARAMETERS).astype("f4")
    deviation = example.rng.uniform(30, 60, PARAMETERS).astype("f4")
    scale, shift = example.rng.uniform(0.5, 2, (2, *PARAMETERS)).astype("f4")
    factor = np.full(PARAMETERS, 40, "f4")

    one_per_channel, algorithm = desc(PARAMETERS, "nhwc"), dnnl.algorithm
    chain = {
        "deviation": (algorithm.binary_div, deviation),
        "scale": (algorithm.binary_mul, scale),
        "shift": (algorithm.binary_add, shift),
        "factor": (algorithm.binary_mul, factor),
    }
    pd = dnnl.binary(
        example.engine,
        algorithm=algorithm.binary_sub,
        src0=desc(SHAPE, "nhwc", "u8"),
        src1=one_per_channel,
        dst=desc(SHAPE, "nhwc", "u8"),
        attr=post_ops(*[("binary", what, one_per_channel) for what, _ in chain.values()]),
    )
    operands = {
        f"attr_post_op_{i}_src_1": example.memory(values, "nhwc")
        for i, (_, values) in enumerate(chain.values())
    }
    image = example.memory(src, "nhwc")
    actual = example.run(pd, src_0=image, src_1=example.memory(mean, "nhwc"), dst=image, **operands)
    expected = ((src - mean.astype("f8")) / deviation * scale + shift) * factor
    example.compare_integers("dst", actual["dst"], np.clip(np.rint(expected), 0, 255))


if __name__ == "__main__":
    run(main, __doc__)

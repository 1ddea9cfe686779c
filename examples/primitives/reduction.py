# SPDX-License-Identifier: Apache-2.0
"""Sum over images and pixels: one value for each channel.

Counterpart of oneDNN's primitives/reduction.
"""

from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

SHAPE, RESULT = (3, 3, 227, 227), (1, 3, 1, 1)


def main(example: Example) -> None:
    """Axes of size 1 in the result are those that are summed."""
    src = example.normal(*SHAPE)
    pd = dnnl.reduction(
        example.engine,
        algorithm=dnnl.algorithm.reduction_sum,
        src=desc(SHAPE, "nhwc"),
        dst=desc(RESULT, "nhwc"),
    )
    expected = src.sum((0, 2, 3), dtype="f8").reshape(RESULT)
    example.compare("dst", example.run(pd, src=example.memory(src, "nhwc"))["dst"], expected)


if __name__ == "__main__":
    run(main, __doc__)

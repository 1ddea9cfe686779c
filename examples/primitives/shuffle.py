# SPDX-License-Identifier: Apache-2.0
"""Shuffle channels: groups of 4 are transposed.

Counterpart of oneDNN's primitives/shuffle.
"""

from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

SHAPE, AXIS, GROUP_SIZE = (3, 72, 56, 56), 1, 4


def main(example: Example) -> None:
    """Take the first channel of each group, then the second of each, and so on."""
    src = example.normal(*SHAPE)
    pd = dnnl.shuffle_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        src=desc(SHAPE, "nhwc"),
        dst=desc(SHAPE, "nhwc"),
        axis=AXIS,
        group_size=GROUP_SIZE,
    )
    n, channels, *image = SHAPE
    expected = src.reshape(n, channels // GROUP_SIZE, GROUP_SIZE, *image).swapaxes(1, 2)
    actual = example.run(pd, src=example.memory(src, "nhwc"))
    example.compare("dst", actual["dst"], expected.reshape(SHAPE), 0)


if __name__ == "__main__":
    run(main, __doc__)

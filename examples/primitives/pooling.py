# SPDX-License-Identifier: Apache-2.0
"""Max pooling with dilation; the workspace has the position of each maximum for the gradient.

Counterpart of oneDNN's primitives/pooling.
"""

from _primitive_example import Example, desc, max_pool, run

from sycl_dnn import onednn as dnnl

SHAPE, KERNEL, STRIDE, DILATION = (3, 3, 27, 27), 11, 4, 1  # oneDNN's dilation 1 skips one pixel


def main(example: Example) -> None:
    """Keep the largest value of each window."""
    src = example.normal(*SHAPE)
    expected = max_pool(src, KERNEL, STRIDE, DILATION)
    pd = dnnl.pooling_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        algorithm=dnnl.algorithm.pooling_max,
        src=desc(SHAPE, "nhwc"),
        dst=desc(expected.shape, "nhwc"),
        strides=(STRIDE, STRIDE),
        kernel=(KERNEL, KERNEL),
        dilation=(DILATION, DILATION),
        padding_l=(0, 0),
        padding_r=(0, 0),
    )
    actual = example.run(pd, src=example.memory(src, "nhwc"))
    print(f"workspace: {actual['workspace'].desc}")
    example.compare("dst", actual["dst"], expected, 0)


if __name__ == "__main__":
    run(main, __doc__)

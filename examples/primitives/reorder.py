# SPDX-License-Identifier: Apache-2.0
"""Quantize by a reorder: float32 to int8 with a scale for each channel.

Counterpart of oneDNN's primitives/reorder.
"""

import numpy as np
from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

SHAPE, CHANNELS = (3, 3, 227, 227), 1


def main(example: Example) -> None:
    """Divide by the scales of the result, round, saturate."""
    src = 100 * example.normal(*SHAPE)
    scales = np.array([1.0, 0.5, 2.0], "f4")
    attr = dnnl.PrimitiveAttr()
    attr.set_scales_mask("dst", 1 << CHANNELS)
    pd = dnnl.reorder(
        example.engine, src=desc(SHAPE, "nhwc"), dst=desc(SHAPE, "nhwc", "s8"), attr=attr
    )
    actual = example.run(
        pd, src=example.memory(src, "nhwc"), attr_scales_dst=example.memory(scales)
    )
    expected = np.clip(np.rint(src / scales.reshape(-1, 1, 1)), -128, 127)
    assert example.options.no_check or (np.abs(src).max() > 256), "nothing saturates"
    example.compare("dst", actual["dst"], expected, 0)


if __name__ == "__main__":
    run(main, __doc__)

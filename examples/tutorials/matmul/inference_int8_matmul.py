# SPDX-License-Identifier: Apache-2.0
"""int8 product of any number of rows with weights packed once: runtime dimensions.

Counterpart of oneDNN's tutorials/matmul/inference_int8_matmul.
"""

import numpy as np
from _tutorial import RELU, Example, desc, post_ops, run

from sycl_dnn import onednn as dnnl

K, N, ANY = 96, 1000, dnnl.RUNTIME_DIM_VAL
SRC_SCALE, DST_SCALE, SRC_ZERO, DST_ZERO = 0.5, 25.0, 128, 40


def make_matmul(example: Example) -> dnnl.PrimitiveDesc:
    """Return u8 (M, K) times s8 (K, N) with a scale for each column, ReLU, u8; M is open."""
    attr = post_ops(RELU)
    for name, mask in (("src", 0), ("weights", 1 << 1), ("dst", 0)):
        attr.set_scales_mask(name, mask)
    attr.set_zero_points_mask("src", 0)
    attr.set_zero_points_mask("dst", 0)
    u8 = dnnl.data_type.u8
    return dnnl.matmul(
        example.engine,
        src=dnnl.MemoryDesc((ANY, K), u8, strides=(K, 1)),
        weights=desc((K, N), "any", "s8"),
        dst=dnnl.MemoryDesc((ANY, N), u8, strides=(N, 1)),
        attr=attr,
    )


def main(example: Example) -> None:
    """Use one primitive for 1 and 100 rows."""
    pd = make_matmul(example)
    # 7 bits: CPUs without VNNI add products in pairs in 16 bits, with saturation.
    integers = example.rng.integers(-64, 64, (K, N)).astype("i1")
    scales = example.rng.uniform(0.02, 0.04, N).astype("f4")
    constants = {
        "weights": example.reordered(example.memory(integers), pd.weights_desc),
        "attr_scales_src": example.memory([SRC_SCALE]),
        "attr_scales_weights": example.memory(scales),
        "attr_scales_dst": example.memory([DST_SCALE]),
        "attr_zero_points_src": example.memory(np.array([SRC_ZERO], "i4")),
        "attr_zero_points_dst": example.memory(np.array([DST_ZERO], "i4")),
    }
    for rows in (1, 100):
        src = example.rng.integers(0, 256, (rows, K), dtype="u1")
        dst = example.empty(desc((rows, N), "ab", "u8"))
        actual = example.run(pd, src=example.memory(src), dst=dst, **constants)
        exact = SRC_SCALE * (src.astype("f8") - SRC_ZERO) @ (scales * integers.astype("f8"))
        expected = np.clip(np.rint(np.maximum(exact, 0) / DST_SCALE) + DST_ZERO, 0, 255)
        example.compare_integers(f"{rows} rows", actual["dst"], expected)


if __name__ == "__main__":
    run(main, __doc__)

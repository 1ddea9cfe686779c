# SPDX-License-Identifier: Apache-2.0
"""float32 times int8 weights that are decompressed in groups: a scale and zero point for each.

Counterpart of oneDNN's tutorials/matmul/matmul_with_weight_only_quantization.
"""

import numpy as np
from _tutorial import Example, desc, run

from sycl_dnn import onednn as dnnl

M, K, N, GROUP = 100, 64, 1000, 32


def main(example: Example) -> None:
    """Use weights of a quarter of the size; the product is computed in floats."""
    src = example.normal(M, K)
    weights = example.rng.integers(-128, 128, (K, N)).astype("i1")
    scales = example.rng.uniform(0.01, 0.02, (K // GROUP, N)).astype("f4")
    zeros = example.rng.integers(-5, 6, scales.shape).astype("i1")
    attr = dnnl.PrimitiveAttr()
    both = (1 << 0) + (1 << 1)  # scales along K, in groups, and along N
    attr.set_scales("weights", both, (GROUP, 1), dnnl.data_type.f32)
    attr.set_zero_points("weights", both, (GROUP, 1), dnnl.data_type.s8)
    attr.set_fpmath_mode(dnnl.fpmath_mode.strict, apply_to_int=True)
    pd = dnnl.matmul(
        example.engine,
        src=desc((M, K), "ab"),
        # Unit stride along K: the only order of weights with zero points that all CPUs support.
        weights=desc((K, N), "ba", "s8"),
        dst=desc((M, N), "ab"),
        attr=attr,
    )
    actual = example.run(
        pd,
        src=example.memory(src),
        weights=example.memory(weights),
        attr_scales_weights=example.memory(scales),
        attr_zero_points_weights=example.memory(zeros),
    )
    exact = (weights - np.repeat(zeros, GROUP, 0).astype("f8")) * np.repeat(scales, GROUP, 0)
    example.compare("dst", actual["dst"], src @ exact)


if __name__ == "__main__":
    run(main, __doc__)

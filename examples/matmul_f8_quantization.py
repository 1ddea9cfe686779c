# SPDX-License-Identifier: Apache-2.0
"""Multiply matrices of 8-bit floating-point numbers in both formats, with scales.

Counterpart of oneDNN's matmul_f8_quantization.
"""

import numpy as np
from _example import Example, desc, run

from sycl_dnn import onednn as dnnl

M, K, N = 4, 8, 4
# Largest number, and half the relative distance of neighboring numbers.
FORMATS = {"f8_e5m2": (57344.0, 2**-3), "f8_e4m3": (448.0, 2**-4)}


def quantize(example: Example, name: str, values: np.ndarray, dtype: str) -> tuple:
    """Return the matrix in 8 bits and its scale, which is 1 if the largest value fits."""
    scale = max(1.0, np.abs(values).max() / FORMATS[dtype][0])
    print(f"{name} in {dtype}: largest {np.abs(values).max()}, scale {scale:.4f}")
    attr = dnnl.PrimitiveAttr()
    attr.set_scales_mask("dst", 0)
    factor = example.memory([scale])
    layout = desc(values.shape, "ab", dtype)
    plain = example.memory(values)
    return example.reordered(plain, layout, attr, attr_scales_dst=factor), factor


def multiply(example: Example, dtype: str) -> None:
    """Quantize, multiply, and compare with the product of the float32 matrices."""
    a = np.arange(100, 100 + M * K, dtype="f4").reshape(M, K)
    b = np.arange(450, 450 + K * N, dtype="f4").reshape(K, N)
    src, src_scale = quantize(example, "source", a, dtype)
    weights, weights_scale = quantize(example, "weights", b, dtype)
    attr = dnnl.PrimitiveAttr()
    attr.set_scales_mask("src", 0)
    attr.set_scales_mask("weights", 0)
    pd = dnnl.matmul(
        example.engine, src=src.desc, weights=weights.desc, dst=desc((M, N), "ab"), attr=attr
    )
    actual = example.run(
        pd,
        src=src,
        weights=weights,
        attr_scales_src=src_scale,
        attr_scales_weights=weights_scale,
    )
    example.compare(dtype, actual["dst"], a.astype("f8") @ b, 2.2 * FORMATS[dtype][1])


def main(example: Example) -> None:
    """Show both formats: range against precision."""
    for dtype in FORMATS:
        multiply(example, dtype)


if __name__ == "__main__":
    run(main, __doc__)

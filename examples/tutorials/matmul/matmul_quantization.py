# SPDX-License-Identifier: Apache-2.0
"""Quantize two matrices by their range, multiply in int8, quantize the product.

Counterpart of oneDNN's tutorials/matmul/cpu_matmul_quantization.
"""

import numpy as np
from _tutorial import Example, desc, run

from sycl_dnn import onednn as dnnl

M, K, N = 10, 30, 20


def range_of(name: str, values: np.ndarray, dtype: str) -> tuple[float, int]:
    """Return scale and zero point so that the values use all integers; zero point 0 for s8."""
    # u8 uses 7 bits: products of pairs are added in 16 bits on CPUs without VNNI.
    low, high = (-127, 126) if dtype == "s8" else (1, 127)
    scale = float(values.max() - values.min()) / (high - low)
    zero = 0 if dtype == "s8" else int(high - values.max() / scale)
    print(f"{name} in {dtype}: scale {scale:.3g}, zero point {zero}")
    return scale, zero


def quantize(example: Example, name: str, values: np.ndarray, dtype: str) -> tuple:
    """Return the matrix in integers, its scale and its zero point, as memories."""
    scale, zero = range_of(name, values, dtype)
    factors = example.memory([scale]), example.memory(np.array([zero], "i4"))
    attr = dnnl.PrimitiveAttr()
    attr.set_scales_mask("dst", 0)
    given = {"attr_scales_dst": factors[0]}
    if zero:
        attr.set_zero_points_mask("dst", 0)
        given["attr_zero_points_dst"] = factors[1]
    layout = desc(values.shape, "ab", dtype)
    return example.reordered(example.memory(values), layout, attr, **given), *factors


def main(example: Example) -> None:
    """Compare with the product in float32: the error of 7 bits is at most a few percent."""
    a = example.rng.uniform(-2, 1.4, (M, K)).astype("f4")
    b = example.rng.uniform(-1, 1, (K, N)).astype("f4")
    src, src_scale, src_zero = quantize(example, "A", a, "u8")
    weights, weights_scale, _ = quantize(example, "B", b, "s8")
    attr = dnnl.PrimitiveAttr()
    attr.set_scales_mask("src", 0)
    attr.set_scales_mask("weights", 0)
    attr.set_zero_points_mask("src", 0)
    pd = dnnl.matmul(
        example.engine, src=src.desc, weights=weights.desc, dst=desc((M, N), "ab"), attr=attr
    )
    actual = example.run(
        pd,
        src=src,
        weights=weights,
        attr_scales_src=src_scale,
        attr_scales_weights=weights_scale,
        attr_zero_points_src=src_zero,
    )
    product, exact = example.values(actual["dst"]), a.astype("f8") @ b
    example.compare("product of integers", product, exact, 0.03)
    if not example.options.no_check:
        integers, scale, zero = quantize(example, "C", product, "u8")
        dequantized = example.values(scale)[0] * (example.values(integers) - example.values(zero))
        example.compare("product quantized", dequantized, exact, 0.04)


if __name__ == "__main__":
    run(main, __doc__)

# SPDX-License-Identifier: Apache-2.0
"""Multiply matrices in the MX format: 8-bit floats, every 32 of them with a power of two as scale.

The result is in that format, too. It is computed in float32 and clipped in the conversion: oneDNN
3.13 could compute its scales (``dynamic_mx``), but converts scaled values above 448 to NaN.

Counterpart of oneDNN's tutorials/matmul/mxfp_matmul.
"""

import numpy as np
from _tutorial import Example, desc, run

from sycl_dnn import onednn as dnnl

M, K, N, BLOCK, LARGEST = 96, 128, 64, 32, 448.0


def exponents(values: np.ndarray) -> np.ndarray:
    """Return the biased exponent of each block of the last axis that makes its values fit e4m3."""
    largest = np.abs(values.reshape(*values.shape[:-1], -1, BLOCK)).max(-1)
    return (np.floor(np.log2(largest)) - np.floor(np.log2(LARGEST)) + 127).astype("u1")


def quantize(example: Example, values: np.ndarray, tag: str) -> tuple:
    """Return the matrix in e4m3, its scales, and the values of both; blocks are along rows."""
    biased = exponents(values)
    scales = np.repeat(2.0 ** (biased.astype("f4") - 127), BLOCK, -1)
    rounded = example.memory(np.clip(values / scales, -LARGEST, LARGEST).astype("f4"))
    dims = values.shape if tag == "ab" else values.shape[::-1]
    elements = example.reordered(rounded, desc(values.shape, "ab", "f8_e4m3"))
    meant = example.values(elements) * scales
    # The same bytes are the transposed matrix with contiguous columns; its scales are (K / 32, N).
    tensor = dnnl.Memory(desc(dims, tag, "f8_e4m3"), example.engine, elements.owner[0])
    return tensor, e8m0(example, biased if tag == "ab" else biased.T), meant


def e8m0(example: Example, biased: np.ndarray) -> dnnl.Memory:
    """Return exponents as a tensor of scales."""
    plain = example.memory(np.ascontiguousarray(biased).reshape(-1))
    layout = desc((biased.size,), "a", "e8m0")
    return dnnl.Memory(layout, example.engine, plain.to_array())


def make_matmul(example: Example) -> dnnl.PrimitiveDesc:
    """Return the product of two matrices with scales."""
    attr, both, e8m0 = dnnl.PrimitiveAttr(), (1 << 0) + (1 << 1), dnnl.data_type.e8m0
    attr.set_scales("src", both, (1, BLOCK), e8m0)
    attr.set_scales("weights", both, (BLOCK, 1), e8m0)
    return dnnl.matmul(
        example.engine,
        src=desc((M, K), "ab", "f8_e4m3"),
        weights=desc((K, N), "ba", "f8_e4m3"),
        dst=desc((M, N), "ab"),
        attr=attr,
    )


def main(example: Example) -> None:
    """Multiply, and convert the result to the MX format."""
    pd = make_matmul(example)
    src, src_scales, a = quantize(example, example.normal(M, K), "ab")
    weights, weights_scales, b = quantize(example, example.normal(N, K), "ba")
    scales = {"attr_scales_src": src_scales, "attr_scales_weights": weights_scales}
    actual = example.run(pd, src=src, weights=weights, **scales)["dst"]
    expected = a.astype("f8") @ b.T
    example.compare("product", actual, expected)
    dst, dst_scales, meant = quantize(example, example.values(actual), "ab")
    print(f"dst: {dst.desc}, scales: {dst_scales.desc}")
    example.compare("dst", meant, expected, 2**-3)


if __name__ == "__main__":
    run(main, __doc__)

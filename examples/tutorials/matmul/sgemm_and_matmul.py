# SPDX-License-Identifier: Apache-2.0
"""One matrix product primitive for all shapes and transpositions, like the function sgemm.

Counterpart of oneDNN's tutorials/matmul/cpu_sgemm_and_matmul.
"""

from _tutorial import Example, run

from sycl_dnn import onednn as dnnl

ANY = dnnl.RUNTIME_DIM_VAL
CASES = (("N", "T", 10, 20, 30, 1.1), ("T", "N", 7, 33, 64, -0.5), ("N", "N", 1, 1, 5, 2.0))


def make_matmul(example: Example) -> dnnl.PrimitiveDesc:
    """Return the product of matrices of any size and strides, times a factor."""
    attr = dnnl.PrimitiveAttr()
    attr.set_scales_mask("weights", 0)
    f32 = dnnl.data_type.f32
    operand = dnnl.MemoryDesc((ANY, ANY), f32, strides=(ANY, ANY))
    result = dnnl.MemoryDesc((ANY, ANY), f32, strides=(ANY, 1))
    return dnnl.matmul(example.engine, src=operand, weights=operand, dst=result, attr=attr)


def operand(example: Example, transposed: str, rows: int, columns: int) -> tuple:
    """Return a matrix (rows, columns) in NumPy and as memory, transposed in memory if requested."""
    stored = example.normal(*((columns, rows) if transposed == "T" else (rows, columns)))
    plain = example.memory(stored)
    if transposed != "T":
        return stored, plain
    layout = dnnl.MemoryDesc((rows, columns), dnnl.data_type.f32, "ba")
    return stored.T, dnnl.Memory(layout, example.engine, plain.to_array().ravel())


def main(example: Example) -> None:
    """Compute alpha * op(A) @ op(B) with one primitive descriptor; NumPy replaces sgemm."""
    pd = make_matmul(example)
    for trans_a, trans_b, m, n, k, alpha in CASES:
        a, src = operand(example, trans_a, m, k)
        b, weights = operand(example, trans_b, k, n)
        dst = example.empty(dnnl.MemoryDesc((m, n), dnnl.data_type.f32))
        actual = example.run(
            pd, src=src, weights=weights, dst=dst, attr_scales_weights=example.memory([alpha])
        )
        example.compare(f"{trans_a}{trans_b} {m}x{n}x{k}", actual["dst"], alpha * (a @ b))


if __name__ == "__main__":
    run(main, __doc__)

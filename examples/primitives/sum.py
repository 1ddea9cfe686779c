# SPDX-License-Identifier: Apache-2.0
"""Add ten tensors, each with its own factor.

Counterpart of oneDNN's primitives/sum.
"""

from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

N_SRC, SHAPE = 10, (3, 3, 227, 227)


def main(example: Example) -> None:
    """Compute the weighted sum; oneDNN creates the descriptor of the result."""
    srcs, scales = example.normal(N_SRC, *SHAPE), example.normal(N_SRC)
    pd = dnnl.sum(example.engine, scales=scales.tolist(), srcs=[desc(SHAPE, "nhwc") for _ in srcs])
    tensors = {f"multiple_src_{i}": example.memory(x, "nhwc") for i, x in enumerate(srcs)}
    expected = (scales.reshape(-1, 1, 1, 1, 1) * srcs.astype("f8")).sum(0)
    example.compare("dst", example.run(pd, **tensors)["dst"], expected)


if __name__ == "__main__":
    run(main, __doc__)

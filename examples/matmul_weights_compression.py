# SPDX-License-Identifier: Apache-2.0
"""Multiply with int8 weights that are mostly 0, packed by a reorder.

Counterpart of oneDNN's cpu_matmul_weights_compression.
"""

import numpy as np
from _example import Example, desc, run

from sycl_dnn import onednn as dnnl

M, K, N, DENSITY = 512, 512, 512, 0.1


def main(example: Example) -> None:
    """Pack once; the kernel unpacks in the cache. oneDNN has it only for CPUs with AMX."""
    src = example.rng.integers(-5, 6, (M, K)).astype("i1")
    weights = example.rng.integers(-5, 6, (K, N)).astype("i1")
    weights *= example.rng.random((K, N)) < DENSITY
    packed = dnnl.MemoryDesc.packed((K, N), dnnl.data_type.s8, int(np.count_nonzero(weights)))
    pd = dnnl.matmul(
        example.engine,
        src=desc((M, K), "ab", "s8"),
        weights=packed,
        dst=desc((M, N), "ab", "s32"),
    )
    print(f"packed: {pd.weights_desc.size} bytes, plain: {weights.size} bytes")
    actual = example.run(pd, src=example.memory(src), weights=example.memory(weights))
    example.compare("dst", actual["dst"], src.astype("i4") @ weights.astype("i4"), 0)


if __name__ == "__main__":
    run(main, __doc__)

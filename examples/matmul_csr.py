# SPDX-License-Identifier: Apache-2.0
"""Multiply a sparse matrix (CSR: compressed rows) with a dense one.

Counterpart of oneDNN's cpu_matmul_csr.
"""

import dpnp
import numpy as np
from _example import Example, desc, run

from sycl_dnn import onednn as dnnl

M, K, N, DENSITY = 64, 96, 48, 0.1
F32, S32 = dnnl.data_type.f32, dnnl.data_type.s32


def main(example: Example) -> None:
    """Build the tensor from three buffers: values, their columns, and where each row starts."""
    src = example.normal(M, K) * (example.rng.random((M, K)) < DENSITY)
    rows, columns = np.nonzero(src)
    starts = np.searchsorted(rows, np.arange(M + 1))
    sparse = dnnl.Memory(
        dnnl.MemoryDesc.csr((M, K), F32, len(rows), S32, S32),
        example.engine,
        [
            dpnp.asarray(x, sycl_queue=example.queue)
            for x in (src[rows, columns], columns.astype("i4"), starts.astype("i4"))
        ],
    )
    weights = example.normal(K, N)
    pd = dnnl.matmul(
        example.engine, src=sparse.desc, weights=desc((K, N), "ab"), dst=desc((M, N), "ab")
    )
    print(f"{len(rows)} of {src.size} values are not 0")
    actual = example.run(pd, src=sparse, weights=example.memory(weights))
    example.compare("dst", actual["dst"], src.astype("f8") @ weights)


if __name__ == "__main__":
    run(main, __doc__)

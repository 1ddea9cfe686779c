# SPDX-License-Identifier: Apache-2.0
"""Multiply a sparse matrix with a dense one, in two formats: COO (coordinates), CSR (rows).

Counterpart of oneDNN's cpu_matmul_coo and cpu_matmul_csr.
"""

import dpnp
import numpy as np
from _example import Example, desc, run

from sycl_dnn import onednn as dnnl

M, K, N, DENSITY = 64, 96, 48, 0.1
F32, S32 = dnnl.data_type.f32, dnnl.data_type.s32


def main(example: Example) -> None:
    """Build each tensor from three buffers: values, and two of indices."""
    src, weights = example.normal(M, K) * (example.rng.random((M, K)) < DENSITY), desc((K, N), "ab")
    rows, columns = np.nonzero(src)
    starts = np.searchsorted(rows, np.arange(M + 1))
    n = len(rows)
    print(f"{n} of {src.size} values are not 0")
    dense = example.normal(K, N)
    formats = {
        "coo": (dnnl.MemoryDesc.coo((M, K), F32, n, S32), (rows, columns)),
        "csr": (dnnl.MemoryDesc.csr((M, K), F32, n, S32, S32), (columns, starts)),
    }
    for name, (layout, indices) in formats.items():
        buffers = (src[rows, columns], *(i.astype("i4") for i in indices))
        on_device = [dpnp.asarray(b, sycl_queue=example.queue) for b in buffers]
        sparse = dnnl.Memory(layout, example.engine, on_device)
        pd = dnnl.matmul(example.engine, src=layout, weights=weights, dst=desc((M, N), "ab"))
        actual = example.run(pd, src=sparse, weights=example.memory(dense))
        example.compare(name, actual["dst"], src.astype("f8") @ dense)


if __name__ == "__main__":
    run(main, __doc__)

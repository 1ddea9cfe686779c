# SPDX-License-Identifier: Apache-2.0
"""Scale a product by a number on the host: no buffer, no copy to the device.

Counterpart of oneDNN's matmul_with_host_scalar_scale.
"""

import numpy as np
from _example import Example, desc, run

from sycl_dnn import onednn as dnnl

M, K, N, ALPHA = 3, 3, 3, 2.0


def main(example: Example) -> None:
    """Compute alpha * A @ B."""
    a = np.arange(1, M * K + 1, dtype="f4").reshape(M, K)
    b = np.add.outer(np.arange(K), np.arange(N)).astype("f4")
    attr = dnnl.PrimitiveAttr()
    attr.set_host_scale("src", dnnl.data_type.f32)
    pd = dnnl.matmul(
        example.engine,
        src=desc((M, K), "ab"),
        weights=desc((K, N), "ab"),
        dst=desc((M, N), "ab"),
        attr=attr,
    )
    actual = example.run(
        pd,
        src=example.memory(a),
        weights=example.memory(b),
        attr_scales_src=dnnl.Memory(dnnl.MemoryDesc.host_scalar(dnnl.data_type.f32), ALPHA),
    )
    example.compare("dst", actual["dst"], ALPHA * (a @ b))


if __name__ == "__main__":
    run(main, __doc__)

# SPDX-License-Identifier: Apache-2.0
"""Memory descriptors of all forms."""

from sycl_dnn import onednn as dnnl

T = dnnl.data_type
D = dnnl.MemoryDesc
F32 = T.f32
OPEN = dnnl.RUNTIME_DIM_VAL
FORMS = {
    "row-major": D((2, 3, 4), F32),
    "tag": D((2, 8, 4, 5), F32, "nhwc"),
    "blocked": D((2, 17, 4, 5), F32, "nChw16c"),
    "strides": D((2, 3), F32, strides=(8, 2)),
    "broadcast": D((2, 3), F32, strides=(0, 1)),
    "empty": D((2, 0), F32),
    "any": D((2, 3), F32, "any"),
    "runtime": D((OPEN, 3), F32, "ab"),
    "runtime strides": D((2, 3), F32, strides=(OPEN, 1)),
    "view": D((4, 6), F32).submemory_desc((2, 3), (1, 2)),
    "half bytes": D((3, 6), T.s4),
    "csr": D.csr((4, 6), F32, 5, T.s32, T.s32),
    "coo": D.coo((4, 6), F32, 5, T.s32),
    "packed": D.packed((4, 6), T.s8, 5),
    "host scalar": D.host_scalar(T.f16),
    "absent": D(),
}

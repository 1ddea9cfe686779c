# SPDX-License-Identifier: Apache-2.0
"""Memory descriptors of all forms; descriptors of primitives that a device may lack."""

import pytest

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


def require_isa(isa):
    """Skip a test that needs an instruction set that this CPU lacks."""
    has = dnnl.get_effective_cpu_isa()
    if has.value & dnnl.cpu_isa[isa.lower()].value != dnnl.cpu_isa[isa.lower()].value:
        pytest.skip(f"needs {isa.upper()}; this CPU has {has.name.upper()}")


def require(pd, engine, what):
    """Skip what oneDNN lacks on a GPU or a CPU without AVX-512; with AVX-512 it has everything."""
    if pd is None:
        isa = dnnl.get_effective_cpu_isa().name
        has_all = engine.kind is dnnl.engine_kind.cpu and isa.startswith("avx512")
        assert not has_all, f"oneDNN has {what} with {isa}"
        pytest.skip(f"oneDNN has no {what} on this {engine.kind.name} ({isa})")

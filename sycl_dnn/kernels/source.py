# SPDX-License-Identifier: Apache-2.0
"""The common prelude of OpenCL sources: vector loads and stores, and group reductions.

One source serves CPUs and GPUs. ``V`` is the number of elements per vector of a work-item, ``L``
the number of work-items per group: 1 on a CPU, where vectors are ``V`` wide.
"""

from __future__ import annotations

#: Loads and stores of elements by dtype: converted to float, or unchanged by ``COPY``.
_ELEMENTS = {
    "float32": """
typedef float element;
#define LOAD(i, p) GET(i, p)
#define STORE(v, i, p) PUT(v, i, p)
#define LOAD1(p, i) ((p)[i])
#define STORE1(v, p, i) ((p)[i] = (v))
#define COPY(i, p, q) PUT(GET(i, p), i, q)
""",
    "float16": """
typedef half element;
#define LOAD(i, p) JOIN(vload_half, V)(0, (p) + (i))
#define STORE(v, i, p) JOIN(vstore_half, V)(v, 0, (p) + (i))
#define LOAD1(p, i) vload_half(i, p)
#define STORE1(v, p, i) vstore_half(v, i, p)
#define COPY(i, p, q) PUT_BITS(GET_BITS(i, p), i, q)
""",
    "bfloat16": """
typedef ushort element;
#define LOAD(i, p) JOIN(as_float, V)(JOIN(convert_uint, V)(JOIN(vload, V)(0, (p) + (i))) << 16)
#define STORE(v, i, p) JOIN(vstore, V)(narrow(v), 0, (p) + (i))
#define LOAD1(p, i) as_float((uint)(p)[i] << 16)
#define STORE1(v, p, i) ((p)[i] = narrow1(v))
#define COPY(i, p, q) PUT_BITS(GET_BITS(i, p), i, q)
typedef JOIN(uint, V) bits;
JOIN(ushort, V) narrow(vector v) {
    const bits u = JOIN(as_uint, V)(v);
    const bits rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return JOIN(convert_ushort, V)(select(rounded, (bits)0x7fc0u, v != v));
}
ushort narrow1(float v) {
    const uint u = as_uint(v);
    return isnan(v) ? (ushort)0x7fc0 : (ushort)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
""",
}

_COMMON = """
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
typedef JOIN(float, V) vector;
#define GET(i, p) JOIN(vload, V)(0, (p) + (i))
#define PUT(v, i, p) JOIN(vstore, V)(v, 0, (p) + (i))
#define GET_BITS(i, p) JOIN(vload, V)(0, (__global const ushort *)(p) + (i))
#define PUT_BITS(v, i, p) JOIN(vstore, V)(v, 0, (__global ushort *)(p) + (i))
float sum8(float8 v) {
    const float4 a = v.lo + v.hi;
    const float2 b = a.lo + a.hi;
    return b.x + b.y;
}
#if V == 16
float sum(vector v) { return sum8(v.lo + v.hi); }
#else
float sum(vector v) { return sum8(v); }
#endif
#if L == 1
/* Else the driver also makes kernels of several groups at once, which takes it seconds. */
#define ONE_ITEM __attribute__((intel_reqd_sub_group_size(1)))
#define GROUP_MEMORY
#define group_sum(v) (v)
#else
#define ONE_ITEM
#define GROUP_MEMORY __local float shared[L]
#define group_sum(v) sum_of_group(v, shared)
float sum_of_group(float v, __local float *shared) {
    const int item = get_local_id(0);
    shared[item] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_of = L / 2; half_of; half_of /= 2) {
        if (item < half_of) shared[item] += shared[item + half_of];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float made = shared[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return made;
}
#endif
"""

#: The dtype-independent part.
_ITEMS = """
#define ITEM ((int)get_local_id(0))
// This work-item's columns, from c on, V of them at a time.
#define COLUMNS(n) for (int c = ITEM * V; c < n; c += L * V)
"""


def beginning(dtype: str, vector: int, items: int) -> str:
    """Return the prelude of a source for elements of ``dtype``.

    ``dtype``: {"float32", "bfloat16", "float16"}; ``vector``: {8, 16}; ``items``: work-items per
    group, a power of two.
    """
    return f"#define V {vector}\n#define L {items}\n{_COMMON}{_ELEMENTS[dtype]}{_ITEMS}"

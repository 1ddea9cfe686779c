// SPDX-License-Identifier: Apache-2.0
// In front of prefix.cl for GPUs with matrix units: functions that Intel's GPU compiler has, by
// the names under which oneDNN declares them. Conversions to bfloat16 round to nearest even.
#ifdef cl_future_bf16_cvt
static inline ushort executing_gpu_bf16(float x) {
    uint bits = as_uint(x);
    return isnan(x) ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
short __builtin_IB_ftobf_1(float x) { return as_short(executing_gpu_bf16(x)); }
float __builtin_IB_bftof_1(short x) { return as_float((uint)as_ushort(x) << 16); }
#define EXECUTING_GPU_BF16(n, half)                                                             \
    short##n __builtin_IB_ftobf_##n(float##n x) {                                               \
        return (short##n)(__builtin_IB_ftobf_##half(x.lo), __builtin_IB_ftobf_##half(x.hi));    \
    }                                                                                           \
    float##n __builtin_IB_bftof_##n(short##n x) {                                               \
        return (float##n)(__builtin_IB_bftof_##half(x.lo), __builtin_IB_bftof_##half(x.hi));    \
    }
EXECUTING_GPU_BF16(2, 1)
EXECUTING_GPU_BF16(4, 2)
EXECUTING_GPU_BF16(8, 4)
EXECUTING_GPU_BF16(16, 8)
#endif
#ifdef cl_intel_subgroup_matrix_multiply_accumulate
// A row of 32 bytes, four in each of the first 8 work-items, by a column of 32 in each work-item.
int __builtin_IB_sub_group_idpas_s8_s8_8_1(int sum, int row, int8 column) {
    const int bytes[8] = {column.s0, column.s1, column.s2, column.s3,
                          column.s4, column.s5, column.s6, column.s7};
    for (uint i = 0; i < 8; i++) {
        int4 product = convert_int4(as_char4(sub_group_broadcast(row, i))) *
                       convert_int4(as_char4(bytes[i]));
        sum += product.s0 + product.s1 + product.s2 + product.s3;
    }
    return sum;
}
#endif

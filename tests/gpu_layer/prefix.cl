// SPDX-License-Identifier: Apache-2.0
// In front of every OpenCL C source that is compiled for the GPU.
//
// GPUs form sub-groups of work-items that follow each other in a work-group of any shape, and oneDNN
// relies on it (local sizes such as 1x64). The CPU driver forms them along the first dimension only.
// So work-groups are launched flat, the shape they were meant to have travels as the global offset,
// and kernels compute from both what they ask for.
#ifndef EXECUTING_GPU_PREFIX
#define EXECUTING_GPU_PREFIX

static inline size_t __attribute__((overloadable)) executing_gpu_local_size(uint d) {
    return d < 3 ? get_global_offset(d) : 1;
}

static inline size_t __attribute__((overloadable)) executing_gpu_local_id(uint d) {
    size_t place = get_local_id(0), x = get_global_offset(0), y = get_global_offset(1);
    return d == 0 ? place % x : d == 1 ? place / x % y : d == 2 ? place / (x * y) : 0;
}

static inline size_t executing_gpu_linear_id(void) { return get_local_id(0); }

__kernel void executing_gpu_flat(void) {}

#define get_local_linear_id() executing_gpu_linear_id()
#define get_local_size(d) executing_gpu_local_size(d)
#define get_enqueued_local_size(d) executing_gpu_local_size(d)
#define get_local_id(d) executing_gpu_local_id(d)
#define get_global_id(d) (get_group_id(d) * executing_gpu_local_size(d) + executing_gpu_local_id(d))
#define get_global_size(d) (get_num_groups(d) * executing_gpu_local_size(d))
#define get_global_offset(d) ((size_t)0)
#define get_global_linear_id()                                                                  \
    (get_global_id(0) +                                                                         \
     get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2)))
#define reqd_work_group_size(x, y, z) reqd_work_group_size((x) * (y) * (z), 1, 1)

// oneDNN's softmax relies on sub-groups of 16 where a kernel names no size. Intel's compiler forms
// them for Arc, DG1 and Tiger Lake, a CPU without AVX-512 does not. What a kernel names comes
// first, and the first counts.
#define __kernel __attribute__((intel_reqd_sub_group_size(16))) __kernel
#define kernel __attribute__((intel_reqd_sub_group_size(16))) kernel

// Intel's GPU compiler has atomic minimum and maximum of floats, and oneDNN wants them.
#if __OPENCL_C_VERSION__ >= 200 && !defined(__opencl_c_ext_fp32_global_atomic_min_max)
#define EXECUTING_GPU_ATOMIC(name, is_better)                                                   \
    float __attribute__((overloadable)) name(volatile __global atomic_float *p, float x) {      \
        float old = atomic_load_explicit(p, memory_order_relaxed, memory_scope_device);         \
        while (is_better && !atomic_compare_exchange_strong_explicit(                           \
                                p, &old, x, memory_order_acq_rel, memory_order_relaxed,         \
                                memory_scope_device));                                          \
        return old;                                                                             \
    }
EXECUTING_GPU_ATOMIC(atomic_min_global, x < old)
EXECUTING_GPU_ATOMIC(atomic_max_global, x > old)
#endif

// How exact native functions are says nothing about a GPU's: take the exact ones.
#define native_exp exp
#define native_exp2 exp2
#define native_exp10 exp10
#define native_log log
#define native_log2 log2
#define native_log10 log10
#define native_sin sin
#define native_cos cos
#define native_tan tan
#define native_sqrt sqrt
#define native_rsqrt rsqrt
#define native_powr powr
#define native_recip(x) (1 / (x))
#define native_divide(x, y) ((x) / (y))
#endif
#line 1

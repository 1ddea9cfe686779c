// SPDX-License-Identifier: Apache-2.0
// What the files of the layer share. tests/executing_gpu.sh says what the layer is for.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The functions below this layer: the CPU driver's.
extern const cl_icd_dispatch *driver;

// From the environment, read once.
struct settings {
    const char *gpu;       // EXECUTING_GPU: xehp (default), none, arc, tgl, pvc or bmg
    const char *cache;     // EXECUTING_GPU_CACHE: folder of compiled kernels; none keeps nothing
    uint64_t cache_bytes;  // EXECUTING_GPU_CACHE_BYTES: what the folder may hold
    const char *dump;      // EXECUTING_GPU_DUMP: folder for each OpenCL C source with its options
    cl_uint devices;       // EXECUTING_GPU_DEVICES: 1 (default) or 2 GPUs of the same kind
    bool has_fp64;         // EXECUTING_GPU_FP64
    bool is_in_order;      // EXECUTING_GPU_IN_ORDER: every queue of the GPU
};
extern struct settings settings;

// EXECUTING_GPU_TRACE: a file, or anything without a slash for stderr.
bool is_traced(void);
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

// device.c: the platform and its devices, sub-devices of the CPU. The first is NULL without a CPU.
enum { MOST_GPUS = 2 };
const cl_device_id *gpu_devices(cl_uint *n);
cl_device_id gpu_device(void);
bool is_gpu_device(cl_device_id device);
bool gpu_has_matrix_units(void);
bool is_gpu_platform(cl_platform_id platform);
cl_platform_id driver_platform(cl_platform_id platform);
// How many, or 0 if the context has another device as well.
size_t gpus_of_context(cl_context context);

// kernel_cache.c: compiled programs in files.
#define CACHE_PATH 4096
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n);
void cache_path(char *path, uint64_t key);
cl_program cache_load(const char *path, cl_context context);
void cache_save(const char *path, cl_program program);

// programs.c: the program that was loaded from the cache in place of one, else itself.
cl_program built_program(cl_program program);
// A kernel of this name is in every program whose kernels are launched flat.
#define FLAT_MARK "executing_gpu_flat"

// How the source begins that stands for machine code.
#define MACHINE_CODE "// machine code\n"

// Each file enters its functions.
void enter_device(cl_icd_dispatch *table, const cl_icd_dispatch *own);
void enter_contexts(cl_icd_dispatch *table);
void enter_programs(cl_icd_dispatch *table);
void enter_kernels(cl_icd_dispatch *table);

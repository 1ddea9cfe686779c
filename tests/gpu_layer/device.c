// SPDX-License-Identifier: Apache-2.0
// The platform and the devices that the layer adds, and what they answer.
//
// A GPU is a sub-device of the CPU device with all its cores, and two are two such. The driver
// takes their handles everywhere, so only questions are answered here; the CPU device itself stays
// as it is.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "layer.h"

// Answers of Intel's GPU driver that older headers lack.
enum {
    SUB_GROUP_SIZES = 0x4108,
    SHARED_SYSTEM_MEMORY = 0x4194,
    IP_VERSION = 0x4250,
    DEVICE_ID,
    SLICES,
    SUB_SLICES_PER_SLICE,
    UNITS_PER_SUB_SLICE,
    THREADS_PER_UNIT,
    FEATURES,
};

// 8-bit dot products; matrix units, for which oneDNN compiles conversions of bfloat16 that they
// have.
enum { DOT_PRODUCTS = 1, MATRIX_UNITS = 2 };
static const size_t XE_SUB_GROUPS[] = {8, 16, 32}, XE_HPC_SUB_GROUPS[] = {16, 32};

// oneDNN has no machine code for the first two, so all that it chooses is OpenCL C, which can
// execute. For the others it chooses as for real ones, and what is machine code fails.
static const struct gpu {
    const char *key, *name;
    cl_uint ip_version, id, sub_slices, units, threads;
    size_t work_group;
    cl_bool shares_memory;
    cl_bitfield features;
    bool is_xe_hpc;  // or newer: no sub-groups of 8, twice the local memory
} GPUS[] = {
    {"xehp", "Intel Xe-HP GPU (executed by the CPU)", 12u << 22 | 50u << 14, 0x0201, 32, 16, 8,
     1024, CL_FALSE, DOT_PRODUCTS, false},
    {"none", "Intel GPU of no known kind (executed by the CPU)", 9u << 22, 0x1912, 3, 8, 7, 256,
     CL_TRUE, DOT_PRODUCTS, false},
    {"arc", "Intel Xe-HPG GPU (executed by the CPU)", 12u << 22 | 55u << 14 | 8, 0x56a0, 32, 16, 8,
     1024, CL_FALSE, DOT_PRODUCTS | MATRIX_UNITS, false},
    {"tgl", "Intel Xe-LP GPU (executed by the CPU)", 12u << 22, 0x9a49, 6, 16, 7, 512, CL_TRUE,
     DOT_PRODUCTS, false},
    {"pvc", "Intel Xe-HPC GPU (executed by the CPU)", 12u << 22 | 60u << 14 | 7, 0x0bd5, 128, 8, 8,
     1024, CL_FALSE, DOT_PRODUCTS | MATRIX_UNITS, true},
    {"bmg", "Intel Xe2-HPG GPU (executed by the CPU)", 20u << 22 | 1u << 14 | 4, 0xe20b, 20, 8, 8,
     1024, CL_FALSE, DOT_PRODUCTS | MATRIX_UNITS, true},
};
static const struct gpu *gpu = &GPUS[0];

// An object of the OpenCL interface begins with its functions.
static struct {
    const cl_icd_dispatch *functions;
} platform_object;
static cl_platform_id cpu_platform;
static cl_device_id devices[MOST_GPUS];
static cl_uint n_devices;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static cl_platform_id own_platform(void) { return (cl_platform_id)&platform_object; }

// All cores, or as many as the driver gives to a sub-device.
static cl_device_id all_cores(cl_device_id cpu) {
    cl_uint cores = 1;
    cl_device_id made = NULL;
    driver->clGetDeviceInfo(cpu, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof cores, &cores, NULL);
    for (cl_int status = CL_INVALID_VALUE; cores && status != CL_SUCCESS; cores--) {
        const cl_device_partition_property part[] = {CL_DEVICE_PARTITION_BY_COUNTS, cores,
                                                     CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
        cl_uint n = 0;
        status = driver->clCreateSubDevices(cpu, part, 1, &made, &n);
        trace("a sub-device of %u cores: status %d\n", cores, status);
        if (status != CL_SUCCESS) made = NULL;
    }
    return made;
}

static void find_devices(void) {
    cl_platform_id platforms[16];
    cl_uint n = 0;
    if (driver->clGetPlatformIDs(16, platforms, &n) != CL_SUCCESS) return;
    for (cl_uint i = 0; i < n && i < 16 && !n_devices; i++) {
        char vendor[64] = "";
        cl_device_id cpu = NULL;
        driver->clGetPlatformInfo(platforms[i], CL_PLATFORM_VENDOR, sizeof vendor, vendor, NULL);
        if (strstr(vendor, "Intel") &&
            driver->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &cpu, NULL) == CL_SUCCESS) {
            cpu_platform = platforms[i];
            while (n_devices < settings.devices && (devices[n_devices] = all_cores(cpu)))
                n_devices++;
        }
    }
}

const cl_device_id *gpu_devices(cl_uint *n) {
    pthread_once(&once, find_devices);
    if (n) *n = n_devices;
    return devices;
}

cl_device_id gpu_device(void) { return *gpu_devices(NULL); }

bool is_gpu_device(cl_device_id d) {
    for (cl_uint i = 0; i < n_devices; i++)
        if (d == devices[i]) return true;
    return false;
}

bool gpu_has_matrix_units(void) { return gpu->features & MATRIX_UNITS; }

bool is_gpu_platform(cl_platform_id platform) { return platform == own_platform(); }

cl_platform_id driver_platform(cl_platform_id platform) {
    return is_gpu_platform(platform) ? cpu_platform : platform;
}

static cl_int give(size_t size, void *value, size_t *size_ret, const void *data, size_t n) {
    if (size_ret) *size_ret = n;
    if (!value) return CL_SUCCESS;
    if (size < n) return CL_INVALID_VALUE;
    memcpy(value, data, n);
    return CL_SUCCESS;
}

static cl_int give_text(size_t size, void *value, size_t *size_ret, const char *text) {
    return give(size, value, size_ret, text, strlen(text) + 1);
}

static CL_API_ENTRY cl_int CL_API_CALL get_platform_ids(cl_uint n, cl_platform_id *platforms,
                                                        cl_uint *n_ret) {
    cl_uint below = 0;
    if (!gpu_device()) return driver->clGetPlatformIDs(n, platforms, n_ret);
    if (platforms && !n) return CL_INVALID_VALUE;
    cl_int status = driver->clGetPlatformIDs(0, NULL, &below);
    if (status == CL_SUCCESS && platforms) {
        status = driver->clGetPlatformIDs(n < below ? n : below, platforms, NULL);
        if (n > below) platforms[below] = own_platform();
    }
    if (n_ret) *n_ret = below + 1;
    return status;
}

static CL_API_ENTRY cl_int CL_API_CALL get_platform_info(cl_platform_id platform,
                                                         cl_platform_info what, size_t size,
                                                         void *value, size_t *size_ret) {
    if (is_gpu_platform(platform) && what == CL_PLATFORM_NAME)
        return give_text(size, value, size_ret, "Intel(R) OpenCL Graphics");
    return driver->clGetPlatformInfo(driver_platform(platform), what, size, value, size_ret);
}

static CL_API_ENTRY cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type,
                                                      cl_uint n, cl_device_id *found,
                                                      cl_uint *n_ret) {
    if (!is_gpu_platform(platform)) return driver->clGetDeviceIDs(platform, type, n, found, n_ret);
    const cl_uint fit = type & CL_DEVICE_TYPE_GPU       ? n_devices
                        : type & CL_DEVICE_TYPE_DEFAULT ? 1
                                                        : 0;
    for (cl_uint i = 0; found && i < fit && i < n; i++) found[i] = devices[i];
    if (n_ret) *n_ret = fit;
    return fit ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

// The driver's extensions, without arithmetic of doubles where the GPU has none.
static cl_int give_extensions(size_t size, void *value, size_t *size_ret) {
    static const char FP64[] = "cl_khr_fp64";
    char text[8192] = "";
    cl_int status =
        driver->clGetDeviceInfo(gpu_device(), CL_DEVICE_EXTENSIONS, sizeof text, text, NULL);
    char *found = status == CL_SUCCESS && !settings.has_fp64 ? strstr(text, FP64) : NULL;
    if (found) memset(found, ' ', sizeof FP64 - 1);
    return status == CL_SUCCESS ? give_text(size, value, size_ret, text) : status;
}

static CL_API_ENTRY cl_int CL_API_CALL get_device_info(cl_device_id d, cl_device_info what,
                                                       size_t size, void *value, size_t *size_ret) {
    if (!is_gpu_device(d)) return driver->clGetDeviceInfo(d, what, size, value, size_ret);
#define GIVE(type, v) return give(size, value, size_ret, &(const type){v}, sizeof(type))
    switch (what) {
        case CL_DEVICE_TYPE:
            GIVE(cl_device_type, CL_DEVICE_TYPE_GPU);
        case CL_DEVICE_NAME:
            return give_text(size, value, size_ret, gpu->name);
        case CL_DEVICE_PLATFORM:
            GIVE(cl_platform_id, own_platform());
        case CL_DEVICE_VENDOR_ID:
            GIVE(cl_uint, 0x8086);
        case CL_DEVICE_PARENT_DEVICE:
            GIVE(cl_device_id, NULL);
        case CL_DEVICE_PARTITION_TYPE:
            return give(size, value, size_ret, NULL, 0);
        case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
            GIVE(cl_uint, 0);
        case CL_DEVICE_PARTITION_PROPERTIES:
            GIVE(cl_device_partition_property, 0);
        case CL_DEVICE_HOST_UNIFIED_MEMORY:
            GIVE(cl_bool, gpu->shares_memory);
        case IP_VERSION:
            GIVE(cl_uint, gpu->ip_version);
        case DEVICE_ID:
            GIVE(cl_uint, gpu->id);
        case SLICES:
            GIVE(cl_uint, 1);
        case SUB_SLICES_PER_SLICE:
            GIVE(cl_uint, gpu->sub_slices);
        case UNITS_PER_SUB_SLICE:
            GIVE(cl_uint, gpu->units);
        case THREADS_PER_UNIT:
            GIVE(cl_uint, gpu->threads);
        case FEATURES:
            GIVE(cl_bitfield, gpu->features);
        case CL_DEVICE_MAX_COMPUTE_UNITS:
            GIVE(cl_uint, gpu->sub_slices * gpu->units);
        case CL_DEVICE_MAX_WORK_GROUP_SIZE:
            GIVE(size_t, gpu->work_group);
        case CL_DEVICE_MAX_WORK_ITEM_SIZES: {
            const size_t most[] = {gpu->work_group, gpu->work_group, gpu->work_group};
            return give(size, value, size_ret, most, sizeof most);
        }
        case CL_DEVICE_MAX_NUM_SUB_GROUPS:
            GIVE(cl_uint, (cl_uint)(gpu->work_group / (gpu->is_xe_hpc ? 16 : 8)));
        case SUB_GROUP_SIZES:
            if (gpu->is_xe_hpc)
                return give(size, value, size_ret, XE_HPC_SUB_GROUPS, sizeof XE_HPC_SUB_GROUPS);
            return give(size, value, size_ret, XE_SUB_GROUPS, sizeof XE_SUB_GROUPS);
        case CL_DEVICE_LOCAL_MEM_TYPE:
            GIVE(cl_device_local_mem_type, CL_LOCAL);
        case CL_DEVICE_LOCAL_MEM_SIZE:
            GIVE(cl_ulong, gpu->is_xe_hpc ? 131072 : 65536);
        case SHARED_SYSTEM_MEMORY:
            GIVE(cl_bitfield, 0);
        case CL_DEVICE_EXTENSIONS:
            return give_extensions(size, value, size_ret);
        case CL_DEVICE_DOUBLE_FP_CONFIG:
            if (!settings.has_fp64) GIVE(cl_device_fp_config, 0);
            break;
        case CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE:
        case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE:
            if (!settings.has_fp64) GIVE(cl_uint, 0);
            break;
        default:
            break;
    }
#undef GIVE
    cl_int status = driver->clGetDeviceInfo(d, what, size, value, size_ret);
    if (status != CL_SUCCESS) trace("clGetDeviceInfo 0x%x: status %d\n", what, status);
    return status;
}

static CL_API_ENTRY cl_int CL_API_CALL create_sub_devices(cl_device_id d,
                                                          const cl_device_partition_property *part,
                                                          cl_uint n, cl_device_id *made,
                                                          cl_uint *n_ret) {
    if (is_gpu_device(d)) return CL_DEVICE_PARTITION_FAILED;
    return driver->clCreateSubDevices(d, part, n, made, n_ret);
}

// Root devices are not counted, and these pass for such.
static CL_API_ENTRY cl_int CL_API_CALL retain_device(cl_device_id d) {
    return is_gpu_device(d) ? CL_SUCCESS : driver->clRetainDevice(d);
}

static CL_API_ENTRY cl_int CL_API_CALL release_device(cl_device_id d) {
    return is_gpu_device(d) ? CL_SUCCESS : driver->clReleaseDevice(d);
}

void enter_device(cl_icd_dispatch *table, const cl_icd_dispatch *own) {
    platform_object.functions = own;
    for (size_t i = 0; settings.gpu && i < sizeof GPUS / sizeof *GPUS; i++)
        if (!strcmp(GPUS[i].key, settings.gpu)) gpu = &GPUS[i];
    table->clGetPlatformIDs = get_platform_ids;
    table->clGetPlatformInfo = get_platform_info;
    table->clGetDeviceIDs = get_device_ids;
    table->clGetDeviceInfo = get_device_info;
    table->clCreateSubDevices = create_sub_devices;
    table->clRetainDevice = retain_device;
    table->clReleaseDevice = release_device;
}

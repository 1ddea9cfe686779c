// SPDX-License-Identifier: Apache-2.0
// The entry points that the OpenCL loader looks for in a library named by OPENCL_LAYERS.
#include "layer.h"

#include <CL/cl_layer.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_POINT __attribute__((visibility("default"))) CL_API_ENTRY

const cl_icd_dispatch *driver;
struct settings settings;

static cl_icd_dispatch table;
static FILE *traced;

bool is_traced(void) { return traced != NULL; }

void trace(const char *format, ...) {
    if (!traced) return;
    va_list arguments;
    va_start(arguments, format);
    flockfile(traced);
    fputs("executing_gpu: ", traced);
    vfprintf(traced, format, arguments);
    fflush(traced);
    funlockfile(traced);
    va_end(arguments);
}

static const char *text_of(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void read_settings(void) {
    const char *file = text_of("EXECUTING_GPU_TRACE"), *devices = text_of("EXECUTING_GPU_DEVICES"),
               *limit = text_of("EXECUTING_GPU_CACHE_BYTES");
    traced = !file ? NULL : strchr(file, '/') ? fopen(file, "a") : stderr;
    settings = (struct settings){
        .gpu = text_of("EXECUTING_GPU"),
        .cache = text_of("EXECUTING_GPU_CACHE"),
        .cache_bytes = limit ? strtoull(limit, NULL, 10) : 2ull << 30,
        .dump = text_of("EXECUTING_GPU_DUMP"),
        .devices = devices && !strcmp(devices, "2") ? MOST_GPUS : 1,
        .has_fp64 = text_of("EXECUTING_GPU_FP64"),
        .is_in_order = text_of("EXECUTING_GPU_IN_ORDER"),
    };
}

ENTRY_POINT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value,
                                              size_t *size_ret) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || (value && size < sizeof version)) return CL_INVALID_VALUE;
    if (value) memcpy(value, &version, sizeof version);
    if (size_ret) *size_ret = sizeof version;
    return CL_SUCCESS;
}

ENTRY_POINT cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *below, cl_uint *n_ret,
                                           const cl_icd_dispatch **above) {
    if (n < sizeof table / sizeof(void *)) return CL_INVALID_VALUE;
    driver = below;
    read_settings();
    enter_device(&table, below);
    enter_contexts(&table);
    enter_programs(&table);
    enter_kernels(&table);
    *n_ret = sizeof table / sizeof(void *);
    *above = &table;
    return CL_SUCCESS;
}

// Loaders since 2024 call this one; there are no properties yet.
ENTRY_POINT cl_int CL_API_CALL clInitLayerWithProperties(cl_uint n, const cl_icd_dispatch *below,
                                                         cl_uint *n_ret,
                                                         const cl_icd_dispatch **above,
                                                         const void *properties) {
    (void)properties;
    return clInitLayer(n, below, n_ret, above);
}

ENTRY_POINT cl_int CL_API_CALL clDeinitLayer(void) { return CL_SUCCESS; }

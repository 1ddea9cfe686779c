// SPDX-License-Identifier: Apache-2.0
// Programs of OpenCL C: the prefix in front, and the kernel cache in place of the compiler.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "layer.h"

// prefix.cl and matrix_units.cl as strings; the build names the folder.
__asm__(
    ".section .rodata\n"
    "prefix: .incbin \"" SOURCES
    "/prefix.cl\"\n"
    ".byte 0\n"
    "matrix_units: .incbin \"" SOURCES
    "/matrix_units.cl\"\n"
    ".byte 0\n"
    ".previous\n");
extern const char prefix[] __attribute__((visibility("hidden")));
extern const char matrix_units[] __attribute__((visibility("hidden")));

enum { MOST_TEXTS = 64 };
static const uint64_t FIRST_HASH = 0xcbf29ce484222325ull;

// A program made from source for the GPU, and the one loaded from the cache in its place.
static struct program {
    cl_program made, loaded;
    cl_context context;
    uint64_t hash;
    struct program *next;
} *programs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct program *known(cl_program program) {
    pthread_mutex_lock(&lock);
    struct program *p = programs;
    while (p && p->made != program) p = p->next;
    pthread_mutex_unlock(&lock);
    return p;
}

cl_program built_program(cl_program program) {
    const struct program *p = known(program);
    return p && p->loaded ? p->loaded : program;
}

// Binaries are those of one driver.
static uint64_t hash_of_driver(void) {
    char version[256] = "";
    driver->clGetDeviceInfo(gpu_device(), CL_DRIVER_VERSION, sizeof version, version, NULL);
    return hash_bytes(FIRST_HASH, version, strlen(version));
}

static void enter(cl_program program, cl_context context, uint64_t hash) {
    struct program *p = calloc(1, sizeof *p);
    if (!p) return;
    *p = (struct program){.made = program, .context = context, .hash = hash};
    pthread_mutex_lock(&lock);
    p->next = programs;
    programs = p;
    pthread_mutex_unlock(&lock);
}

static CL_API_ENTRY cl_program CL_API_CALL create_with_source(cl_context context, cl_uint n,
                                                              const char **texts,
                                                              const size_t *sizes, cl_int *status) {
    if (!gpus_of_context(context) || n > MOST_TEXTS)
        return driver->clCreateProgramWithSource(context, n, texts, sizes, status);
    const char *all[MOST_TEXTS + 2];
    size_t lengths[MOST_TEXTS + 2];
    cl_uint count = 0;
    if (gpu_has_matrix_units()) all[count++] = matrix_units;
    all[count++] = prefix;
    for (cl_uint i = 0; i < count; i++) lengths[i] = strlen(all[i]);
    for (cl_uint i = 0; i < n; i++, count++) {
        all[count] = texts[i];
        lengths[count] = sizes && sizes[i] ? sizes[i] : strlen(texts[i]);
    }
    cl_program program = driver->clCreateProgramWithSource(context, count, all, lengths, status);
    if (program && settings.cache && gpus_of_context(context) == 1) {
        uint64_t hash = hash_of_driver();
        for (cl_uint i = 0; i < count; i++) hash = hash_bytes(hash, all[i], lengths[i]);
        enter(program, context, hash);
    }
    return program;
}

// Whether a binary is machine code of Intel's GPUs, and for which kernel.
static bool is_machine_code(const unsigned char *elf, size_t size, char *name, size_t room) {
    enum { ELF_TYPE = 16, ELF_MACHINE = 18, ELF_HEADER = 64, INTEL_GPU = 205 };
    static const char SECTION[] = ".text.";
    cl_ushort type, machine;
    if (size < ELF_HEADER || memcmp(elf, "\177ELF", 4)) return false;
    memcpy(&type, elf + ELF_TYPE, sizeof type);
    memcpy(&machine, elf + ELF_MACHINE, sizeof machine);
    if (machine != INTEL_GPU && type != 0xff11 && type != 0xff12) return false;
    snprintf(name, room, "machine_code");
    const unsigned char *end = elf + size;
    for (const unsigned char *at = elf; (at = memmem(at, end - at, SECTION, 6)); at += 6)
        if (at[6]) snprintf(name, room, "%s", (const char *)at + 6);
    return true;
}

// An empty kernel in the place of machine code: running it fails (kernels.c).
static CL_API_ENTRY cl_program CL_API_CALL create_with_binary(cl_context context, cl_uint n,
                                                              const cl_device_id *devices,
                                                              const size_t *sizes,
                                                              const unsigned char **binaries,
                                                              cl_int *statuses, cl_int *status) {
    char name[256], text[320];
    if (n != 1 || !binaries || !binaries[0] || !gpus_of_context(context) ||
        !is_machine_code(binaries[0], sizes[0], name, sizeof name))
        return driver->clCreateProgramWithBinary(context, n, devices, sizes, binaries, statuses,
                                                 status);
    trace("machine code of %s cannot be executed\n", name);
    snprintf(text, sizeof text, MACHINE_CODE "kernel void %s(void) {}", name);
    const char *source = text;
    if (statuses) statuses[0] = CL_SUCCESS;
    return driver->clCreateProgramWithSource(context, 1, &source, NULL, status);
}

static CL_API_ENTRY cl_int CL_API_CALL release(cl_program program) {
    cl_uint references = 0;
    struct program *p = known(program);
    if (p) {
        driver->clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof references,
                                 &references, NULL);
        if (references == 1) {
            pthread_mutex_lock(&lock);
            struct program **at = &programs;
            while (*at != p) at = &(*at)->next;
            *at = p->next;
            pthread_mutex_unlock(&lock);
            if (p->loaded) driver->clReleaseProgram(p->loaded);
            free(p);
        }
    }
    return driver->clReleaseProgram(program);
}

static void dump_source(cl_program program, const char *options) {
    static int count;
    size_t n = 0;
    char path[CACHE_PATH];
    driver->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &n);
    char *text = n > 1 ? calloc(1, n + 1) : NULL;
    if (!text) return;
    driver->clGetProgramInfo(program, CL_PROGRAM_SOURCE, n, text, NULL);
    const int number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    snprintf(path, sizeof path, "%s/%d.%d.cl", settings.dump, (int)getpid(), number);
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "// %s\n%s", options, text);
        fclose(file);
    }
    free(text);
}

static void trace_log(cl_program program) {
    char log[8192] = "";
    driver->clGetProgramBuildInfo(program, gpu_device(), CL_PROGRAM_BUILD_LOG, sizeof log, log,
                                  NULL);
    trace("%s\n", log);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

// Options of Intel's GPU compiler alone, which SYCL gives: where registers are many, on Xe-HPC.
static char *without_options_of_gpus(const char *options) {
    static const char *const ALONE[] = {
        "-ze-intel-enable-auto-large-GRF-mode", "-ze-opt-large-register-file",
        "-cl-intel-enable-auto-large-GRF-mode", "-cl-intel-256-GRF-per-thread",
        "-cl-intel-128-GRF-per-thread"};
    char *left = strdup(options ? options : "");
    for (size_t i = 0; left && i < sizeof ALONE / sizeof *ALONE; i++)
        for (char *at; (at = strstr(left, ALONE[i]));) memset(at, ' ', strlen(ALONE[i]));
    return left;
}

static cl_int build_cached(cl_program program, cl_uint n, const cl_device_id *devices,
                           const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                           void *data) {
    const double start = now();
    char path[CACHE_PATH];
    struct program *p = notify ? NULL : known(program);
    if (p) {
        cache_path(path, hash_bytes(p->hash, options, strlen(options)));
        p->loaded = cache_load(path, p->context);
        if (p->loaded) return CL_SUCCESS;
    }
    if (settings.dump) dump_source(program, options);
    const cl_int status = driver->clBuildProgram(program, n, devices, options, notify, data);
    if (p && status == CL_SUCCESS) cache_save(path, program);
    trace("compiled in %.3f s, status %d, options %s\n", now() - start, status, options);
    if (is_traced() && status != CL_SUCCESS) trace_log(program);
    return status;
}

static CL_API_ENTRY cl_int CL_API_CALL build(cl_program program, cl_uint n,
                                             const cl_device_id *devices, const char *options,
                                             void(CL_CALLBACK *notify)(cl_program, void *),
                                             void *data) {
    char *left = without_options_of_gpus(options);
    if (!left) return CL_OUT_OF_HOST_MEMORY;
    const cl_int status = build_cached(program, n, devices, left, notify, data);
    free(left);
    return status;
}

static CL_API_ENTRY cl_int CL_API_CALL get_info(cl_program program, cl_program_info what,
                                                size_t size, void *value, size_t *size_ret) {
    switch (what) {
        case CL_PROGRAM_BINARIES:
        case CL_PROGRAM_BINARY_SIZES:
        case CL_PROGRAM_KERNEL_NAMES:
        case CL_PROGRAM_NUM_KERNELS:
            program = built_program(program);
            break;
        default:
            break;
    }
    return driver->clGetProgramInfo(program, what, size, value, size_ret);
}

static CL_API_ENTRY cl_int CL_API_CALL get_build_info(cl_program program, cl_device_id d,
                                                      cl_program_build_info what, size_t size,
                                                      void *value, size_t *size_ret) {
    return driver->clGetProgramBuildInfo(built_program(program), d, what, size, value, size_ret);
}

void enter_programs(cl_icd_dispatch *table) {
    table->clCreateProgramWithSource = create_with_source;
    table->clCreateProgramWithBinary = create_with_binary;
    table->clReleaseProgram = release;
    table->clBuildProgram = build;
    table->clGetProgramInfo = get_info;
    table->clGetProgramBuildInfo = get_build_info;
}

// SPDX-License-Identifier: Apache-2.0
// Kernels: flat work-groups (prefix.cl says why), and scalars of another size.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"

enum { BUCKETS = 4096, WIDEST_SCALAR = 64 };

// The kernels that are launched flat. A handle that is released may come back as another kernel.
static struct entry {
    cl_kernel kernel;
    struct entry *next;
} *flat_kernels[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry **place_of(cl_kernel kernel) {
    struct entry **at = &flat_kernels[((size_t)kernel >> 4) % BUCKETS];
    while (*at && (*at)->kernel != kernel) at = &(*at)->next;
    return at;
}

static bool is_flat(cl_kernel kernel) {
    pthread_mutex_lock(&lock);
    const bool found = *place_of(kernel);
    pthread_mutex_unlock(&lock);
    return found;
}

static void enter_flat(cl_kernel kernel) {
    struct entry *made = malloc(sizeof *made);
    if (!made) return;
    *made = (struct entry){.kernel = kernel};
    pthread_mutex_lock(&lock);
    struct entry **at = place_of(kernel);
    if (*at)
        free(made);
    else
        *at = made;
    pthread_mutex_unlock(&lock);
}

static void forget(cl_kernel kernel) {
    pthread_mutex_lock(&lock);
    struct entry **at = place_of(kernel), *found = *at;
    if (found) *at = found->next;
    pthread_mutex_unlock(&lock);
    free(found);
}

static bool has_mark(cl_program program) {
    size_t n = 0;
    driver->clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &n);
    char *names = n ? calloc(1, n + 1) : NULL;
    if (!names) return false;
    driver->clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, n, names, NULL);
    const bool found = strstr(names, FLAT_MARK);
    free(names);
    return found;
}

static CL_API_ENTRY cl_kernel CL_API_CALL create(cl_program program, const char *name,
                                                 cl_int *status) {
    program = built_program(program);
    cl_kernel kernel = driver->clCreateKernel(program, name, status);
    if (kernel && has_mark(program)) enter_flat(kernel);
    return kernel;
}

static CL_API_ENTRY cl_int CL_API_CALL create_all(cl_program program, cl_uint n, cl_kernel *made,
                                                  cl_uint *n_ret) {
    program = built_program(program);
    cl_uint count = 0;
    const cl_int status = driver->clCreateKernelsInProgram(program, n, made, &count);
    if (status == CL_SUCCESS && made && has_mark(program))
        for (cl_uint i = 0; i < count; i++) enter_flat(made[i]);
    if (n_ret) *n_ret = count;
    return status;
}

static CL_API_ENTRY cl_kernel CL_API_CALL clone(cl_kernel kernel, cl_int *status) {
    cl_kernel made = driver->clCloneKernel(kernel, status);
    if (made && is_flat(kernel)) enter_flat(made);
    return made;
}

static CL_API_ENTRY cl_int CL_API_CALL release(cl_kernel kernel) {
    cl_uint references = 0;
    driver->clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof references, &references,
                            NULL);
    if (references == 1) forget(kernel);
    return driver->clReleaseKernel(kernel);
}

static void trace_launch(cl_kernel kernel, cl_uint n, const size_t *global, const size_t *local,
                         cl_int status) {
    char name[256] = "";
    size_t sizes[6] = {1, 1, 1};
    for (cl_uint i = 0; i < n; i++) {
        sizes[i] = global[i];
        sizes[i + 3] = local ? local[i] : 0;
    }
    driver->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    trace("run %.80s: %zux%zux%zu in groups of %zux%zux%zu, status %d\n", name, sizes[0], sizes[1],
          sizes[2], sizes[3], sizes[4], sizes[5], status);
}

// The shape of work-groups where the program leaves it to the driver.
static size_t free_size(size_t global) {
    size_t size = 64;
    while (global % size) size--;
    return size;
}

static cl_int run(cl_command_queue queue, cl_kernel kernel, cl_uint n, const size_t *offset,
                  const size_t *global, const size_t *local, cl_uint n_wait, const cl_event *wait,
                  cl_event *event) {
    if (!is_flat(kernel))
        return driver->clEnqueueNDRangeKernel(queue, kernel, n, offset, global, local, n_wait, wait,
                                              event);
    size_t shape[3] = {1, 1, 1}, items[3] = {1, 1, 1};
    for (cl_uint i = 0; i < n; i++) {
        shape[i] = local ? local[i] : i ? 1 : free_size(global[0]);
        if (!shape[i] || global[i] % shape[i] || (offset && offset[i]))
            return CL_INVALID_WORK_GROUP_SIZE;
        items[i] = global[i] / shape[i];
    }
    const size_t group[3] = {shape[0] * shape[1] * shape[2], 1, 1};
    items[0] *= group[0];
    return driver->clEnqueueNDRangeKernel(queue, kernel, 3, shape, items, group, n_wait, wait,
                                          event);
}

// An empty kernel stands for machine code (programs.c). SYCL's users may set arguments by number
// without hearing that there are none: oneMKL takes an empty run for a success.
static bool is_machine_code(cl_kernel kernel) {
    cl_uint n_arguments = 1;
    driver->clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n_arguments, &n_arguments, NULL);
    if (n_arguments) return false;
    cl_program program = NULL;
    size_t size = 0;
    driver->clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    driver->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size);
    char *text = calloc(1, size + sizeof MACHINE_CODE);
    if (!text) return false;
    driver->clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, text, NULL);
    const bool found = !memcmp(text, MACHINE_CODE, sizeof MACHINE_CODE - 1);
    free(text);
    return found;
}

static CL_API_ENTRY cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint n,
                                               const size_t *offset, const size_t *global,
                                               const size_t *local, cl_uint n_wait,
                                               const cl_event *wait, cl_event *event) {
    if (!kernel || !global || n < 1 || n > 3)
        return driver->clEnqueueNDRangeKernel(queue, kernel, n, offset, global, local, n_wait, wait,
                                              event);
    const cl_int status = is_machine_code(kernel)
                              ? CL_INVALID_KERNEL
                              : run(queue, kernel, n, offset, global, local, n_wait, wait, event);
    if (is_traced()) trace_launch(kernel, n, global, local, status);
    return status;
}

// Intel's GPU driver takes scalars of another size, and oneMKL and oneDNN rely on it.
static CL_API_ENTRY cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint i, size_t size,
                                                    const void *value) {
    cl_int status = driver->clSetKernelArg(kernel, i, size, value);
    if (status != CL_INVALID_ARG_SIZE || !value || size > WIDEST_SCALAR) return status;
    char padded[WIDEST_SCALAR] = {0};
    memcpy(padded, value, size);
    for (size_t other = 1; other <= WIDEST_SCALAR && status == CL_INVALID_ARG_SIZE; other *= 2)
        status = driver->clSetKernelArg(kernel, i, other, padded);
    trace("argument %u given in %zu bytes: status %d\n", i, size, status);
    return status;
}

void enter_kernels(cl_icd_dispatch *table) {
    table->clCreateKernel = create;
    table->clCreateKernelsInProgram = create_all;
    table->clCloneKernel = clone;
    table->clReleaseKernel = release;
    table->clEnqueueNDRangeKernel = enqueue;
    table->clSetKernelArg = set_argument;
}

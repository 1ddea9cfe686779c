// SPDX-License-Identifier: Apache-2.0
// Contexts and queues: the driver sees its own platform where a program names the layer's.
#include <string.h>

#include "layer.h"

enum { MOST_PROPERTIES = 64 };
typedef void(CL_CALLBACK *on_error)(const char *, const void *, size_t, void *);

// Returns how many entries were copied, the final zero not counted.
static size_t for_driver(const cl_context_properties *given, cl_context_properties *properties) {
    size_t n = 0;
    for (; given && given[n] && n + 3 < MOST_PROPERTIES; n += 2) {
        const bool is_platform = given[n] == CL_CONTEXT_PLATFORM;
        properties[n] = given[n];
        properties[n + 1] =
            is_platform ? (cl_context_properties)driver_platform((cl_platform_id)given[n + 1])
                        : given[n + 1];
    }
    properties[n] = 0;
    return n;
}

static CL_API_ENTRY cl_context CL_API_CALL create_context(const cl_context_properties *given,
                                                          cl_uint n, const cl_device_id *devices,
                                                          on_error notify, void *data,
                                                          cl_int *status) {
    cl_context_properties properties[MOST_PROPERTIES];
    for_driver(given, properties);
    return driver->clCreateContext(given ? properties : NULL, n, devices, notify, data, status);
}

static CL_API_ENTRY cl_context CL_API_CALL
create_context_from_type(const cl_context_properties *given, cl_device_type type, on_error notify,
                         void *data, cl_int *status) {
    cl_context_properties properties[MOST_PROPERTIES];
    const size_t n = for_driver(given, properties);
    for (size_t i = 0; i < n; i += 2)
        if (given[i] == CL_CONTEXT_PLATFORM && is_gpu_platform((cl_platform_id)given[i + 1])) {
            cl_uint n_gpus;
            const cl_device_id *gpus = gpu_devices(&n_gpus);
            return driver->clCreateContext(properties, n_gpus, gpus, notify, data, status);
        }
    return driver->clCreateContextFromType(given ? properties : NULL, type, notify, data, status);
}

size_t gpus_of_context(cl_context context) {
    cl_device_id devices[8];
    size_t size = 0;
    if (driver->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &size) !=
        CL_SUCCESS)
        return 0;
    const size_t n = size / sizeof *devices;
    for (size_t i = 0; i < n; i++)
        if (!is_gpu_device(devices[i])) return 0;
    return n;
}

static CL_API_ENTRY cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id d,
                                                              const cl_queue_properties *given,
                                                              cl_int *status) {
    cl_queue_properties properties[MOST_PROPERTIES];
    size_t n = 0;
    const bool is_changed = settings.is_in_order && is_gpu_device(d);
    for (; is_changed && given && given[n] && n + 3 < MOST_PROPERTIES; n += 2) {
        const cl_queue_properties dropped =
            given[n] == CL_QUEUE_PROPERTIES ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
        properties[n] = given[n];
        properties[n + 1] = given[n + 1] & ~dropped;
    }
    properties[n] = 0;
    return driver->clCreateCommandQueueWithProperties(context, d, n ? properties : given, status);
}

typedef cl_int(CL_API_CALL *copy_function)(cl_command_queue, cl_bool, void *, const void *, size_t,
                                           cl_uint, const cl_event *, cl_event *);
static copy_function driver_copy;

// Intel's GPU driver takes a copy of memory onto itself, and oneDNN's sum in place asks for one.
static CL_API_ENTRY cl_int CL_API_CALL copy(cl_command_queue queue, cl_bool blocks, void *to,
                                            const void *from, size_t size, cl_uint n_wait,
                                            const cl_event *wait, cl_event *event) {
    // Between two GPUs SYCL copies through the host, and frees what it copies through after the
    // first half. That waits for the second on GPUs, and not on the CPU: here the copies wait.
    const cl_bool is_waited_for = blocks || settings.devices > 1;
    if (to != from || blocks)
        return driver_copy(queue, is_waited_for, to, from, size, n_wait, wait, event);
    return driver->clEnqueueMarkerWithWaitList(queue, n_wait, wait, event);
}

static CL_API_ENTRY void *CL_API_CALL get_extension_function(cl_platform_id platform,
                                                             const char *name) {
    void *found = driver->clGetExtensionFunctionAddressForPlatform(driver_platform(platform), name);
    if (!found || !is_gpu_platform(platform) || strcmp(name, "clEnqueueMemcpyINTEL")) return found;
    driver_copy = (copy_function)found;
    return (void *)copy;
}

static CL_API_ENTRY cl_int CL_API_CALL unload_compiler(cl_platform_id platform) {
    return driver->clUnloadPlatformCompiler(driver_platform(platform));
}

void enter_contexts(cl_icd_dispatch *table) {
    table->clCreateContext = create_context;
    table->clCreateContextFromType = create_context_from_type;
    table->clCreateCommandQueueWithProperties = create_queue;
    table->clGetExtensionFunctionAddressForPlatform = get_extension_function;
    table->clUnloadPlatformCompiler = unload_compiler;
}

// SPDX-License-Identifier: Apache-2.0
// Stands before Debian's Level Zero driver (22.43) and adds what oneDNN and SYCL ask of newer ones.
//
// The loader takes this library for the driver; all that is not here goes on to the driver. That
// one executes nothing when it simulates: its waits return at once, but its queries read what no
// GPU ever wrote, so those are answered here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ze_api.h"
#include "ze_ddi.h"

#define UNUSED __attribute__((unused))

// --- The driver's functions that those here call

static ze_pfnInit_t init;
static ze_pfnDriverGet_t get_drivers;
static ze_pfnDeviceGet_t get_devices;
static ze_pfnDeviceGetSubDevices_t get_tiles;
static ze_pfnDeviceGetProperties_t get_device_properties;

// --- Tiles as devices: ZE_FLAT_DEVICE_HIERARCHY, which is newer than this driver

#define MOST_DEVICES 64

// FLAT shows tiles, and no whole GPU; COMBINED tiles, which tell their GPU; anything else GPUs.
static int hierarchy(const char *mode) {
    const char *asked = getenv("ZE_FLAT_DEVICE_HIERARCHY");
    return asked && !strcmp(asked, mode);
}

static int shows_tiles(void) { return hierarchy("FLAT") || hierarchy("COMBINED"); }

static ze_device_handle_t gpu_of[MOST_DEVICES], shown[MOST_DEVICES];
static uint32_t n_shown;

// The driver wants to be asked for the number first.
static uint32_t list_gpus(ze_driver_handle_t driver, ze_device_handle_t *gpus) {
    uint32_t count = 0;
    if (get_devices(driver, &count, NULL) || count > MOST_DEVICES) return 0;
    return get_devices(driver, &count, gpus) ? 0 : count;
}

static uint32_t list_tiles(ze_device_handle_t gpu, ze_device_handle_t *tiles, uint32_t most) {
    uint32_t count = 0;
    if (get_tiles(gpu, &count, NULL) || !count || count > most) return 0;
    return get_tiles(gpu, &count, tiles) ? 0 : count;
}

static void list_shown(ze_driver_handle_t driver) {
    ze_device_handle_t gpus[MOST_DEVICES];
    uint32_t n_gpus = list_gpus(driver, gpus);
    for (uint32_t i = 0; i < n_gpus && n_shown < MOST_DEVICES; i++) {
        uint32_t n_tiles = list_tiles(gpus[i], shown + n_shown, MOST_DEVICES - n_shown);
        if (!n_tiles) shown[n_shown + n_tiles++] = gpus[i];
        for (; n_tiles; n_tiles--) gpu_of[n_shown++] = gpus[i];
    }
}

static ze_result_t devices(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *found) {
    if (!shows_tiles()) return get_devices(driver, count, found);
    if (!n_shown) list_shown(driver);
    uint32_t given = *count && *count < n_shown ? *count : n_shown;
    if (found && *count) memcpy(found, shown, given * sizeof(*found));
    *count = given;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t root_device(ze_device_handle_t device, ze_device_handle_t *root) {
    *root = NULL;
    for (uint32_t i = 0; i < n_shown && hierarchy("COMBINED"); i++)
        if (shown[i] == device && gpu_of[i] != device) *root = gpu_of[i];
    return ZE_RESULT_SUCCESS;
}

// --- What else the driver has not yet

static ze_result_t init_drivers(uint32_t *count, ze_driver_handle_t *drivers,
                                UNUSED ze_init_driver_type_desc_t *desc) {
    ze_result_t status = init(0);
    return status ? status : get_drivers(count, drivers);
}

static uint32_t ip_version(void) {
    const char *family = getenv("ProductFamilyOverride");
    uint32_t release = family && !strcmp(family, "dg2")   ? 55u << 14 | 8
                       : family && !strcmp(family, "dg1") ? 10u << 14
                                                          : 0;
    return 12u << 22 | release;
}

static ze_result_t device_properties(ze_device_handle_t device, ze_device_properties_t *asked) {
    ze_result_t status = get_device_properties(device, asked);
    for (ze_base_properties_t *next = asked->pNext; next && !status; next = next->pNext) {
        if (next->stype == ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT)
            ((ze_device_ip_version_ext_t *)next)->ipVersion = ip_version();
    }
    if (hierarchy("FLAT"))
        asked->flags &= ~(ze_device_property_flags_t)ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
    return status;
}

// --- What it takes from a GPU

static ze_result_t timestamps(UNUSED ze_device_handle_t device, uint64_t *host, uint64_t *gpu) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    *host = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    *gpu = *host / 52;  // 19.2 MHz
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_timestamps(UNUSED ze_event_handle_t event,
                                     ze_kernel_timestamp_result_t *result) {
    uint64_t host, gpu;
    timestamps(NULL, &host, &gpu);
    result->global.kernelStart = result->context.kernelStart = (gpu - 1) & 0xffffffff;
    result->global.kernelEnd = result->context.kernelEnd = gpu & 0xffffffff;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t event_done(UNUSED ze_event_handle_t event) { return ZE_RESULT_SUCCESS; }

static ze_result_t fence_done(UNUSED ze_fence_handle_t fence) { return ZE_RESULT_SUCCESS; }

static ze_result_t list_done(UNUSED ze_command_list_handle_t list, UNUSED uint64_t timeout) {
    return ZE_RESULT_SUCCESS;
}

static ze_result_t resident(UNUSED ze_context_handle_t context, UNUSED ze_device_handle_t device,
                            UNUSED void *address, UNUSED size_t size) {
    return ZE_RESULT_SUCCESS;
}

// --- The driver's tables, with these functions in them

#define TABLE(name, type, changes)                                                               \
    __attribute__((visibility("default"))) ze_result_t name(ze_api_version_t version, type *t) { \
        ze_result_t (*driver)(ze_api_version_t, type *) = dlsym(RTLD_NEXT, #name);               \
        ze_result_t status = driver(version, t);                                                 \
        if (!status) changes;                                                                    \
        return status;                                                                           \
    }

TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t,
      (init = t->pfnInit, t->pfnInitDrivers = init_drivers))
TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t, (get_drivers = t->pfnGet))
TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t,
      (get_device_properties = t->pfnGetProperties, t->pfnGetProperties = device_properties,
       get_devices = t->pfnGet, t->pfnGet = devices, get_tiles = t->pfnGetSubDevices,
       t->pfnGetRootDevice = root_device, t->pfnGetGlobalTimestamps = timestamps))
TABLE(zeGetContextProcAddrTable, ze_context_dditable_t,
      (t->pfnMakeMemoryResident = resident, t->pfnEvictMemory = resident))
TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t,
      (t->pfnHostSynchronize = list_done))
TABLE(zeGetEventProcAddrTable, ze_event_dditable_t,
      (t->pfnQueryStatus = event_done, t->pfnQueryKernelTimestamp = kernel_timestamps))
TABLE(zeGetFenceProcAddrTable, ze_fence_dditable_t, (t->pfnQueryStatus = fence_done))

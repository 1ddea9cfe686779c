// SPDX-License-Identifier: Apache-2.0
// Compiled programs in files: one folder that several processes may share.
//
// Compiling takes about a second, loading some milliseconds. A file appears by renaming, so it is
// whole or absent; the ones that were used longest ago go when the folder holds too much.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layer.h"

static const char ENDING[] = ".kernels";

// FNV-1a.
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n) {
    for (const unsigned char *b = bytes; n; n--) hash = (hash ^ *b++) * 0x100000001b3ull;
    return hash;
}

void cache_path(char *path, uint64_t key) {
    snprintf(path, CACHE_PATH, "%s/%016llx%s", settings.cache, (unsigned long long)key, ENDING);
}

cl_program cache_load(const char *path, cl_context context) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    struct stat facts;
    fstat(fileno(file), &facts);
    const size_t size = facts.st_size;
    unsigned char *bytes = malloc(size + 1);
    const bool is_whole = bytes && fread(bytes, 1, size, file) == size;
    futimens(fileno(file), NULL);
    fclose(file);
    cl_program program = NULL;
    const cl_device_id device = gpu_device();
    cl_int status = CL_INVALID_BINARY;
    if (is_whole)
        program = driver->clCreateProgramWithBinary(context, 1, &device, &size,
                                                    (const unsigned char **)&bytes, NULL, &status);
    free(bytes);
    if (program && driver->clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS)
        return program;
    if (program) driver->clReleaseProgram(program);
    return NULL;
}

struct entry {
    char name[64];
    struct timespec used;
    uint64_t size;
};

static int by_use(const void *a, const void *b) {
    const struct timespec x = ((const struct entry *)a)->used, y = ((const struct entry *)b)->used;
    if (x.tv_sec != y.tv_sec) return x.tv_sec < y.tv_sec ? -1 : 1;
    return (x.tv_nsec > y.tv_nsec) - (x.tv_nsec < y.tv_nsec);
}

// Another process may do the same at the same time: a file that is gone already is no error.
static void trim(void) {
    DIR *folder = opendir(settings.cache);
    if (!folder) return;
    struct entry *entries = NULL;
    size_t n = 0, room = 0;
    uint64_t total = 0;
    for (struct dirent *d; (d = readdir(folder));) {
        struct stat facts;
        const size_t length = strlen(d->d_name);
        if (length >= sizeof entries->name || length < sizeof ENDING ||
            strcmp(d->d_name + length - (sizeof ENDING - 1), ENDING) ||
            fstatat(dirfd(folder), d->d_name, &facts, 0))
            continue;
        if (n == room) {
            struct entry *more = realloc(entries, (room = 2 * room + 256) * sizeof *entries);
            if (!more) break;
            entries = more;
        }
        entries[n] = (struct entry){.used = facts.st_mtim, .size = facts.st_size};
        strcpy(entries[n].name, d->d_name);
        total += entries[n++].size;
    }
    if (total > settings.cache_bytes) {
        qsort(entries, n, sizeof *entries, by_use);
        for (size_t i = 0; i < n && total > settings.cache_bytes; i++) {
            unlinkat(dirfd(folder), entries[i].name, 0);
            total -= entries[i].size;
        }
    }
    free(entries);
    closedir(folder);
}

void cache_save(const char *path, cl_program program) {
    size_t size = 0;
    driver->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    unsigned char *bytes = size ? malloc(size) : NULL;
    if (!bytes) return;
    char temporary[CACHE_PATH + 64];
    snprintf(temporary, sizeof temporary, "%s.%d.%p", path, (int)getpid(), (void *)program);
    FILE *file = NULL;
    if (driver->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL) ==
        CL_SUCCESS)
        file = fopen(temporary, "wb");
    if (file) {
        const bool is_written = fwrite(bytes, 1, size, file) == size;
        if (fclose(file) || !is_written || rename(temporary, path)) unlink(temporary);
        trim();
    }
    free(bytes);
}

// SPDX-License-Identifier: Apache-2.0
// oneCCL's C interface, loaded at run time: building does not require oneCCL.
#pragma once

#include <climits>
#include <cstddef>
#include <string>

namespace sycl_dnn {

// The parts of oneapi/ccl.h that are used, by value: the interface is NCCL's and stable.
namespace ccl {

struct unique_id {
    char data[4096];
};
struct opaque;
using communicator = opaque *;

struct config {
    size_t size = sizeof(config);
    unsigned magic = 0xcafebeef, version = 20220100;
    int unset[4] = {INT_MIN, INT_MIN, INT_MIN, INT_MIN};
    const char *net = nullptr;
    int split = INT_MIN, threads = INT_MIN;
    unsigned plugin = 0;
};

struct functions {
    int (*get_unique_id)(unique_id *);
    int (*set_device)(int);
    int (*init)(communicator *, size_t, unique_id, int, const config *);
    int (*finalize)(communicator);
    int (*destroy)(communicator);
    const char *(*error_string)(int);
    int (*all_reduce)(const void *, void *, size_t, int, int, communicator, void *);
    int (*reduce)(const void *, void *, size_t, int, int, int, communicator, void *);
    int (*broadcast)(const void *, void *, size_t, int, int, communicator, void *);
    int (*reduce_scatter)(const void *, void *, size_t, int, int, communicator, void *);
    int (*all_gather)(const void *, void *, size_t, int, communicator, void *);
    int (*all_to_all)(const void *, void *, size_t, int, communicator, void *);
};

// Opens the library at `path`.
void open(const std::string &path);
// Throws std::runtime_error before `open`.
const functions &api();
// Throws std::runtime_error with oneCCL's message unless `status` is 0.
void check(int status, const std::string &context);

}  // namespace ccl

}  // namespace sycl_dnn

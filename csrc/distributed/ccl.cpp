// SPDX-License-Identifier: Apache-2.0
#include "distributed/ccl.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace sycl_dnn::ccl {

static functions loaded_functions;
static bool is_ccl_open = false;

template <class Function>
static void find(void *library, Function &function, const char *name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function) throw std::runtime_error(std::string("oneCCL lacks ") + name);
}

void open(const std::string &path) {
    if (is_ccl_open) return;
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) throw std::runtime_error(std::string("oneCCL cannot be opened: ") + dlerror());
    functions &f = loaded_functions;
    find(library, f.get_unique_id, "onecclGetUniqueId");
    find(library, f.set_device, "onecclSetDevice");
    find(library, f.init, "onecclCommInitRankConfig");
    find(library, f.finalize, "onecclCommFinalize");
    find(library, f.destroy, "onecclCommDestroy");
    find(library, f.error_string, "onecclGetErrorString");
    find(library, f.all_reduce, "onecclAllReduce");
    find(library, f.reduce, "onecclReduce");
    find(library, f.broadcast, "onecclBroadcast");
    find(library, f.reduce_scatter, "onecclReduceScatter");
    find(library, f.all_gather, "onecclAllGather");
    find(library, f.all_to_all, "onecclAllToAll");
    is_ccl_open = true;
}

const functions &api() {
    if (!is_ccl_open) throw std::runtime_error("oneCCL has not been opened");
    return loaded_functions;
}

void check(int status, const std::string &context) {
    if (status)
        throw std::runtime_error(context + ": oneCCL says: " + api().error_string(status) + " (" +
                                 std::to_string(status) + ")");
}

}  // namespace sycl_dnn::ccl

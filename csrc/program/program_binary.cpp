// SPDX-License-Identifier: Apache-2.0
// Kernel programs of OpenCL: compiled from SPIR-V, and as binaries of the driver's compiler.
#include "program/program_binary.hpp"

#include <dlfcn.h>

#include <memory>
#include <sycl/backend/opencl.hpp>
#include <type_traits>

#include "base/dpctl_api.hpp"
#include "base/gil.hpp"

namespace sycl_dnn {

namespace {

constexpr auto opencl = sycl::backend::opencl;

template <class Function>
Function *found(const char *name) {
    // The library that SYCL has already loaded, with its layers; nothing links against it.
    static void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_NOLOAD);
    auto *function = library ? dlsym(library, name) : nullptr;
    if (!function) throw unimplemented(std::string("OpenCL is not loaded, or lacks ") + name);
    return reinterpret_cast<Function *>(function);
}

#define CL(name) found<decltype(name)>(#name)

void check_cl(cl_int status, const char *what) {
    if (status) throw std::runtime_error(what + (": OpenCL error " + std::to_string(status)));
}

// Releases the reference that SYCL acquires for each native handle it returns.
template <class Handle, class Release>
auto held(Handle handle, Release *release) {
    return std::unique_ptr<std::remove_pointer_t<Handle>, Release *>(handle, release);
}

template <class Item>
std::vector<Item> program_info(cl_program program, cl_program_info what) {
    size_t size = 0;
    check_cl(CL(clGetProgramInfo)(program, what, 0, nullptr, &size), "clGetProgramInfo");
    std::vector<Item> items(size / sizeof(Item));
    check_cl(CL(clGetProgramInfo)(program, what, size, items.data(), nullptr), "clGetProgramInfo");
    return items;
}

std::string binary_for(cl_program program, cl_device_id device) {
    const auto devices = program_info<cl_device_id>(program, CL_PROGRAM_DEVICES);
    const auto sizes = program_info<size_t>(program, CL_PROGRAM_BINARY_SIZES);
    std::string binary;
    std::vector<char *> places(devices.size(), nullptr);  // nullptr: this device is skipped
    for (size_t i = 0; i < devices.size(); ++i)
        if (devices[i] == device) {
            binary.resize(sizes.at(i));
            places[i] = binary.data();
        }
    check_cl(CL(clGetProgramInfo)(program, CL_PROGRAM_BINARIES, places.size() * sizeof(char *),
                                  places.data(), nullptr),
             "clGetProgramInfo");
    return binary;
}

using held_program = decltype(held(cl_program{}, CL(clReleaseProgram)));

// A queue's context and device as OpenCL's.
struct place {
    explicit place(const sycl::queue &queue)
        : context(held(sycl::get_native<opencl>(queue.get_context()), CL(clReleaseContext))),
          device(held(sycl::get_native<opencl>(queue.get_device()), CL(clReleaseDevice))) {}

    decltype(held(cl_context{}, CL(clReleaseContext))) context;
    decltype(held(cl_device_id{}, CL(clReleaseDevice))) device;
};

program_bundle built(const sycl::queue &queue, const place &on, const held_program &program) {
    cl_device_id its = on.device.get();
    check_cl(CL(clBuildProgram)(program.get(), 1, &its, nullptr, nullptr, nullptr),
             "clBuildProgram");
    return sycl::make_kernel_bundle<opencl, sycl::bundle_state::executable>(program.get(),
                                                                            queue.get_context());
}

held_program created(const place &on, const std::string &module) {
    cl_int status = CL_SUCCESS;
    auto program =
        held(CL(clCreateProgramWithIL)(on.context.get(), module.data(), module.size(), &status),
             CL(clReleaseProgram));
    check_cl(status, "clCreateProgramWithIL");
    return program;
}

}  // namespace

program_bundle program_of_bytes(const sycl::queue &queue, const std::string &binary) {
    const place on(queue);
    cl_device_id its = on.device.get();
    const size_t size = binary.size();
    const auto *bytes = reinterpret_cast<const unsigned char *>(binary.data());
    cl_int status = CL_SUCCESS, taken = CL_SUCCESS;
    const auto program = held(
        CL(clCreateProgramWithBinary)(on.context.get(), 1, &its, &size, &bytes, &taken, &status),
        CL(clReleaseProgram));
    check_cl(status ? status : taken, "clCreateProgramWithBinary");
    return built(queue, on, program);
}

// To link compiled modules takes a third of the time of building each, on Intel's CPU driver.
program_bundle program_of_spirv(const sycl::queue &queue, const std::vector<std::string> &modules) {
    const place on(queue);
    if (modules.size() == 1) return built(queue, on, created(on, modules[0]));
    cl_device_id its = on.device.get();
    std::vector<held_program> compiled;
    std::vector<cl_program> parts;
    for (const std::string &module : modules) {
        compiled.push_back(created(on, module));
        parts.push_back(compiled.back().get());
        check_cl(CL(clCompileProgram)(parts.back(), 1, &its, nullptr, 0, nullptr, nullptr, nullptr,
                                      nullptr),
                 "clCompileProgram");
    }
    cl_int status = CL_SUCCESS;
    const auto program = held(
        CL(clLinkProgram)(on.context.get(), 1, &its, nullptr, static_cast<cl_uint>(parts.size()),
                          parts.data(), nullptr, nullptr, &status),
        CL(clReleaseProgram));
    check_cl(status, "clLinkProgram");
    return sycl::make_kernel_bundle<opencl, sycl::bundle_state::executable>(program.get(),
                                                                            queue.get_context());
}

std::string bytes_of(const program_bundle &bundle, const sycl::device &device) {
    try {
        const auto own = held(sycl::get_native<opencl>(bundle).at(0), CL(clReleaseProgram));
        const auto its = held(sycl::get_native<opencl>(device), CL(clReleaseDevice));
        return binary_for(own.get(), its.get());
    } catch (const std::exception &) {
        return {};
    }
}

sycl::kernel kernel_in(const program_bundle &bundle, const std::string &name) {
    const auto own = held(sycl::get_native<opencl>(bundle).at(0), CL(clReleaseProgram));
    cl_int status = CL_SUCCESS;
    const auto kernel =
        held(CL(clCreateKernel)(own.get(), name.c_str(), &status), CL(clReleaseKernel));
    check_cl(status, "clCreateKernel");
    return sycl::make_kernel<opencl>(kernel.get(), bundle.get_context());
}

py::bytes program_binary(const py::object &program, const py::object &queue) {
    return bytes_of(bundle_of(program), queue_of(queue).get_device());
}

py::object program_of_binary(const py::object &queue, const py::bytes &binary) {
    const std::string bytes = binary;
    const sycl::queue q = queue_of(queue);
    std::optional<program_bundle> bundle;
    try {
        const ReleasedGil nogil;
        bundle = program_of_bytes(q, bytes);
    } catch (const std::exception &) {
        return py::none();
    }
    return make_sycl_program(*bundle);
}

#undef CL

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Process-wide settings: primitive cache, verbose, CPU instruction set, math mode.
#include "base/bind.hpp"
#include "base/errors.hpp"
#include "base/gil.hpp"

namespace sycl_dnn {

static py::dict version() {
    const auto *v = dnnl::version();
    py::dict info;
    info["major"] = v->major;
    info["minor"] = v->minor;
    info["patch"] = v->patch;
    info["hash"] = v->hash;
    info["cpu_runtime"] = v->cpu_runtime;
    info["gpu_runtime"] = v->gpu_runtime;
    return info;
}

static void check_status(dnnl::status status, const std::string &message) {
    if (status != dnnl::status::success) raise_status(static_cast<dnnl_status_t>(status), message);
}

static void bind_cpu(py::module_ &m) {
    static const char *too_late =
        "the CPU instruction set can be limited only before oneDNN's first use in the process; "
        "set ONEDNN_MAX_CPU_ISA or ONEDNN_CPU_ISA_HINTS in the environment instead";
    m.def("get_effective_cpu_isa", &dnnl::get_effective_cpu_isa,
          "The most capable instruction set that oneDNN uses on this CPU.");
    m.def(
        "set_max_cpu_isa",
        [](dnnl::cpu_isa isa) { check_status(dnnl::set_max_cpu_isa(isa), too_late); },
        py::arg("isa"), "Limit the instruction set; only before oneDNN's first use.");
    m.def("get_cpu_isa_hints", &dnnl::get_cpu_isa_hints);
    m.def(
        "set_cpu_isa_hints",
        [](dnnl::cpu_isa_hints hints) { check_status(dnnl::set_cpu_isa_hints(hints), too_late); },
        py::arg("isa_hints"), "Hint such as prefer_ymm; only before oneDNN's first use.");
}

void bind_settings(py::module_ &m) {
    bind_cpu(m);
    m.def("version", &version, "Version, commit and runtimes of the oneDNN library in use.");
    m.def("get_primitive_cache_capacity", &dnnl::get_primitive_cache_capacity);
    m.def(
        "set_primitive_cache_capacity",
        [](int capacity) {
            if (capacity < 0)
                throw invalid_arguments(
                    "set_primitive_cache_capacity: capacity must not be negative, got " +
                    std::to_string(capacity));
            ReleasedGil nogil;  // evicted primitives may wait for the device
            dnnl::set_primitive_cache_capacity(capacity);
        },
        py::arg("capacity"), "Number of primitives that oneDNN keeps; 0 turns the cache off.");
    m.def(
        "set_verbose",
        [](int level) {
            const std::string text = "set_verbose: level must be 0, 1 or 2, got ";
            check_status(dnnl::set_verbose(level), text + std::to_string(level));
        },
        py::arg("level"),
        "0 quiet, 1 executions, 2 creations too; printed on the process's standard output.");
    m.def("get_default_fpmath_mode", &dnnl::get_default_fpmath_mode);
    m.def(
        "set_default_fpmath_mode",
        [](dnnl::fpmath_mode mode) {
            check_status(dnnl::set_default_fpmath_mode(mode), "could not set the math mode");
        },
        py::arg("mode"), "Math mode of PrimitiveAttr objects made from now on.");
    m.def(
        "set_jit_dump",
        [](bool enable) { check_status(dnnl::set_jit_dump(enable), "could not set JIT dump"); },
        py::arg("enable"), "Write generated code to dnnl_dump_*.bin in the current folder.");
    m.def(
        "set_jit_profiling_flags",
        [](unsigned flags) {
            const std::string text = "set_jit_profiling_flags: oneDNN refuses the flags, got ";
            check_status(dnnl::set_jit_profiling_flags(flags), text + std::to_string(flags));
        },
        py::arg("flags"));
    m.def(
        "set_jit_profiling_jitdumpdir",
        [](const std::string &folder) {
            check_status(dnnl::set_jit_profiling_jitdumpdir(folder), "could not set the folder");
        },
        py::arg("dir"));
}

}  // namespace sycl_dnn

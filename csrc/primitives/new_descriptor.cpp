// SPDX-License-Identifier: Apache-2.0
#include "primitives/new_descriptor.hpp"

#include <future>
#include <new>
#include <set>
#include <sstream>

#include "base/errors.hpp"
#include "base/fork.hpp"
#include "base/gil.hpp"
#include "primitives/quantization.hpp"
#include "primitives/refusals.hpp"

namespace sycl_dnn {

std::vector<std::string> words(const char *text) {
    std::istringstream stream(text);
    std::vector<std::string> result;
    for (std::string word; stream >> word;) result.push_back(word);
    return result;
}

void record(py::module_ &m, const char *name, const char *parameters, const char *signature) {
    if (!py::hasattr(m, "ROWS")) m.attr("ROWS") = py::dict();
    m.attr("ROWS")[name] = py::make_tuple(parameters, signature);
}

namespace {
struct fault_watch {
    std::set<std::string> rows;
    py::object check, is_avoided;
};
// Never destroyed: it holds a Python function beyond the interpreter's lifetime.
fault_watch &watch() {
    static auto *instance = new fault_watch;
    return *instance;
}
}  // namespace

bool is_avoided(const std::string &name, const py::object &pd) {
    return watch().rows.count(name) && watch().is_avoided(pd).cast<bool>();
}

// Passes a new descriptor to sycl_dnn/onednn/faults.py if its row has known faults.
static void warn_of_faults(const char *name, const py::object &pd) {
    if (watch().rows.count(name)) watch().check(pd);
}

py::object describe_or_raise(const char *name, const char *signature, const Engine &engine,
                             const Engine &dst_engine, const py::dict &parameters,
                             const attr_ptr &attr, bool allow_empty,
                             const create_function &create) {
    refuse_after_fork();
    auto attributes = std::make_shared<const PrimitiveAttr>(attr ? *attr : PrimitiveAttr());
    check_masks(name, parameters, *attributes);
    refuse_shapes(name, engine, parameters);
    dnnl::primitive_desc_base descriptor;
    try {
        ReleasedGil nogil;
        descriptor = create(attributes->handle);
    } catch (const dnnl::error &e) {
        if (allow_empty && e.status == dnnl_unimplemented) return py::none();
        raise_creation_error(e, name, parameters, py::cast(engine),
                             py::cast(std::const_pointer_cast<PrimitiveAttr>(attributes)));
    } catch (const std::bad_alloc &) {
        raise_status(dnnl_out_of_memory,
                     std::string(name) + ": oneDNN could not allocate what it computes in advance");
    } catch (const std::future_error &) {
        // oneDNN's cache waits for a creation that ended with an exception.
        raise_status(dnnl_runtime_error,
                     std::string(name) + ": oneDNN failed to create the same primitive before");
    }
    const auto described = std::make_shared<PrimitiveDesc>(
        PrimitiveDesc{descriptor, name, signature, engine, dst_engine, attributes, parameters});
    const py::object pd = py::cast(described);
    if (is_avoided(name, pd) && !next_impl(pd)) {
        if (allow_empty) return py::none();
        throw unimplemented(std::string(name) + ": oneDNN has only the implementation " +
                            descriptor.impl_info_str() +
                            ", which fails or is wrong for these arguments, got " +
                            std::string(py::repr(pd)));
    }
    refuse_unsafe(*described);
    warn_of_faults(name, pd);
    return pd;
}

void bind_fault_watch(py::module_ &m) {
    m.def(
        "_watch",
        [](const std::set<std::string> &rows, const py::object &check,
           const py::object &is_avoided) { watch() = {rows, check, is_avoided}; },
        py::arg("rows"), py::arg("check"), py::arg("is_avoided") = py::none());
}

}  // namespace sycl_dnn

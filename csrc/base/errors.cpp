// SPDX-License-Identifier: Apache-2.0
// Translates C++ exceptions to the classes in sycl_dnn/errors.py.
#include "base/errors.hpp"

#include <exception>
#include <oneapi/dnnl/dnnl_graph.hpp>

namespace sycl_dnn {

static py::object errors_module() { return py::module_::import("sycl_dnn.errors"); }

static void set_error(const py::object &instance) {
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(instance.ptr())), instance.ptr());
}

void raise(const py::object &instance) {
    set_error(instance);
    throw py::error_already_set();
}

// The Graph API has additional status codes in a separate enumeration.
static py::object status_object(dnnl_status_t status) {
    if (status >= dnnl_invalid_graph) return py::cast(static_cast<dnnl::graph::status>(status));
    return py::cast(static_cast<dnnl::status>(status));
}

void raise_status(dnnl_status_t status, const std::string &message) {
    raise(errors_module().attr("from_status")(status_object(status), message));
}

void check(dnnl_status_t status, const char *message) {
    if (status != dnnl_success) throw dnnl::error(status, message);
}

void raise_creation_error(const dnnl::error &error, const char *name, const py::dict &arguments,
                          const py::object &engine, const py::object &attr) {
    raise(errors_module().attr("creation_error")(static_cast<dnnl::status>(error.status), name,
                                                 arguments, engine, attr));
}

static void translate(std::exception_ptr pointer) {
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (const dnnl::error &e) {
        set_error(errors_module().attr("from_status")(status_object(e.status), e.message));
    } catch (const invalid_arguments &e) {
        set_error(errors_module().attr("InvalidArguments")(e.what()));
    } catch (const unimplemented &e) {
        set_error(errors_module().attr("Unimplemented")(e.what()));
    } catch (const py::cast_error &e) {
        PyErr_SetString(PyExc_TypeError, e.what());
    }
}

void bind_errors(py::module_ &) { py::register_local_exception_translator(&translate); }

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Python class Tensor: USM in the layout of a logical tensor.
#include <oneapi/dnnl/dnnl_sycl.hpp>
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/errors.hpp"
#include "engine/in_flight.hpp"
#include "graph/graph_types.hpp"
#include "memory/placement.hpp"

namespace sycl_dnn {

static void require(bool ok, const std::string &rule, const logical &got) {
    if (!ok) throw invalid_arguments("Tensor: " + rule + ", got " + describe(got));
}

// The tensor's start address in the memory; throws unless it fits.
static char *address_in(const logical &layout, const Engine &engine, const py::object &memory,
                        size_t offset) {
    const usm_buffer buffer = buffer_of(memory);
    check_place("Tensor", engine, buffer);
    const size_t needed = extent(layout);
    if (offset > buffer.nbytes || needed > buffer.nbytes - offset)
        throw invalid_arguments("Tensor: array must hold " + std::to_string(needed) +
                                " bytes after its offset, got " +
                                std::to_string(buffer.nbytes - std::min(offset, buffer.nbytes)));
    return buffer.pointer + offset;
}

static GraphTensor wrap(const logical &layout, const Engine &engine, const py::object &memory,
                        size_t offset, const py::object &owner, bool writable) {
    require(has_known_shape(layout), "logical tensor must have a known shape", layout);
    require(has_known_strides(layout), "logical tensor must have known strides", layout);
    const auto kind = layout.get_layout_type();
    require(kind == logical::layout_type::strided || kind == logical::layout_type::opaque,
            "logical tensor must say the layout (query it from the compiled partition)", layout);
    require(layout.get_property_type() != logical::property_type::host_scalar,
            "a host scalar must be made from a number", layout);
    char *first = address_in(layout, engine, memory, offset);
    return {graph::tensor(layout, engine.handle, first),
            layout,
            engine.handle.get(),
            py::cast(engine),
            owner,
            buffer_of(memory).queue,
            writable,
            first,
            extent(layout),
            has_no_gaps(layout)};
}

// A new oneDNN object: executions already submitted keep the old one.
static void set_data_handle(const py::object &self, const py::object &memory, size_t offset,
                            const py::object &owner, bool writable) {
    auto &tensor = self.cast<GraphTensor &>();
    if (!tensor.engine)
        throw invalid_arguments("Tensor.set_data_handle: a host scalar has no address, got " +
                                describe(tensor.layout));
    const auto &engine = tensor.engine_object.cast<const Engine &>();
    char *first = address_in(tensor.layout, engine, memory, offset);
    InFlight::hold_with(self, tensor.owner);
    tensor.handle = graph::tensor(tensor.layout, engine.handle, first);
    tensor.owner = owner;
    tensor.queue = buffer_of(memory).queue;
    tensor.writable = writable;
    tensor.first = first;
}

// `bytes` is the value converted to the tensor's data type by Python.
static GraphTensor host_scalar(const logical &layout, const py::bytes &bytes) {
    std::string value = bytes;
    require(layout.get_property_type() == logical::property_type::host_scalar,
            "logical tensor of a number must be a host scalar", layout);
    const size_t expected_size = layout.get_data_type() == logical::data_type::s64 ? 8 : 4;
    require(value.size() == expected_size,
            "bytes of a host scalar must be " + std::to_string(expected_size), layout);
    return {graph::tensor::make_scalar_tensor(layout, value.data()),
            layout,
            nullptr,
            py::none(),
            bytes,
            nullptr,
            false,
            nullptr,
            0,
            true};
}

void bind_graph_tensor(py::module_ &m) {
    py::class_<GraphTensor>(m, "GraphTensor", "Data of a logical tensor in USM.")
        .def(py::init(&wrap), py::arg("logical_tensor"), py::arg("engine"), py::arg("memory"),
             py::arg("offset"), py::arg("owner"), py::arg("writable"))
        .def(py::init(&host_scalar), py::arg("logical_tensor"), py::arg("value"))
        .def("_set_data_handle", &set_data_handle, py::arg("memory"), py::arg("offset"),
             py::arg("owner"), py::arg("writable"))
        .def_property_readonly("logical_tensor", [](const GraphTensor &t) { return t.layout; })
        .def_property_readonly("id", [](const GraphTensor &t) { return t.layout.get_id(); })
        .def_property_readonly(
            "engine", [](const GraphTensor &t) { return t.engine_object; },
            "The engine; None for a host scalar.")
        .def_property_readonly(
            "owner", [](const GraphTensor &t) { return t.owner; },
            "The owner of the data: the given array, or a dpctl.memory object.")
        .def_readonly("writable", &GraphTensor::writable)
        .def_property_readonly(
            "pointer", [](const GraphTensor &t) { return reinterpret_cast<size_t>(t.first); },
            "USM address of the first element; 0 for a host scalar.")
        .def("__repr__",
             [](const GraphTensor &t) { return "<Tensor " + describe(t.layout) + ">"; });
}

}  // namespace sycl_dnn

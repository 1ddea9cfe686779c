// SPDX-License-Identifier: Apache-2.0
// Python class MemoryDesc: dnnl::memory::desc.
#include "memory/make_memory_desc.hpp"
#include "memory/memory_desc.hpp"
#include "memory/memory_desc_blob.hpp"

namespace sycl_dnn {

static size_t hash_of(const desc &d) {
    std::string key =
        std::to_string(static_cast<int>(d.get_format_kind())) + name_of(d.get_data_type());
    const dims shape = d.get_dims(), strides = d.get_strides();
    for (size_t i = 0; i < shape.size(); ++i) {
        key += "," + std::to_string(shape[i]);
        // Equality ignores the stride of dimensions of size 1.
        if (i < strides.size() && shape[i] != 1) key += ":" + std::to_string(strides[i]);
    }
    for (auto block : d.get_inner_blks()) key += ";" + std::to_string(block);
    return std::hash<std::string>()(key);
}

static void bind_factories(py::class_<desc> &c) {
    c.def(py::init<>(), "The zero descriptor: an absent tensor.")
        .def(py::init(&make_row_major), py::arg("dims"), py::arg("data_type"),
             "Row-major layout of shape ``dims``.")
        .def(py::init(&make_with_tag), py::arg("dims"), py::arg("data_type"), py::arg("format_tag"),
             "Layout by tag: a member of ``format_tag`` or its name; ``any`` lets oneDNN choose.")
        .def(
            py::init(&make_with_strides), py::arg("dims"), py::arg("data_type"), py::arg("strides"),
            "Plain layout by strides, in elements; 0 broadcasts. Those of axes of length 1, and of "
            "shapes without elements, become what they are in a dense array.")
        .def_static("csr", &make_csr, py::arg("dims"), py::arg("data_type"), py::arg("nnz"),
                    py::arg("index_dt"), py::arg("pointer_dt"),
                    "Compressed sparse rows: values, indices, pointers.")
        .def_static("coo", &make_coo, py::arg("dims"), py::arg("data_type"), py::arg("nnz"),
                    py::arg("index_dt"), "Coordinates: values, then one index array per dimension.")
        .def_static("packed", &make_packed, py::arg("dims"), py::arg("data_type"), py::arg("nnz"),
                    "Sparse weights in the library's own packing; only as a primitive's input.")
        .def_static("host_scalar", &desc::host_scalar, py::arg("data_type"),
                    "A scalar that lives on the host and is given by value.")
        .def_static("from_blob", &from_blob, py::arg("blob"),
                    "The descriptor that ``blob`` came from; refuses damaged bytes, and layouts "
                    "that the other "
                    "constructors cannot make, such as those that only a primitive knows.");
}

static void bind_transforms(py::class_<desc> &c) {
    c.def("submemory_desc", &submemory_of, py::arg("dims"), py::arg("offsets"),
          "A view of shape ``dims`` that starts at ``offsets``.")
        .def("reshape", &reshaped, py::arg("dims"),
             "The same elements under another shape; merges only dense dimensions.")
        .def("permute_axes", &permuted, py::arg("permutation"),
             "New dims[permutation[d]] = dims[d]: the inverse of ``numpy.transpose``.");
}

static void bind_queries(py::class_<desc> &c) {
    c.def_property_readonly("ndims", &desc::get_ndims)
        .def_property_readonly(
            "dims", [](const desc &d) { return py::tuple(py::cast(d.get_dims())); },
            "Logical shape; RUNTIME_DIM_VAL for sizes given at execution.")
        .def_property_readonly(
            "padded_dims", [](const desc &d) { return py::tuple(py::cast(d.get_padded_dims())); })
        .def_property_readonly(
            "padded_offsets",
            [](const desc &d) { return py::tuple(py::cast(d.get_padded_offsets())); })
        .def_property_readonly(
            "strides", [](const desc &d) { return py::tuple(py::cast(d.get_strides())); },
            "In elements; those of the outer blocks if the layout is blocked.")
        .def_property_readonly("submemory_offset", &desc::get_submemory_offset, "In elements.")
        .def_property_readonly("inner_nblks", &desc::get_inner_nblks)
        .def_property_readonly(
            "inner_blks", [](const desc &d) { return py::tuple(py::cast(d.get_inner_blks())); })
        .def_property_readonly(
            "inner_idxs", [](const desc &d) { return py::tuple(py::cast(d.get_inner_idxs())); })
        .def_property_readonly("data_type", [](const desc &d) { return d.get_data_type(); })
        .def("get_data_type", &desc::get_data_type, py::arg("index") = 0,
             "Data type of buffer ``index`` (sparse descriptors have several).")
        .def_property_readonly("format_kind", &desc::get_format_kind)
        .def_property_readonly("sparse_encoding", &desc::get_sparse_encoding)
        .def_property_readonly("nnz", &desc::get_nnz)
        .def_property_readonly("num_handles", &desc::get_num_handles)
        .def_property_readonly(
            "size", [](const desc &d) { return d.get_size(); }, "Bytes, padding included.")
        .def("get_size", &desc::get_size, py::arg("index") = 0, "Bytes of buffer ``index``.")
        .def_property_readonly(
            "extent", &extent,
            "Bytes that a buffer must have: from the first to the last element of a view.")
        .def_property_readonly("is_plain", &is_plain, "Whether an array can have this layout.")
        .def_property_readonly("is_zero", &desc::is_zero)
        .def_property_readonly("blob", &to_blob,
                               "Bytes for MemoryDesc.from_blob in the same oneDNN version.");
}

void bind_memory_desc(py::module_ &m) {
    py::class_<desc> c(m, "MemoryDesc",
                       "Shape, data type and layout of a tensor (dnnl::memory::desc), immutable.");
    bind_factories(c);
    bind_transforms(c);
    bind_queries(c);
    c.def("__eq__",
          [](const desc &a, const py::object &b) -> py::object {
              if (!py::isinstance<desc>(b))
                  return py::reinterpret_borrow<py::object>(Py_NotImplemented);
              return py::bool_(a == b.cast<const desc &>());
          })
        .def("__hash__", &hash_of)
        .def("__bool__",
             [](const desc &d) {
                 return !d.is_zero() || d.get_format_kind() == memory::format_kind::host_scalar;
             })
        .def("__str__", [](const desc &d) { return describe(d); })
        .def("__repr__", [](const desc &d) { return "MemoryDesc(" + describe(d) + ")"; })
        .def(py::pickle(&to_blob, &from_own_blob));
    m.def("canonical_strides", &canonical_strides, py::arg("dims"), py::arg("strides"),
          "The strides that a descriptor gets: those that lead nowhere are as in a dense array.");
    m.attr("RUNTIME_DIM_VAL") = DNNL_RUNTIME_DIM_VAL;
    m.attr("RUNTIME_SIZE_VAL") = py::int_(DNNL_RUNTIME_SIZE_VAL);
    m.attr("RUNTIME_F32_VAL") = py::float_(DNNL_RUNTIME_F32_VAL);
    m.attr("RUNTIME_S32_VAL") = py::int_(DNNL_RUNTIME_S32_VAL);
}

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Python class Op: an operation with attributes, before it is added to a graph.
#include "base/errors.hpp"
#include "graph/graph_types.hpp"

namespace sycl_dnn {

using attr = graph::op::attr;

namespace {

enum class kind_of_value { number, numbers, integer, integers, truth, text };

// The header groups attribute numbers by the type of their value.
kind_of_value kind_of(attr a) {
    if (a < attr::scales) return kind_of_value::number;
    if (a < attr::axis) return kind_of_value::numbers;
    if (a < attr::axes) return kind_of_value::integer;
    if (a < attr::exclude_pad) return kind_of_value::integers;
    return a < attr::auto_broadcast ? kind_of_value::truth : kind_of_value::text;
}

const char *rule_of(kind_of_value kind) {
    switch (kind) {
        case kind_of_value::number:
            return "be a number";
        case kind_of_value::numbers:
            return "be a sequence of numbers";
        case kind_of_value::integer:
            return "be an integer";
        case kind_of_value::integers:
            return "be a sequence of integers";
        case kind_of_value::truth:
            return "be True or False";
        default:
            return "be a string";
    }
}

bool is_number(py::handle v) {
    return !PyBool_Check(v.ptr()) && (PyFloat_Check(v.ptr()) || PyIndex_Check(v.ptr()));
}
bool is_integer(py::handle v) { return !PyBool_Check(v.ptr()) && PyIndex_Check(v.ptr()); }

bool all_of(const py::object &v, bool (*test)(py::handle)) {
    if (!PySequence_Check(v.ptr()) || PyUnicode_Check(v.ptr())) return false;
    for (const auto &item : v)
        if (!test(item)) return false;
    return true;
}

bool fits(kind_of_value kind, const py::object &v) {
    switch (kind) {
        case kind_of_value::number:
            return is_number(v);
        case kind_of_value::numbers:
            return all_of(v, is_number);
        case kind_of_value::integer:
            return is_integer(v);
        case kind_of_value::integers:
            return all_of(v, is_integer);
        case kind_of_value::truth:
            return PyBool_Check(v.ptr());
        default:
            return PyUnicode_Check(v.ptr()) && py::len(v) > 0;
    }
}

// oneDNN treats an empty list as missing.
template <class T>
std::vector<T> list_of(const py::object &v) {
    auto values = v.cast<std::vector<T>>();
    values.reserve(1);
    return values;
}

void set_value(graph::op &op, attr name, const py::object &value) {
    switch (kind_of(name)) {
        case kind_of_value::number:
            op.set_attr(name, value.cast<float>());
            break;
        case kind_of_value::numbers:
            op.set_attr(name, list_of<float>(value));
            break;
        case kind_of_value::integer:
            op.set_attr(name, value.cast<int64_t>());
            break;
        case kind_of_value::integers:
            op.set_attr(name, list_of<int64_t>(value));
            break;
        case kind_of_value::truth:
            op.set_attr(name, value.cast<bool>());
            break;
        default:
            op.set_attr(name, value.cast<std::string>());
    }
}

std::string label(const GraphOp &op) {
    return std::string(py::str(py::cast(op.kind).attr("name"))) + " '" + op.name + "'";
}

// Window attributes of convolutions and pooling: oneDNN divides by some of them.
bool is_of_windows(attr a) {
    return a == attr::strides || a == attr::dilations || a == attr::kernel;
}

void check_windows(const std::string &prefix, attr a, const py::object &value) {
    if (!is_of_windows(a)) return;
    for (const auto size : value.cast<std::vector<int64_t>>())
        if (size < 1)
            throw invalid_arguments(prefix + "have positive numbers, got " +
                                    std::string(py::repr(value)));
}

void set_attr(GraphOp &op, const py::object &name, const py::object &value) {
    const auto a = enum_of<attr>("op_attr", name, "Op.set_attr: attr");
    const auto prefix = "Op.set_attr: " + std::string(py::str(py::cast(a).attr("name"))) + " of " +
                        label(op) + " must ";
    if (a == attr::undef) throw invalid_arguments(prefix + "be an attribute, got undef");
    if (!fits(kind_of(a), value))
        throw invalid_arguments(prefix + rule_of(kind_of(a)) + ", got " +
                                std::string(py::repr(value)));
    check_windows(prefix, a, value);
    set_value(op.handle, a, value);
    op.attributes[py::cast(a).attr("name")] = value;
}

GraphOp make_op(size_t id, const py::object &kind, const std::vector<logical> &inputs,
                const std::vector<logical> &outputs, const py::dict &attrs,
                const std::string &name) {
    const auto k = enum_of<graph::op::kind>("op_kind", kind, "Op: kind");
    GraphOp op{graph::op(id, k, inputs, outputs, name), id, k, name, inputs, outputs, {}};
    for (const auto &[attribute, value] : attrs)
        set_attr(op, py::reinterpret_borrow<py::object>(attribute),
                 py::reinterpret_borrow<py::object>(value));
    return op;
}

}  // namespace

// oneDNN's gradient kernels read as many sizes as diff_dst has axes.
void check_gradient_axes(const GraphOp &op) {
    const auto check = [&](const char *name, int expected, const logical &diff_dst) {
        const int rank = rank_of(diff_dst);
        if (rank == DNNL_GRAPH_UNKNOWN_NDIMS || expected == DNNL_GRAPH_UNKNOWN_NDIMS ||
            rank == expected)
            return;
        throw invalid_arguments(label(op) + ": diff_dst must have as many axes as " + name + ", " +
                                std::to_string(expected) + ", got " + describe(diff_dst));
    };
    using kind = graph::op::kind;
    if (op.kind == kind::MaxPoolBackward && op.inputs.size() > 1)
        return check("src", rank_of(op.inputs[0]), op.inputs[1]);
    const struct {
        kind backward;
        const char *shape;
        size_t diff_dst;
    } rules[] = {{kind::AvgPoolBackward, "src_shape", 0},
                 {kind::ConvolutionBackwardData, "dst_shape", 0},
                 {kind::ConvolutionBackwardWeights, "weights_shape", 1},
                 {kind::ConvTransposeBackwardWeights, "weights_shape", 1}};
    for (const auto &rule : rules)
        if (op.kind == rule.backward && op.inputs.size() > rule.diff_dst &&
            op.attributes.contains(rule.shape))
            check(rule.shape, int(py::len(op.attributes[rule.shape])), op.inputs[rule.diff_dst]);
}

void bind_graph_op(py::module_ &m) {
    py::class_<GraphOp>(m, "Op", "An operation of a graph: kind, tensors and attributes.")
        .def(py::init(&make_op), py::arg("id"), py::arg("kind"),
             py::arg("inputs") = std::vector<logical>(),
             py::arg("outputs") = std::vector<logical>(), py::arg("attrs") = py::dict(),
             py::arg("name") = "",
             "Tensors are positional, in the order of oneDNN's operation table.")
        .def(
            "add_input",
            [](GraphOp &op, const logical &t) {
                op.handle.add_input(t);
                op.inputs.push_back(t);
            },
            py::arg("tensor"))
        .def(
            "add_output",
            [](GraphOp &op, const logical &t) {
                op.handle.add_output(t);
                op.outputs.push_back(t);
            },
            py::arg("tensor"))
        .def("set_attr", &set_attr, py::arg("attr"), py::arg("value"),
             "Set an attribute; the value must have exactly the kind that oneDNN requires.")
        .def_readonly("id", &GraphOp::id)
        .def_readonly("kind", &GraphOp::kind)
        .def_readonly("name", &GraphOp::name)
        .def_readonly("inputs", &GraphOp::inputs)
        .def_readonly("outputs", &GraphOp::outputs)
        .def_property_readonly("attributes",
                               [](const GraphOp &op) { return op.attributes.attr("copy")(); })
        .def("__repr__", [](const GraphOp &op) {
            return "<Op " + std::to_string(op.id) + ": " + label(op) + ">";
        });
}

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// oneDNN's enumerations as Python enums. The enumerators are read from the installed headers at
// build time (cmake/enums.py writes enums.inc and format_tags.inc).
#include "base/enums.hpp"

#include <pybind11/native_enum.h>

#include <oneapi/dnnl/dnnl_graph.hpp>
#include <unordered_map>

namespace sycl_dnn {

using tag_table = std::vector<std::pair<std::string, int>>;

static const tag_table &format_tags() {
    static constexpr std::pair<const char *, int> members[] = {
#include "format_tags.inc"
    };
    static const tag_table table(std::begin(members), std::end(members));
    return table;
}

std::optional<int> format_tag_of(const std::string &name) {
    static const auto *index =
        new std::unordered_map<std::string, int>(format_tags().begin(), format_tags().end());
    auto entry = index->find(name);
    return entry == index->end() ? std::nullopt : std::optional<int>(entry->second);
}

std::string enum_name(const py::object &member) { return py::str(member.attr("name")); }

std::optional<long> value_of_name(py::handle cls, py::handle name) {
    const py::object members = cls.attr("__members__");
    const py::list words = name.attr("split")("|");
    long value = 0;
    for (const auto &word : words) {
        const py::object stripped = word.attr("strip")();
        if (!members.contains(stripped)) return std::nullopt;
        const py::object member = members[stripped];
        // Only flags are integers themselves.
        if (words.size() > 1 && !py::isinstance<py::int_>(member)) return std::nullopt;
        value |= member.attr("value").cast<long>();
    }
    return value;
}

py::object member_of(const char *enumeration, const py::object &value, const char *argument) {
    const py::object cls = py::module_::import("sycl_dnn._core").attr(enumeration);
    if (py::isinstance(value, cls)) return value;
    const py::object members = cls.attr("__members__");
    // oneDNN's enumerations share names: data_type.f32 is accepted for logical_data_type.f32.
    py::object name = py::none();
    if (py::isinstance<py::str>(value))
        name = value;
    else if (py::hasattr(value, "name"))
        name = value.attr("name");
    if (!name.is_none() && members.contains(name)) return members[name];
    const py::str names = py::str(", ").attr("join")(members);
    throw invalid_arguments(std::string(argument) + " must be one of " + std::string(names) +
                            ", got " + std::string(py::str(value)));
}

// Enumerators are data: inlining a call for each would dominate the compile time.
template <class E>
static void define(py::module_ &m, const char *name, const char *kind,
                   std::initializer_list<std::pair<const char *, E>> members) {
    py::native_enum<E> enumeration(m, name, kind);
    for (const auto &[member, value] : members) enumeration.value(member, value);
    enumeration.finalize();
    // Members are equal only to themselves; Python's own hash of them is a call of Python.
    if (kind == std::string("enum.Enum"))
        m.attr(name).attr("__hash__") =
            py::module_::import("builtins").attr("object").attr("__hash__");
}

void bind_enums(py::module_ &m) {
#include "enums.inc"
    m.def("format_tags", &format_tags,
          "The names and values of all format tags, in the header's order; aliases included.");
}

}  // namespace sycl_dnn

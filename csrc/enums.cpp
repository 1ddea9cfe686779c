// SPDX-License-Identifier: Apache-2.0
// oneDNN's enumerations as Python enums. The members come from the installed headers at build
// time (cmake/enums.py writes enums.inc and format_tags.inc).
#include "enums.hpp"

#include <pybind11/native_enum.h>

#include <oneapi/dnnl/dnnl_graph.hpp>
#include <unordered_map>

namespace sycl_dnn {

using tag_table = std::vector<std::pair<std::string, int>>;

static const tag_table &format_tags() {
    static const tag_table table = {
#include "format_tags.inc"
    };
    return table;
}

std::optional<int> format_tag_of(const std::string &name) {
    static const auto *index =
        new std::unordered_map<std::string, int>(format_tags().begin(), format_tags().end());
    auto found = index->find(name);
    return found == index->end() ? std::nullopt : std::optional<int>(found->second);
}

std::string enum_name(const py::object &member) { return py::str(member.attr("name")); }

void bind_enums(py::module_ &m) {
#include "enums.inc"
    m.def("format_tags", &format_tags,
          "The names and values of all format tags, in the header's order; aliases included.");
}

}  // namespace sycl_dnn

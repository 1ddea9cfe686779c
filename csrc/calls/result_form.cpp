// SPDX-License-Identifier: Apache-2.0
#include "calls/result_form.hpp"

namespace sycl_dnn {

ResultForm::kind ResultForm::kind_of(const std::string &name) {
    if (name == "array") return kind::array;
    if (name == "given") return kind::given;
    if (name == "object") return kind::object;
    if (name == "tuple") return kind::tuple;
    if (name == "list") return kind::list;
    if (name == "dict") return kind::dict;
    if (name == "made") return kind::made;
    throw invalid_arguments(
        "CallPlan: a result must be array, given, object, tuple, list, dict or "
        "made, got " +
        name);
}

ResultForm::ResultForm(const py::tuple &row) : what(kind_of(row[0].cast<std::string>())) {
    if (what == kind::array || what == kind::given) number = row[1].cast<size_t>();
    if (what == kind::array) held = row[2];
    if (what == kind::object || what == kind::dict || what == kind::made) held = row[1];
    const bool has_name = what == kind::dict || what == kind::made;
    if (has_name || what == kind::tuple || what == kind::list)
        for (const py::handle item : row[has_name ? 2 : 1])
            items.emplace_back(item.cast<py::tuple>());
}

py::list ResultForm::built_items(const array_maker &array,
                                 const std::vector<py::object> &given) const {
    py::list made(items.size());
    for (size_t i = 0; i < items.size(); ++i) made[i] = items[i].build(array, given);
    return made;
}

py::object ResultForm::build(const array_maker &array, const std::vector<py::object> &given) const {
    if (what == kind::array) return array(number, held);
    if (what == kind::given) return given.at(number);
    if (what == kind::object) return held;
    py::list made = built_items(array, given);
    if (what == kind::list) return made;
    if (what == kind::tuple) return py::tuple(made);
    if (what == kind::made) return held(*made);
    py::dict named;
    size_t i = 0;
    for (const py::handle name : held) named[name] = made[i++];
    return named;
}

}  // namespace sycl_dnn

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

ResultForm::ResultForm(const py::tuple &row) : tag(kind_of(row[0].cast<std::string>())) {
    if (tag == kind::array || tag == kind::given) number = row[1].cast<size_t>();
    if (tag == kind::array) payload = row[2];
    if (tag == kind::object || tag == kind::dict || tag == kind::made) payload = row[1];
    const bool has_name = tag == kind::dict || tag == kind::made;
    if (has_name || tag == kind::tuple || tag == kind::list)
        for (const py::handle item : row[has_name ? 2 : 1])
            items.emplace_back(item.cast<py::tuple>());
}

py::list ResultForm::built_items(const array_maker &array,
                                 const std::vector<py::object> &arguments) const {
    py::list results(items.size());
    for (size_t i = 0; i < items.size(); ++i) results[i] = items[i].build(array, arguments);
    return results;
}

py::object ResultForm::build(const array_maker &array,
                             const std::vector<py::object> &arguments) const {
    if (tag == kind::array) return array(number, payload);
    if (tag == kind::given) return arguments.at(number);
    if (tag == kind::object) return payload;
    py::list results = built_items(array, arguments);
    if (tag == kind::list) return results;
    if (tag == kind::tuple) return py::tuple(results);
    if (tag == kind::made) return payload(*results);
    py::dict named;
    size_t i = 0;
    for (const py::handle name : payload) named[name] = results[i++];
    return named;
}

}  // namespace sycl_dnn

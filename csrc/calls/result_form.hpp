// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/bind.hpp"

namespace sycl_dnn {

// The structure of a call's results.
class ResultForm {
  public:
    // Parsed from nested tuples whose first item is the kind:
    //   ("array", number, carried dtype or None)   a new array over the memory with this index
    //   ("given", number)                          the caller's argument
    //   ("object", value)                          a value that is not an array
    //   ("tuple", items), ("list", items), ("dict", names, items)
    //   ("made", function, items)                  the function's result for the items
    explicit ResultForm(const py::tuple &row);

    using array_maker = std::function<py::object(size_t number, const py::object &carried_dtype)>;
    py::object build(const array_maker &array, const std::vector<py::object> &arguments) const;

    // The index of the array if it is the only result; none otherwise.
    size_t single() const { return tag == kind::array ? number : none; }
    static constexpr size_t none = static_cast<size_t>(-1);

  private:
    enum class kind { array, given, object, tuple, list, dict, made };
    static kind kind_of(const std::string &name);
    py::list built_items(const array_maker &array, const std::vector<py::object> &arguments) const;

    kind tag;
    size_t number = none;
    py::object payload;  // data type, value, names or function
    std::vector<ResultForm> items;
};

}  // namespace sycl_dnn

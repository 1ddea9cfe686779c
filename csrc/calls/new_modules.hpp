// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bind.hpp"

namespace sycl_dnn {

// Modules of a form, whose `nodes` are those of sycl_dnn/nn/module_form.py, over these leaves; what
// makers make is missing.
py::list new_modules(const py::tuple &nodes, const py::list &leaves, bool is_traced);

}  // namespace sycl_dnn

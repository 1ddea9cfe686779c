// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bind.hpp"

namespace sycl_dnn {

// Registers what is done at exit.
void bind_exit(py::module_ &m);

}  // namespace sycl_dnn

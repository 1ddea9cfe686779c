// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bind.hpp"

namespace sycl_dnn {

// Registers the cleanup at exit.
void bind_exit(py::module_ &m);

}  // namespace sycl_dnn

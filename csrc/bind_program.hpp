// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stream.hpp"

namespace sycl_dnn {

// Submits a `_core.Program` over a list of arrays after `depends`; returns the event.
py::object run_program(const py::object &program, const Stream &stream, const py::list &arrays,
                       const py::object &depends);

}  // namespace sycl_dnn

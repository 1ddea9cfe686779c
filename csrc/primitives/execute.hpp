// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/stream.hpp"
#include "primitives/call.hpp"

namespace sycl_dnn {

// Primitive.execute: validates `args` by name, submits after the events `depends`, and returns the
// event.
py::object execute(const py::object &primitive, const Stream &stream, const py::dict &args,
                   const py::object &depends);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Arguments that oneDNN accepts although it then reads out of bounds.
#pragma once

#include "primitives/primitive_desc.hpp"

namespace sycl_dnn {

// Throws invalid_arguments or unimplemented if creating the descriptor would crash.
void refuse_shapes(const char *name, const Engine &engine, const py::dict &parameters);
// Throws invalid_arguments if executing the descriptor would crash. Repeated when a primitive is
// created, since next_impl() may have selected another implementation.
void refuse_unsafe(const PrimitiveDesc &pd);

}  // namespace sycl_dnn

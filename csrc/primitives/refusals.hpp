// SPDX-License-Identifier: Apache-2.0
// Arguments that oneDNN accepts although it then reads past their end.
#pragma once

#include "primitives/primitive_desc.hpp"

namespace sycl_dnn {

// Throws invalid_arguments or unimplemented if making the descriptor would end the process.
void refuse_shapes(const char *name, const Engine &engine, const py::dict &parameters);
// Throws invalid_arguments if executing the descriptor would do so. Repeated when a primitive
// is made, since next_impl() may have selected another implementation.
void refuse_unsafe(const PrimitiveDesc &pd);

}  // namespace sycl_dnn

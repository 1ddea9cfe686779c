// SPDX-License-Identifier: Apache-2.0
// What oneDNN accepts although it then reads past the end of an argument.
#pragma once

#include "primitive_desc.hpp"

namespace sycl_dnn {

// Throws invalid_arguments or unimplemented for what ends the process while a descriptor is made.
void refuse_shapes(const char *name, const Engine &engine, const py::dict &parameters);
// Moves on from implementations that end the process, or take all its memory, when a primitive is
// made of them.
void skip_fatal(const char *name, const py::dict &parameters, dnnl::primitive_desc_base &made);
// Throws invalid_arguments where executing the descriptor would do so. Asked again when a primitive
// is made, since next_impl() may have led to another implementation.
void refuse_unsafe(const PrimitiveDesc &pd);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Scales, zero points and precomputed sums: setters, and validation against a primitive's tensors.
#pragma once

#include "primitives/attributes.hpp"

namespace sycl_dnn {

void bind_quantization(attr_class &c);

// Throws invalid_arguments if a mask refers to a dimension that the tensor does not have: oneDNN
// ignores such bits, or reports only "unimplemented".
void check_masks(const char *primitive, const py::dict &parameters, const PrimitiveAttr &attr);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Execution arguments added by attributes: scales, zero points, seeds, operands of post-ops.
#pragma once

#include "primitives/slots.hpp"

namespace sycl_dnn {

// The argument `id` in the layout required by the descriptor.
Slot exact_slot(const PrimitiveDesc &pd, const std::string &name, int id, bool output);
// A dense list of `count` numbers.
Slot value_slot(const PrimitiveDesc &pd, const std::string &name, int id, bool output,
                memory::data_type type, int64_t count, bool on_host);

// The number of scales or zero points: one per index of the dimensions in the mask; groups apply to
// the last two dimensions. -1 if it is not known yet.
int64_t value_count(const desc &target, const quantization &q);

// `slots` must already have those of the tensors.
void add_attribute_slots(const PrimitiveDesc &pd, std::vector<Slot> &slots);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "primitives/primitive_desc.hpp"

namespace sycl_dnn {

// Replaces a matmul with K = 0, whose result oneDNN leaves unwritten: the same matmul with K = 1
// over zeros, so that bias, post-ops and scales of dst are applied.
struct EmptyProduct {
    dnnl::primitive handle;
    desc scratchpad;
    std::shared_ptr<void> zeros;
    dnnl::memory src, weights;
};

// None unless `pd` is a matmul with K = 0 and a nonempty result.
std::optional<EmptyProduct> empty_product(const PrimitiveDesc &pd);
// Whether it has nothing to do and must not run: oneDNN launches prelu over no elements on GPUs,
// which crashes or overwrites other memory.
bool is_idle(const PrimitiveDesc &pd);
// Whether the argument belongs to a factor of the product, which is replaced by zeros.
bool belongs_to_factor(int id);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Makes and transforms memory descriptors. Checks come first: oneDNN's own errors name no value,
// and it accepts some mistakes.
#pragma once

#include "base/enums.hpp"

namespace sycl_dnn {

desc make_row_major(const dims &shape, memory::data_type type);
desc make_with_tag(const dims &shape, memory::data_type type, const format_tag &tag);
desc make_with_strides(const dims &shape, memory::data_type type, const dims &strides);
desc make_csr(const dims &shape, memory::data_type type, int64_t nnz, memory::data_type index,
              memory::data_type pointer);
desc make_coo(const dims &shape, memory::data_type type, int64_t nnz, memory::data_type index);
desc make_packed(const dims &shape, memory::data_type type, int64_t nnz);

// With the strides that `canonical_strides` gives. Only what a plain layout says is made anew: a
// part keeps its offset, weights what they carry.
desc canonical(const desc &d);
desc submemory_of(const desc &whole, const dims &shape, const dims &offsets);
desc reshaped(const desc &d, const dims &shape);
desc permuted(const desc &d, const std::vector<int> &permutation);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Creation and transformation of memory descriptors. Arguments are validated first: oneDNN's errors
// include no values, and it accepts some invalid arguments.
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

// With the strides of `canonical_strides`. Only plain layouts are rebuilt: slices keep their
// offset, weights their extra data.
desc canonical(const desc &d);
desc submemory_of(const desc &whole, const dims &shape, const dims &offsets);
desc reshaped(const desc &d, const dims &shape);
desc permuted(const desc &d, const std::vector<int> &permutation);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bind.hpp"

namespace sycl_dnn {

// "f32 (8, 3, 227, 227) acdb": data type, logical shape and layout, for messages.
std::string describe(const desc &d);
// The layout only: "acdb", "strides=(9, 1)", "opaque 64 bytes".
std::string layout_of(const desc &d);
// "(8, 3)", with a question mark for a runtime dimension.
std::string text_of(const dims &values);
// Equivalent strides in canonical form. Irrelevant ones, of axes of length 1 and of empty tensors,
// become those of a dense array, since oneDNN's kernels depend on them.
dims canonical_strides(const dims &shape, const dims &strides);
// Whether elements are contiguous in row-major order.
bool is_row_major(const desc &d);
// The same with axis 1 innermost; equivalent for fewer than three axes.
bool is_channels_last(const desc &d);
// Bytes from the first element to the end of the last one. Unlike desc::get_size, it does not count
// the part of a strided view's last row that is outside the view.
size_t extent(const desc &d);
// Blocked without inner blocks and padding: a layout that an array can have.
bool is_plain(const desc &d);
// Whether tensors of equal shape have their elements at equal offsets.
bool same_offsets(const desc &a, const desc &b);
// Whether all bytes from the first to the last element belong to the tensor or its padding.
bool is_dense(const desc &d);
// The tag of a dense blocked layout in oneDNN's letters, "" if there are gaps.
std::string dense_tag(const desc &d);
// Number of logical elements; -1 with runtime dimensions.
int64_t element_count(const desc &d);
int64_t element_count(const dims &shape);
bool has_runtime_dims(const desc &d);
// Whether the elements, and the range of the strides, number fewer than 2**56: above that, oneDNN's
// size computations overflow and small buffers seem large enough. Unknown sizes count as 1.
bool is_countable(const dims &shape);
bool is_within_reach(const dims &shape, const dims &strides);
int bits_of(memory::data_type type);
const char *name_of(memory::data_type type);

}  // namespace sycl_dnn

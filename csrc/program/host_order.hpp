// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program/host_sequence.hpp"

namespace sycl_dnn {

// The indices of the first elements of rows in order; equal ones keep theirs, and NaN is the
// greatest. arrays: src, dst. sizes: rows, columns; those of dst; steps of src; whether it has
// float32, else int32; whether the greatest are first.
void order_rows(const HostSequence::operation &o, float *const *arrays);
constexpr size_t n_order_sizes = 7;

}  // namespace sycl_dnn

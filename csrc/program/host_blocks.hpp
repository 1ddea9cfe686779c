// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program/host_sequence.hpp"

namespace sycl_dnn {

// Products with matrices of narrow numbers in tiles (kernels/tiled_blocks.py), whose other operand
// is rounded to 8-bit integers. arrays: x (m, k); factors of its normalized rows; a summand; the
// matrices; the results (m, n). The second and the third may be missing. sizes: m, k, number of the
// kind, then n of each matrix. numbers: epsilon. functions: the activation of the product with the
// first of two matrices, which multiplies the other.
void multiply_blocks(const HostSequence::operation &o, float *const *arrays);
constexpr size_t n_block_sizes = 4;
// The multiplications of it.
int64_t work_of_blocks(const HostSequence::operation &o);

}  // namespace sycl_dnn

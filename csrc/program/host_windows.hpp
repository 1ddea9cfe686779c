// SPDX-License-Identifier: Apache-2.0
// Windows of images as operations of host sequences: host_windows.cpp says what the sizes are.
#pragma once

#include "program/host_sequence.hpp"

namespace sycl_dnn {

constexpr size_t n_window_sizes = 23;

void convolve(const HostSequence::operation &o, float *const *arrays);
void convolve_narrow(const HostSequence::operation &o, float *const *arrays);
void convolve_transposed(const HostSequence::operation &o, float *const *arrays);
void convolve_depthwise(const HostSequence::operation &o, float *const *arrays);
void find_greatest(const HostSequence::operation &o, float *const *arrays);
void average_windows(const HostSequence::operation &o, float *const *arrays);
// The multiplications of a convolution, as those of a product.
int64_t work_of_windows(const HostSequence::operation &o);

}  // namespace sycl_dnn

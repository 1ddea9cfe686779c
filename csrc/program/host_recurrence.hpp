// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program/host_sequence.hpp"

namespace sycl_dnn {

// One layer of a recurrent network in one direction. arrays: src, weights, state weights, bias,
// state, cell state, dst, last state, last cell state; cell states of an LSTM only. sizes: kind of
// cell, steps, samples, channels, elements of the state, whether steps are in reverse order, step
// between rows of dst.
void recur(const HostSequence::operation &o, float *const *arrays);
constexpr size_t n_recurrence_sizes = 7;

}  // namespace sycl_dnn

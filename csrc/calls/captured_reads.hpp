// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bind.hpp"

namespace sycl_dnn {

// Whether each of `reads`, a tuple (function, argument, value), gives its value again: the same
// object, a tuple of the same objects, or one that `same(current, value)` accepts. A weak reference
// stands for its referent. A read that fails gives another value.
bool unchanged(const py::tuple &reads, py::handle same);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sycl/sycl.hpp>
#include <vector>

#include "engine/stream.hpp"

namespace sycl_dnn {

// Uses dpctl's order manager once: concurrent first uses are not safe.
void prepare_order();

// Orders one call with dpnp's work on the queue, if the stream is ordered.
class OrderedCall {
  public:
    // Appends the events that the call must wait for.
    OrderedCall(const Stream &stream, std::vector<sycl::event> &depends);
    // Orders the call with dpnp's work on another queue, too, which an array belongs to.
    void follow(const py::object &queue, std::vector<sycl::event> &depends);
    // Registers the call's (Python) event with dpnp.
    void submitted(const py::object &event) const;

  private:
    std::vector<py::object> managers;
};

}  // namespace sycl_dnn

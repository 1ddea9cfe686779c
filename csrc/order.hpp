// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sycl/sycl.hpp>
#include <vector>

#include "stream.hpp"

namespace sycl_dnn {

// Makes the first use of dpctl's order manager, which several threads must not make at once.
void prepare_order();

// Puts one call into the sequence that dpnp's work on the queue forms, if the stream is ordered.
class OrderedCall {
  public:
    // Appends what the call must wait for.
    OrderedCall(const Stream &stream, std::vector<sycl::event> &depends);
    // Tells dpnp of the call's (Python) event.
    void submitted(const py::object &event) const;

  private:
    py::object manager;
};

}  // namespace sycl_dnn

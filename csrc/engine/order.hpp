// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <sycl/sycl.hpp>
#include <vector>

#include "engine/stream.hpp"

namespace sycl_dnn {

// Uses dpctl's order manager once: concurrent first uses are not safe.
void prepare_order();

// Whether everything that dpnp and this package have submitted to a CPU's queue in order is
// complete.
bool is_idle(const Stream &stream);

// Orders one call with dpnp's work on the queue, if the stream is ordered. Other calls on the queue
// wait until it ends: those that looked at the same order would run at the same time.
class OrderedCall {
  public:
    // Appends the events that the call must wait for.
    OrderedCall(const Stream &stream, std::vector<sycl::event> &depends);
    // The same for dpnp's work on an array of another queue (null: of none), which is in the order
    // of that one.
    void follow_array(const Stream &stream, const sycl::queue *queue, py::handle array,
                      std::vector<sycl::event> &depends);
    // Registers the call's (Python) event with dpnp.
    void submitted(const py::object &event) const;

  private:
    void follow(const py::object &queue, std::vector<sycl::event> &depends);

    std::unique_lock<std::recursive_timed_mutex> turn;
    std::vector<py::object> managers;
};

}  // namespace sycl_dnn

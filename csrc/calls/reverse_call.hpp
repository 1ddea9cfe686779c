// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "calls/call_plan.hpp"

namespace sycl_dnn {

// What a forward pass saves for its reverse pass, as a tuple: stream, pool, memory class of
// results, a tuple of arrays, and frozen arrays by argument index, or None. Arrays are
// usm_ndarrays or dpctl.memory objects.
py::tuple saved_values(const CallFrame &frame, const CallPlan &plan, const py::object &stream,
                       const py::object &pool);
// A pullback over the saved values: an instance of `type`, as its `__init__` would create it.
py::object pullback_of(const py::object &type, const py::object &plan, const py::tuple &saved);

// Repeats the reverse pass of a plan without Python.
class ReverseCall {
  public:
    ReverseCall(ArrayTypes types, std::shared_ptr<CallPlan> plan);

    // The gradients, given those of the results; NotImplemented if Python must handle the call.
    py::object call(py::handle saved, py::handle dy) const;
    // Repeats calls with gradients of this form, if they are `arrays` in the program's layouts.
    void remember(const py::object &dy, const py::list &arrays);

  private:
    CallKey key_of(py::handle dy) const;

    const ArrayTypes types;
    const std::shared_ptr<CallPlan> plan;
    std::vector<std::string> keys;
};

}  // namespace sycl_dnn

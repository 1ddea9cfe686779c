// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "calls/call_plan.hpp"

namespace sycl_dnn {

// What a forward pass leaves for its reverse pass, as a tuple: stream, pool, the class of memory
// that results have, a tuple of arrays, and the frozen arrays by number of the argument, or None.
// Arrays are usm_ndarrays, dpctl.memory objects, bytes of host scalars.
py::tuple kept_of(const CallFrame &frame, const CallPlan &plan, const py::object &stream,
                  const py::object &pool);
// The pullback over what was kept: an instance of `type`, as its `__init__` would make it.
py::object pullback_of(const py::object &type, const py::object &plan, const py::tuple &kept);

// Repeats the reverse pass of a plan without Python.
class ReverseCall {
  public:
    ReverseCall(ArrayTypes types, std::shared_ptr<CallPlan> plan);

    // The gradients for those of the results; NotImplemented if Python must do it.
    py::object call(py::handle kept, py::handle dy) const;
    // Repeats calls with gradients like these, if they are `arrays`: in the program's layouts.
    void remember(const py::object &dy, const py::list &arrays);

  private:
    CallKey key_of(py::handle dy) const;

    const ArrayTypes types;
    const std::shared_ptr<CallPlan> plan;
    std::vector<std::string> known;
};

}  // namespace sycl_dnn

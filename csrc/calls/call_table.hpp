// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>

#include "calls/call_plan.hpp"
#include "calls/recorded_calls.hpp"

namespace sycl_dnn {

// How keys are made from arguments.
struct CallRules {
    bool of_compiled = false;            // floats vary; frozen arrays are constants, by identity
    py::object constants = py::tuple();  // positions and names of other constant arguments
    bool is_constant(py::handle name) const { return constants.contains(name); }
};

// Repeats calls without running Python code: an index into a cache of plans (call/cache.py).
// Unknown calls are handled by Python, which then adds them.
class CallTable {
  public:
    // A known call: what it runs, and how long the entry is valid.
    struct entry {
        std::shared_ptr<CallPlan> plan;
        py::object owner;  // weak reference to the plan in the cache
        py::object stream, pool;
        py::object key;      // key in the cache
        py::object guard;    // weak reference to a check; None: nothing captured can change
        py::object reverse;  // class with the slots `_plan`, `_kept`: the pullback; or None
        std::vector<py::object> holds;
        size_t used = 0;  // last use, counted in calls; 0: never
        // Places of numbers that the plan needs the values of. If there are any, the entry of the
        // key without values only says so, and has no plan.
        std::vector<size_t> fixed;
    };

    CallTable(ArrayTypes types, CallRules rules);

    // The result, or NotImplemented if Python must handle the call. Calls are identified by the
    // items of `subject`.
    py::object call(py::handle subject, py::handle args, py::handle kwargs, py::handle out);
    // Adds a call, if `arrays` and `numbers` are those found in it, in this order.
    void remember(py::handle subject, py::handle args, py::handle kwargs, py::handle out,
                  const py::list &arrays, const std::vector<double> &numbers, entry added);
    // Adds a call over values of a run to the point where it was made.
    void remember_run(CallPoint &point, py::handle subject, py::handle args, py::handle kwargs,
                      RecordedCall call) const;
    // The values of arrays that a function is given, and captures; NotImplemented if Python must
    // make them.
    py::object argument(py::handle run, py::handle value, py::handle marks) const;
    py::object capture(py::handle subject, py::handle run, py::handle value,
                       py::handle marks) const;
    void remember_capture(CallPoint &point, py::handle subject, py::handle value,
                          RecordedCall call) const;
    // The keys of plans used since the last call of this function, in order.
    std::vector<py::object> used();
    void forget_dropped();
    void clear();

    size_t capacity = 1024;
    size_t hits = 0;
    const ArrayTypes types;

  private:
    CallKey key_of(py::handle subject, py::handle args, py::handle kwargs, py::handle out,
                   bool keeps) const;
    void add_argument(CallKey &key, py::handle name, py::handle value) const;
    // The entry of a call, or null; adds the numbers that its plan needs to the key.
    std::shared_ptr<entry> entry_of(CallKey &key) const;
    py::object run(const entry &e, CallKey &&key, py::handle given_out) const;
    void replace(const std::string &bytes, entry added);
    void forget();

    size_t n_calls = 0;
    const CallRules rules;
    const bool has_constants;
    std::unordered_map<std::string, std::shared_ptr<entry>> entries;
};

}  // namespace sycl_dnn

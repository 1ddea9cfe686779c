// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>

#include "calls/call_plan.hpp"

namespace sycl_dnn {

// How the arguments of a call make its key.
struct CallRules {
    bool holds_frozen = false;           // frozen arrays are constants, distinguished by identity
    py::object constants = py::tuple();  // numbers and names of arguments whose arrays are
    py::object key_of = py::none();      // key_of(function) distinguishes functions; None: one
    bool is_constant(py::handle name) const { return constants.contains(name); }
};

// Repeated calls without Python code: an index into the plans of a cache (call/cache.py).
// Unknown calls are handled by Python, which then adds them.
class CallTable {
  public:
    // What a known call runs, and how long the entry is valid.
    struct entry {
        std::shared_ptr<CallPlan> plan;
        py::object owner;  // weak reference to what the cache keeps: gone when that is dropped
        py::object stream, pool;
        py::object key;      // of the cache
        py::object guard;    // weak reference to a check; None: nothing that is held can change
        py::object reverse;  // class with the slots `_plan`, `_kept`: the pullback; or None
        std::vector<py::object> holds;
        size_t used = 0;  // last use, counted in calls; 0: not since it was added
    };

    CallTable(ArrayTypes types, CallRules rules);

    // The result; NotImplemented if Python must do it. Calls are distinguished by `subject`, by
    // the identity of its items; `function` is passed to the guard.
    py::object call(py::handle function, py::handle subject, py::handle args, py::handle kwargs,
                    py::handle out);
    // Adds such a call, if `arrays` are those that it finds in it, in this order.
    void remember(py::handle function, py::handle subject, py::handle args, py::handle kwargs,
                  py::handle out, const py::list &arrays, entry made);
    // The keys of plans that were used since the last time, in order.
    std::vector<py::object> used();
    void forget_dropped();
    void clear();

    size_t capacity = 1024;
    size_t hits = 0;
    const ArrayTypes types;

  private:
    CallKey key_of(py::handle function, py::handle subject, py::handle args, py::handle kwargs,
                   py::handle out, bool keeps) const;
    void add_argument(CallKey &key, py::handle name, py::handle value) const;
    py::object run(const entry &e, CallKey &&key, const py::tuple &held,
                   py::handle given_out) const;
    void forget();

    size_t n_calls = 0;
    const CallRules rules;
    const bool has_constants;
    std::unordered_map<std::string, std::shared_ptr<entry>> entries;
};

}  // namespace sycl_dnn

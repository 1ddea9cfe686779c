// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>

#include "calls/call_key.hpp"

namespace sycl_dnn {

// A call that a user's function made in an earlier run, and what it returned.
struct RecordedCall {
    py::object body, settings;  // the function to repeat, and its settings
    py::object description;     // shape, dtype and strides of a single new value; else None
    py::object results;         // `results.build(recording)` returns others, or `build_views`
    bool is_view;               // whether results share the marks of the first argument
    py::object after;           // the point after it
    std::vector<py::object> holds;
};

// What a user's function has called so far: which calls came next in earlier runs. The base of
// sycl_dnn/call/call_paths.py: Point.
class CallPoint {
  public:
    std::unordered_map<std::string, std::shared_ptr<RecordedCall>> next;
    void forget() {
        decltype(next) dropped;  // destroyed on return, since that may run Python code
        dropped.swap(next);
    }
};

// One run of a user's function. The base of sycl_dnn/call/recorded_calls.py: Recording.
class RecordedRun {
  public:
    py::object point = py::none();  // a CallPoint; None: the run cannot be recognized
    py::list seen, calls, held;
    const void *queue = nullptr;  // dpctl's reference of an argument's
    py::set viewed;               // addresses of the lists of marks that views share
    bool is_traced = false;
};

// The result of a call over values of a run; NotImplemented if it is not known at this point.
py::object repeat_recorded(const ArrayTypes &types, const CallKey &key, const py::tuple &args,
                           const py::dict &kwargs);

// The value of an array that a function is given; NotImplemented if Python must read it.
py::object recorded_argument(const ArrayTypes &types, py::handle run, py::handle value,
                             py::handle marks);

// The value of an array that a function captures; NotImplemented if it is not known at this point.
// `key` is that of the array.
py::object repeat_capture(const ArrayTypes &types, const CallKey &key, py::handle run,
                          py::handle value, py::handle marks);

// Adds a call to the point where it was made.
void remember_recorded(CallPoint &point, CallKey &&key, RecordedCall call);
void remember_capture(CallPoint &point, CallKey &&key, RecordedCall call);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>

#include "call_key.hpp"
#include "result_form.hpp"
#include "result_pool.hpp"

namespace sycl_dnn {

// A traced function of one program, and what a call of it must allocate. Arrays have numbers:
// first those of the call, then those that the function holds, then what is packed once, then what
// is allocated.
struct CallPlan {
    struct blank {
        size_t number;
        size_t nbytes;
        py::object shape;    // None: bytes in a layout of oneDNN's own
        py::object strides;  // None: row-major
        py::object dtype;
    };
    struct packed {
        size_t number;
        py::object recipe;  // the key of the copy among those of the frozen array
        size_t source;      // number of that array
        py::object frozen;  // itself, where the call does not give it; else None
    };
    struct fixed {
        size_t number;
        py::object array;  // dpnp.ndarray, carried or frozen: `get_array()`
    };

    py::object program;
    std::vector<size_t> reads;  // numbers of the arrays that the program takes
    size_t n_arrays;
    std::vector<blank> blanks;
    std::vector<packed> constants;
    std::vector<fixed> captured;
    ResultForm form;
};

// How the arguments of a call make its key.
struct CallRules {
    bool holds_frozen = false;           // frozen arrays are constants, told apart by identity
    py::object constants = py::tuple();  // numbers and names of arguments whose arrays are
    bool is_constant(py::handle name) const { return constants.contains(name); }
};

// Repeated calls without Python in between: an index into a cache of plans (call/cache.py, or
// that of a compiled function). What it does not know takes the way through Python, which then
// tells it.
class CallTable {
  public:
    CallTable(ArrayTypes types, const py::object &move_to_end, CallRules rules);
    // A table over another cache.
    std::shared_ptr<CallTable> sibling(const py::object &move_to_end, CallRules rules) const;

    // The result; NotImplemented where Python must do it.
    py::object call(const py::object &operation, const py::object &policy, const py::tuple &args,
                    const py::dict &kwargs, const py::object &out);
    // Remembers the plan of such a call, cached under `key`, and what belongs to its queue. It
    // holds as long as `guard(operation)` does not return None.
    void remember(const py::object &operation, const py::object &policy, const py::tuple &args,
                  const py::dict &kwargs, const py::object &out, const py::object &key,
                  const std::shared_ptr<CallPlan> &plan, const py::object &stream,
                  const std::shared_ptr<ResultPool> &pool, const py::object &guard);
    void clear();

    size_t capacity = 1024;
    size_t hits = 0;

  private:
    struct entry {
        std::shared_ptr<CallPlan> plan;
        py::object stream;
        std::shared_ptr<ResultPool> pool;
        py::object key;
        py::object guard;  // None: what the function holds cannot change
        std::vector<py::object> holds;
    };
    CallKey key_of(const py::object &operation, const py::object &policy, const py::tuple &args,
                   const py::dict &kwargs, const py::object &out) const;
    void add_argument(CallKey &key, py::handle name, py::handle value) const;
    bool is_cached(const entry &e) const;
    bool is_unchanged(const entry &e, const py::object &operation) const;
    bool fill_constants(const CallPlan &plan, const CallKey &key,
                        std::vector<py::object> &arrays) const;
    py::object allocated(const CallPlan::blank &blank, ResultPool &pool, size_t rank) const;
    py::object usm_array_of(py::handle array) const;
    char *address(py::handle array) const;
    py::object wrapped(const py::object &array, const py::object &carried_dtype) const;
    bool place_arrays(const entry &e, const CallKey &key, std::vector<py::object> &arrays) const;
    py::object run(const entry &e, const CallKey &key) const;
    void forget();

    const ArrayTypes types;
    const py::object move_to_end;
    const CallRules rules;
    // Not a static variable: making it may let another thread run, which would wait for it.
    const py::tuple keywords = py::make_tuple("dtype", "buffer", "strides");
    std::unordered_map<std::string, std::shared_ptr<entry>> entries;
};

}  // namespace sycl_dnn

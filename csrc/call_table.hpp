// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>

#include "call_key.hpp"
#include "result_pool.hpp"

namespace sycl_dnn {

// A traced function of one program, and what a call of it must allocate. Arrays have numbers:
// first those of the call, then what is packed once, then what is allocated.
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
    };

    py::object program;
    std::vector<size_t> reads;  // numbers of the arrays that the program takes
    size_t n_arrays;
    std::vector<blank> blanks;
    std::vector<packed> constants;
    size_t result;
    py::object carried_dtype;  // None: the result is a dpnp.ndarray
};

// Repeated calls without Python in between: an index into the cache of plans (dispatch/cache.py).
// What it does not know takes the way through Python, which then tells it.
class CallTable {
  public:
    CallTable(ArrayTypes types, const py::object &usm_ndarray, const py::object &wrap,
              const py::object &move_to_end);

    // The result; NotImplemented where Python must do it.
    py::object call(const py::object &operation, const py::object &policy, const py::tuple &args,
                    const py::dict &kwargs, const py::object &out);
    // Remembers the plan of such a call, cached under `key`, and what belongs to its queue.
    void remember(const py::object &operation, const py::object &policy, const py::tuple &args,
                  const py::dict &kwargs, const py::object &out, const py::object &key,
                  const std::shared_ptr<CallPlan> &plan, const py::object &stream,
                  const std::shared_ptr<ResultPool> &pool);
    void clear();

    size_t capacity = 1024;
    size_t hits = 0;

  private:
    struct entry {
        std::shared_ptr<CallPlan> plan;
        py::object stream;
        std::shared_ptr<ResultPool> pool;
        py::object key;
        std::vector<py::object> holds;
    };
    CallKey key_of(const py::object &operation, const py::object &policy, const py::tuple &args,
                   const py::dict &kwargs, const py::object &out) const;
    bool is_cached(const entry &e) const;
    bool fill_constants(const CallPlan &plan, const CallKey &key, py::list &arrays) const;
    py::object allocated(const CallPlan::blank &blank, ResultPool &pool, size_t rank) const;
    py::object run(const entry &e, const CallKey &key) const;
    void forget();

    const ArrayTypes types;
    const py::object usm_ndarray, wrap, move_to_end;
    // Not a static variable: making it may let another thread run, which would wait for it.
    const py::tuple keywords = py::make_tuple("dtype", "buffer", "strides");
    std::unordered_map<std::string, std::shared_ptr<entry>> entries;
};

}  // namespace sycl_dnn

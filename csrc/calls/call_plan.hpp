// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/call_key.hpp"
#include "calls/result_form.hpp"
#include "calls/result_pool.hpp"
#include "engine/stream.hpp"
#include "graph/graph_sequence.hpp"
#include "program/program.hpp"

namespace sycl_dnn {

// The submission, allocations and results of a traced function's call. Arrays are indexed: first
// those of the call, then captured ones, then constants computed once, then allocations.
struct CallPlan {
    struct packed {
        size_t number;
        py::object recipe;  // key of the copy in the cache of the frozen array
        size_t source;      // index of that array
        py::object frozen;  // the array, if it is not an argument; else None
    };
    struct fixed {
        size_t number;
        py::object array;  // dpnp.ndarray, carried or frozen: `get_array()`
    };
    struct converted {
        size_t number;
        py::object bytes;  // of a seed: a function of the call's floats
        py::object kind;   // memory class
        Blank blank;
    };

    py::object owner;  // owner of one of these:
    Program *program;
    const PartitionSequence *sequence;
    std::vector<size_t> reads;  // indices of the arrays that the program uses
    size_t n_arrays;
    std::vector<std::pair<size_t, Blank>> blanks;
    std::vector<packed> constants;
    std::vector<fixed> captured;
    ResultForm form;
    std::vector<size_t> saved;  // indices of the arrays that a reverse pass needs
    std::vector<converted> numbers;
};

// The arrays of one call.
struct CallFrame {
    std::vector<py::object> arrays;                     // usm_ndarrays, by index
    std::vector<py::object> arguments;                  // the first ones, as passed by the caller
    std::vector<std::pair<size_t, py::object>> frozen;  // by index
    std::vector<double> numbers;                        // the floats in the arguments
    py::object out;                                     // a usm_ndarray, or null
    py::handle kind;                                    // memory class of the results

    CallFrame(CallKey &&key, py::handle kind);
    // `arrays` may have the bytes of seeds, which are among the arguments.
    CallFrame(py::handle arrays, py::handle arguments, const std::vector<double> &numbers,
              py::handle kind);
    // Frozen arrays by number, or None.
    void add_frozen(py::handle by_number);
};

// Fills in the arrays of the program and submits it; false if Python must prepare something first.
bool submit_call(const ArrayTypes &types, const CallPlan &plan, const Stream &stream,
                 ResultPool &pool, CallFrame &frame);
// The result of the call.
py::object results_of(const ArrayTypes &types, const CallPlan &plan, const CallFrame &frame);

// A call whose plan Python has found; NotImplemented if it must prepare something first. `kept` is
// what `ReverseCall::call` takes.
py::object run_plan(const ArrayTypes &types, const CallPlan &plan, py::handle kept,
                    py::handle arguments, py::handle numbers);

}  // namespace sycl_dnn

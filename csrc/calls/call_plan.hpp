// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/call_key.hpp"
#include "calls/result_form.hpp"
#include "calls/result_pool.hpp"
#include "engine/stream.hpp"
#include "graph/graph_sequence.hpp"
#include "program/program.hpp"

namespace sycl_dnn {

// What a call of a traced function submits, allocates and returns. Arrays have numbers: first
// those of the call, then those that the function holds, then what is packed once, then what is
// allocated.
struct CallPlan {
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

    py::object runs;  // one of these, which live as long:
    Program *program;
    const PartitionSequence *sequence;
    std::vector<size_t> reads;  // numbers of the arrays that it reads
    size_t n_arrays;
    std::vector<std::pair<size_t, Blank>> blanks;
    std::vector<packed> constants;
    std::vector<fixed> captured;
    std::vector<size_t> tail;  // which of the arrays that the guard returns follow those of a call
    ResultForm form;
    std::vector<size_t> kept;  // numbers of what a reverse pass needs
};

// The arrays of one call.
struct CallFrame {
    std::vector<py::object> arrays;                     // usm_ndarrays, by number
    std::vector<py::object> given;                      // the first ones, as the caller has them
    std::vector<std::pair<size_t, py::object>> frozen;  // by number
    py::object out;                                     // a usm_ndarray, or null
    py::handle kind;                                    // the class of memory that results have

    CallFrame(CallKey &&key, py::handle kind);
    // Adds the arrays that a function holds; false where one is on another queue than `queue`.
    bool add_held(const ArrayTypes &types, const CallPlan &plan, const py::tuple &held,
                  const void *queue);
};

// Fills in the arrays of the program, and submits it; false if Python must make something first.
bool submit_call(const ArrayTypes &types, const CallPlan &plan, const Stream &stream,
                 ResultPool &pool, CallFrame &frame);
// What the call returns.
py::object results_of(const ArrayTypes &types, const CallPlan &plan, const CallFrame &frame);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fork.hpp"
#include "engine/free_processor.hpp"
#include "engine/submission.hpp"
#include "program/program.hpp"

namespace sycl_dnn {

// The address of a usm_ndarray or dpctl.memory object.
char *address_of(py::handle array);
// The addresses of the arrays of one call.
Program::arguments arguments_of(const Program &p, const py::list &arrays);

// Runs `submit(last)` without the GIL, which sets `last` at each step: if a later step fails, the
// earlier ones are in flight and use `owners`. Returns the event. `nbytes` is the size of the
// tensors.
template <class Submit>
py::object submit_steps(const failure_text &text, size_t nbytes, const Stream &stream,
                        const OrderedCall &order, owner_list &&owners, const Submit &submit) {
    refuse_after_fork();
    sycl::event last;
    const auto submit_now = [&] {
        submit(last);
        return last;
    };
    try {
        submit_or_raise(text, submit_now);
    } catch (...) {
        note_submitted(stream, order, last, std::move(owners), 0);
        throw;
    }
    return note_submitted(stream, order, last, std::move(owners), nbytes);
}

template <class Submit>
py::object submit_program(const Program &p, const Stream &stream, const OrderedCall &order,
                          owner_list &&owners, const Submit &submit) {
    if (stream.flight->is_cpu) leave_bound_processor();
    return submit_steps({nullptr, "intermediate values", p.arena_bytes}, p.array_bytes, stream,
                        order, std::move(owners), submit);
}

// Submits a `_core.Program` over a list of arrays after `depends`; returns the event.
py::object run_program(const py::object &program, const Stream &stream, const py::list &arrays,
                       const py::object &depends);

// The same over addresses; `owners` keep the program and the arrays alive.
py::object run_over(Program &p, const Stream &stream, const Program::arguments &arguments,
                    owner_list &&owners);

void bind_bound_program(py::module_ &m);

}  // namespace sycl_dnn

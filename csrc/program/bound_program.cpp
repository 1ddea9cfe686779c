// SPDX-License-Identifier: Apache-2.0
// Python class BoundProgram: a program with fixed arrays and intermediate memory, so that a call
// needs no preparation.
#include <memory>
#include <mutex>

#include "base/dpctl_api.hpp"
#include "program/run_program.hpp"

namespace sycl_dnn {

namespace {

struct BoundProgram {
    py::object program;
    py::object stream;
    py::object owners;  // arrays and arena
    py::object result;  // the result of a call
    Program::frame frame;
    // Calls share the intermediate memory, so each waits on the device for the previous one.
    std::unique_ptr<std::mutex> turn = std::make_unique<std::mutex>();
};

BoundProgram bind_arrays(const py::object &program, const py::object &stream,
                         const py::list &arrays, const py::object &arena,
                         const py::object &result) {
    const Program &p = program.cast<const Program &>();
    char *space = arena.is_none() ? nullptr : buffer_of(arena).pointer;
    if (p.arena_bytes > (arena.is_none() ? 0 : buffer_of(arena).nbytes))
        throw invalid_arguments("BoundProgram: arena must hold " + std::to_string(p.arena_bytes) +
                                " bytes");
    return {program, stream, py::make_tuple(py::tuple(arrays), arena), result,
            p.bind(arguments_of(p, arrays), space)};
}

// Submits after the previous call, which uses the same memory.
void submit_in_turn(BoundProgram &bound, const Program &p, const Stream &stream,
                    std::vector<sycl::event> &events, sycl::event &last) {
    const std::lock_guard<std::mutex> lock(*bound.turn);
    events.push_back(bound.frame.last_use);
    p.submit(stream, bound.frame, events, last);
}

py::object call_bound(const py::object &self) {
    BoundProgram &bound = self.cast<BoundProgram &>();
    const Stream &stream = bound.stream.cast<const Stream &>();
    Program &p = bound.program.cast<Program &>();
    std::vector<sycl::event> events;
    const OrderedCall order(stream, events);
    p.before_run(stream, events);
    submit_program(p, stream, order, {self},
                   [&](sycl::event &last) { submit_in_turn(bound, p, stream, events, last); });
    return bound.result;
}

py::object submit_all(const py::sequence &programs) {
    if (programs.size() == 0) return py::none();
    const py::tuple all(programs);  // the sequence may change meanwhile
    std::vector<BoundProgram *> sequence;
    std::vector<Program *> plans;
    for (const auto &item : all) {
        sequence.push_back(item.cast<BoundProgram *>());
        plans.push_back(sequence.back()->program.cast<Program *>());
    }
    const py::object first = sequence.front()->stream;
    for (const BoundProgram *bound : sequence)
        if (!bound->stream.is(first))
            throw invalid_arguments("submit: plans must be bound on one queue");
    const Stream &stream = first.cast<const Stream &>();
    std::vector<sycl::event> events;
    const OrderedCall order(stream, events);
    for (Program *plan : plans) plan->before_run(stream, events);
    return submit_program(*plans.front(), stream, order, {all}, [&](sycl::event &last) {
        for (size_t i = 0; i < sequence.size(); ++i)
            submit_in_turn(*sequence[i], *plans[i], stream, events, last);
    });
}

}  // namespace

void bind_bound_program(py::module_ &m) {
    py::class_<BoundProgram>(m, "BoundProgram", "A program with its arrays: calling it submits it.")
        .def(py::init(&bind_arrays), py::arg("program"), py::arg("stream"), py::arg("arrays"),
             py::arg("arena"), py::arg("result"))
        .def("__call__", &call_bound, "Submit; return the bound result.")
        .def_readonly("result", &BoundProgram::result);
    m.def("submit_all", &submit_all, py::arg("bound"),
          "Submit programs that were bound on one stream, in order, as one call.");
}

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Python class Program: how sycl_dnn.dispatch hands over a traced function.
#include "bind_program.hpp"

#include "dpctl_api.hpp"
#include "errors.hpp"
#include "fork.hpp"
#include "host_lane.hpp"
#include "in_flight.hpp"
#include "order.hpp"
#include "program.hpp"

namespace sycl_dnn {

namespace {

Program::value value_of(const py::tuple &row) {
    Program::value v;
    const auto where = row[0].cast<std::string>();
    v.where = where == "array"    ? Program::place::array
              : where == "arena"  ? Program::place::arena
              : where == "scalar" ? Program::place::scalar
                                  : Program::place::memory;
    v.layout = row[3].cast<desc>();
    v.index = v.offset = 0;
    if (v.where == Program::place::memory) {
        v.memory = row[1].cast<const Memory &>().handle;
    } else {
        v.index = row[1].cast<size_t>();
        v.offset = row[2].cast<size_t>();
    }
    return v;
}

void check_step(const Primitive &p, const Program::step &step,
                const std::vector<Program::value> &values) {
    for (const Slot &slot : p.slots) {
        const auto is_it = [&](const auto &a) { return a.first == slot.id; };
        const auto found = std::find_if(step.args.begin(), step.args.end(), is_it);
        if (found == step.args.end()) {
            if (slot.required || slot.id == DNNL_ARG_SCRATCHPAD)
                throw invalid_arguments(std::string("Program: ") + p.pd->name + " misses " +
                                        std::string(py::str(slot.name)));
            continue;
        }
        const desc &given = values.at(found->second).layout;
        if (slot.check == Slot::rule::same_desc && slot.id != DNNL_ARG_SCRATCHPAD &&
            slot.layout != given)
            throw invalid_arguments(std::string("Program: ") + std::string(py::str(slot.name)) +
                                    " of " + p.pd->name + " must be " + describe(slot.layout) +
                                    ", got " + describe(given));
    }
}

std::unique_ptr<Program> make_program(const Engine &engine, const py::list &values,
                                      const py::list &steps, size_t n_arguments,
                                      size_t arena_bytes) {
    std::vector<Program::value> made;
    for (const auto &row : values) made.push_back(value_of(row.cast<py::tuple>()));
    std::vector<Program::step> sequence;
    for (const auto &item : steps) {
        const auto row = item.cast<py::tuple>();
        Program::step step{nullptr, row[1].cast<std::vector<std::pair<int, int>>>()};
        if (!row[0].is_none()) {
            step.primitive = row[0].cast<const Primitive *>();
            check_step(*step.primitive, step, made);
        }
        sequence.push_back(std::move(step));
    }
    return std::make_unique<Program>(engine, std::move(made), std::move(sequence), n_arguments,
                                     arena_bytes, py::make_tuple(values, steps));
}

// Arrays give their address, host scalars come as bytes in the value's data type.
Program::arguments arguments_of(const Program &p, const py::list &given) {
    static PyObject *const pointer = PyUnicode_InternFromString("_pointer");
    const size_t n = given.size();
    if (n != p.n_arguments)
        throw invalid_arguments("Program: takes " + std::to_string(p.n_arguments) +
                                " arrays, got " + std::to_string(n));
    Program::arguments found{std::vector<char *>(n, nullptr), {}};
    for (size_t i = 0; i < n; ++i) {
        PyObject *item = PyList_GET_ITEM(given.ptr(), i);
        if (PyBytes_CheckExact(item)) {
            found.scalars.resize(n);
            found.scalars[i] = py::reinterpret_borrow<py::bytes>(item);
            continue;
        }
        const auto address = py::reinterpret_steal<py::object>(PyObject_GetAttr(item, pointer));
        if (!address) throw py::error_already_set();
        found.arrays[i] = static_cast<char *>(PyLong_AsVoidPtr(address.ptr()));
        if (PyErr_Occurred()) throw py::error_already_set();
    }
    return found;
}

// Submits without the GIL; turns what goes wrong into the errors of sycl_dnn.errors.
template <class Submit>
sycl::event submit_or_raise(const Program &p, Submit submit) {
    refuse_after_fork();
    try {
        py::gil_scoped_release nogil;
        return submit();
    } catch (const dnnl::error &e) {
        raise_status(e.status, e.message);
    } catch (const std::bad_alloc &) {
        raise_status(dnnl_out_of_memory, "no device memory for " + std::to_string(p.arena_bytes) +
                                             " bytes of intermediate values");
    } catch (const sycl::exception &e) {
        raise_status(dnnl_runtime_error, e.what());
    }
}

// Tells dpnp and the queue's record of a submission that uses `owners`.
py::object register_call(const Stream &stream, const OrderedCall &order, const sycl::event &event,
                         std::vector<PyObject *> &&owners, size_t nbytes) {
    for (PyObject *owner : owners) Py_INCREF(owner);
    const py::object made = make_event(event);
    order.submitted(made);
    stream.flight->add(event, std::move(owners), nbytes);
    return made;
}

// A program whose arrays and intermediate memory stay the same: one call has nothing to prepare.
struct BoundProgram {
    py::object program;
    py::object stream;
    py::object owners;  // arrays and arena
    py::object result;  // what a call returns
    Program::frame frame;
    // Calls share the intermediate memory, so each waits on the device for the one before.
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
    return {program, stream, py::make_tuple(arrays, arena), result,
            p.bind(arguments_of(p, arrays), space)};
}

py::object call_bound(const py::object &self) {
    BoundProgram &bound = self.cast<BoundProgram &>();
    const Stream &stream = bound.stream.cast<const Stream &>();
    const Program &p = bound.program.cast<const Program &>();
    std::vector<sycl::event> events;
    const OrderedCall order(stream, events);
    const sycl::event event = submit_or_raise(p, [&] {
        const std::lock_guard<std::mutex> lock(*bound.turn);
        events.push_back(bound.frame.last_use);
        return p.submit(stream, bound.frame, events);
    });
    register_call(stream, order, event, {self.ptr()}, p.array_bytes);
    return bound.result;
}

py::object submit_all(const py::sequence &programs) {
    if (programs.size() == 0) return py::none();
    std::vector<BoundProgram *> sequence;
    std::vector<const Program *> plans;
    for (const auto &item : programs) {
        sequence.push_back(item.cast<BoundProgram *>());
        plans.push_back(sequence.back()->program.cast<const Program *>());
    }
    const py::object first = sequence.front()->stream;
    for (const BoundProgram *bound : sequence)
        if (!bound->stream.is(first))
            throw invalid_arguments("submit: plans must be bound on one queue");
    const Stream &stream = first.cast<const Stream &>();
    std::vector<sycl::event> events;
    const OrderedCall order(stream, events);
    const py::tuple all(programs);
    const sycl::event last = submit_or_raise(*plans.front(), [&] {
        sycl::event event;
        for (size_t i = 0; i < sequence.size(); ++i) {
            const std::lock_guard<std::mutex> lock(*sequence[i]->turn);
            events.push_back(sequence[i]->frame.last_use);
            event = plans[i]->submit(stream, sequence[i]->frame, events);
        }
        return event;
    });
    return register_call(stream, order, last, {all.ptr()}, 0);
}

}  // namespace

py::object run_program(const py::object &self, const Stream &stream, const py::list &given,
                       const py::object &depends) {
    Program &p = self.cast<Program &>();
    const auto arguments = arguments_of(p, given);
    std::vector<sycl::event> events;
    append_events(depends, events);
    const OrderedCall order(stream, events);
    const sycl::event event =
        submit_or_raise(p, [&] { return p.submit(stream, arguments, events); });
    return register_call(stream, order, event, {self.ptr(), given.ptr()}, p.array_bytes);
}

void bind_program(py::module_ &m) {
    py::class_<Program>(m, "Program", "A fixed sequence of primitives, submitted by one call.")
        .def(py::init(&make_program), py::arg("engine"), py::arg("values"), py::arg("steps"),
             py::arg("n_arguments"), py::arg("arena_bytes"))
        .def("run", &run_program, py::arg("stream"), py::arg("arrays"),
             py::arg("depends") = py::tuple(),
             "Submit with the arrays (objects that have ``_pointer``) and the bytes of the host "
             "scalars, by number; return the event of completion. Layouts are taken on trust.")
        .def_readonly("arena_bytes", &Program::arena_bytes)
        .def_property_readonly("n_steps", [](const Program &p) { return p.steps.size(); });
    py::class_<BoundProgram>(m, "BoundProgram", "A program with its arrays: calling it submits it.")
        .def(py::init(&bind_arrays), py::arg("program"), py::arg("stream"), py::arg("arrays"),
             py::arg("arena"), py::arg("result"))
        .def("__call__", &call_bound, "Submit; return the result that was bound.")
        .def_readonly("result", &BoundProgram::result);
    m.def("submit_all", &submit_all, py::arg("bound"),
          "Submit programs that were bound on one stream, in order, as one call.");
    m.def("host_lane", &HostLane::info,
          "How often a program took SYCL's other host threads out of use, and whether one does.");
}

}  // namespace sycl_dnn

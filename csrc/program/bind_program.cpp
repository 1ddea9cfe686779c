// SPDX-License-Identifier: Apache-2.0
// Python class Program: the form in which sycl_dnn.call submits a traced function.
#include <algorithm>

#include "engine/host_lane.hpp"
#include "program/run_program.hpp"

namespace sycl_dnn {

namespace {

Program::value value_of(const py::tuple &row, size_t n_arguments) {
    Program::value v;
    const auto kind = row[0].cast<std::string>();
    v.storage = kind == "array"   ? Program::place::array
                : kind == "arena" ? Program::place::arena
                                  : Program::place::memory;
    v.layout = row[3].cast<desc>();
    v.index = v.offset = 0;
    if (v.storage == Program::place::memory) {
        v.memory = row[1].cast<const Memory &>().handle;
    } else {
        v.index = row[1].cast<size_t>();
        v.offset = row[2].cast<size_t>();
    }
    if (v.storage == Program::place::array && v.index >= n_arguments)
        throw invalid_arguments("Program: values must name one of the " +
                                std::to_string(n_arguments) + " arguments, got number " +
                                std::to_string(v.index));
    return v;
}

void check_places(const Program::step &step, size_t n_values, bool is_fill) {
    const auto is_place = [&](const auto &a) {
        return a.second >= 0 && static_cast<size_t>(a.second) < n_values;
    };
    if (!std::all_of(step.args.begin(), step.args.end(), is_place) ||
        (is_fill && step.args.size() != 1))
        throw invalid_arguments("Program: steps must use values below " + std::to_string(n_values) +
                                ", and a fill exactly one");
}

void check_step(const Primitive &p, const Program::step &step,
                const std::vector<Program::value> &values) {
    for (const Slot &slot : p.slots) {
        const auto is_for_slot = [&](const auto &a) { return a.first == slot.id; };
        const auto bound = std::find_if(step.args.begin(), step.args.end(), is_for_slot);
        if (bound == step.args.end()) {
            if (slot.required || slot.id == DNNL_ARG_SCRATCHPAD)
                throw invalid_arguments(std::string("Program: ") + p.pd->name + " misses " +
                                        std::string(py::str(slot.name)));
            continue;
        }
        const desc &actual = values.at(bound->second).layout;
        if (slot.check == Slot::rule::same_desc && slot.id != DNNL_ARG_SCRATCHPAD &&
            slot.layout != actual)
            throw invalid_arguments(std::string("Program: ") + std::string(py::str(slot.name)) +
                                    " of " + p.pd->name + " must be " + describe(slot.layout) +
                                    ", got " + describe(actual));
    }
}

// Kernels that must be built before they run are built together.
void settle(const std::vector<Program::step> &steps, const std::vector<Program::value> &values) {
    std::vector<Kernel *> kernels;
    std::vector<size_t> nbytes;
    for (const Program::step &s : steps) {
        if (!s.kernel) continue;
        kernels.push_back(s.kernel);
        nbytes.push_back(0);
        for (const auto &[id, index] : s.args) nbytes.back() += values[index].layout.get_size();
    }
    Kernel::settle_together(kernels, nbytes);
}

std::unique_ptr<Program> make_program(const Engine &engine, const py::list &values,
                                      const py::list &steps, size_t n_arguments, size_t arena_bytes,
                                      size_t first_kept) {
    std::vector<Program::value> program_values;
    for (const auto &row : values)
        program_values.push_back(value_of(row.cast<py::tuple>(), n_arguments));
    // A memory may get another address later; the program keeps the current one.
    py::list owners;
    for (const auto &row : values)
        if (py::isinstance<Memory>(row.cast<py::tuple>()[1]))
            owners.append(row.cast<py::tuple>()[1].attr("owner"));
    std::vector<Program::step> sequence;
    for (const auto &item : steps) {
        const auto row = item.cast<py::tuple>();
        Program::step step{nullptr, nullptr, row[1].cast<std::vector<std::pair<int, int>>>()};
        check_places(step, program_values.size(), row[0].is_none());
        if (py::isinstance<Kernel>(row[0])) {
            step.kernel = row[0].cast<Kernel *>();
        } else if (!row[0].is_none()) {
            step.primitive = row[0].cast<const Primitive *>();
            check_step(*step.primitive, step, program_values);
        }
        sequence.push_back(std::move(step));
    }
    settle(sequence, program_values);
    return std::make_unique<Program>(engine, std::move(program_values), std::move(sequence),
                                     n_arguments, arena_bytes, first_kept,
                                     py::make_tuple(py::tuple(values), py::tuple(steps), owners));
}

}  // namespace

void bind_program(py::module_ &m) {
    py::class_<Program>(m, "Program",
                        "A fixed sequence of primitives and kernels, submitted by one call.")
        .def(py::init(&make_program), py::arg("engine"), py::arg("values"), py::arg("steps"),
             py::arg("n_arguments"), py::arg("arena_bytes"), py::arg("first_kept") = 0,
             "``first_kept`` is the first step that writes to arrays which a failed call would "
             "leave half written: before it all kernels are built, which the driver may refuse.")
        .def("run", &run_program, py::arg("stream"), py::arg("arrays"),
             py::arg("depends") = py::tuple(),
             "Submit with the arrays, objects that have ``_pointer``; return the event of "
             "completion. Layouts are not checked.")
        .def("finish_builds", &Program::finish_builds, py::arg("first") = 0,
             py::call_guard<ReleasedGil>(),
             "Wait until the driver has built the kernels from a step on; raise if it refuses one.")
        .def_readonly("arena_bytes", &Program::arena_bytes)
        .def_property_readonly("n_steps", [](const Program &p) { return p.steps.size(); });
    bind_kernel(m);
    bind_bound_program(m);
    m.def("host_lane", &HostLane::info,
          "How often a program has idled SYCL's other host threads, and whether one does now.");
}

}  // namespace sycl_dnn

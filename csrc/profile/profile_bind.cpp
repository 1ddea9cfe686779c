// SPDX-License-Identifier: Apache-2.0
// Python class Recorder, and records made by Python code: the C++ side of sycl_dnn.profile.
#include "engine/in_flight.hpp"
#include "profile/profile_registry.hpp"

namespace sycl_dnn {

using namespace profile;

namespace {

const char *name_of(clock time_source) {
    static constexpr const char *names[] = {"", "device", "host_task", "wall"};
    return names[static_cast<int>(time_source)];
}

py::tuple row_of(const tensor &t) {
    return py::make_tuple(t.argument, t.type, py::tuple(py::cast(t.shape)), t.layout);
}

py::dict row_of(const subject &s) {
    py::list tensors;
    for (const tensor &t : s.tensors) tensors.append(row_of(t));
    py::dict row;
    row["kind"] = s.kind;
    row["name"] = s.name;
    row["implementation"] = s.implementation;
    row["inserted"] = s.inserted;
    row["was_cached"] = s.was_cached;
    row["tensors"] = tensors;
    row["attr"] = s.attr ? py::cast(std::make_shared<PrimitiveAttr>(*s.attr)) : py::none();
    return row;
}

py::tuple row_of(const record &r) {
    return py::make_tuple(r.subject, r.begin, r.end, r.thread, r.queue, name_of(r.time_source),
                          r.submitted, r.started, r.finished);
}

py::dict row_of(const InFlight &flight) {
    const sycl::device device = flight.queue.get_device();
    py::dict row;
    row["device"] = device.get_info<sycl::info::device::name>();
    row["is_cpu"] = device.is_cpu();
    row["in_order"] = flight.queue.is_in_order();
    row["profiling"] = flight.queue.has_property<sycl::property::queue::enable_profiling>();
    return row;
}

// A copy made under the mutex, since creating Python objects may run other threads.
template <class T>
std::vector<T> copied(const std::vector<T> &values, size_t first) {
    std::lock_guard<std::mutex> lock(registry::instance().guard);
    return {values.begin() + std::min(first, values.size()), values.end()};
}

template <class T>
py::list rows_of(const std::vector<T> &values) {
    py::list rows;
    for (const T &value : values) rows.append(row_of(value));
    return rows;
}

py::list read_queues(const Recorder &self) {
    py::list rows;
    for (const auto &flight : copied(self.queues, 0)) rows.append(row_of(*flight));
    return rows;
}

std::vector<tensor> tensors_of(const py::list &rows) {
    std::vector<tensor> result;
    for (const auto &item : rows) {
        const auto row = item.cast<py::tuple>();
        result.push_back({row[0].cast<std::string>(), row[1].cast<std::string>(),
                          row[2].cast<dims>(), row[3].cast<std::string>()});
    }
    return result;
}

void note(const std::string &kind, const std::string &name, int64_t begin, int64_t end,
          const py::list &tensors, bool is_done) {
    record r{};
    r.begin = begin;
    r.end = end;
    r.thread = this_thread();
    if (is_done) {
        r.time_source = clock::wall;
        r.submitted = r.started = begin;
        r.finished = end;
    }
    subject executed{kind, name, "", false, {}, tensors_of(tensors), nullptr, nullptr};
    std::string variant = kind + " " + name;
    for (const tensor &t : executed.tensors) {
        variant += t.argument + t.type + t.layout;
        for (const auto n : t.shape) variant += "," + std::to_string(n);
    }
    registry::instance().add(r, nullptr, variant, [&] { return executed; });
}

}  // namespace

void bind_profile(py::module_ &m) {
    py::class_<Recorder>(m, "Recorder", "Records what the process runs, between start and stop.")
        .def(py::init<size_t, bool>(), py::arg("most"), py::arg("waits"),
             "Keep up to ``most`` records, count the others; ``waits``: run each to its end.")
        .def("start", &Recorder::start)
        .def("stop", &Recorder::stop)
        .def("settle", &Recorder::settle, "Wait until the times of all executions are known.")
        .def(
            "subjects",
            [](const Recorder &r, size_t first) { return rows_of(copied(r.subjects, first)); },
            py::arg("first") = 0, "What ran: kind, name, implementation, tensors, ...")
        .def(
            "records",
            [](const Recorder &r, size_t first) { return rows_of(copied(r.records, first)); },
            py::arg("first") = 0,
            "(subject, begin, end, thread, queue, clock, submitted, started, finished), times in "
            "ns "
            "of time.perf_counter_ns; the last three in those of ``clock``.")
        .def("queues", &read_queues, "The queues, to which records refer by number.")
        .def_readonly("dropped", &Recorder::dropped);
    m.def("is_recording", &is_on, "Whether a Recorder is on.");
    m.def(
        "is_recording_waits", [] { return n_waiting.load() != 0; },
        "Whether a Recorder is on that waits for each execution.");
    m.def("note", &note, py::arg("kind"), py::arg("name"), py::arg("begin"), py::arg("end"),
          py::arg("tensors") = py::list(), py::arg("is_done") = false,
          "Record something that Python did from ``begin`` to ``end``.");
}

}  // namespace sycl_dnn

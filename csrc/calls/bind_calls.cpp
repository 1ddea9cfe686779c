// SPDX-License-Identifier: Apache-2.0
// Python classes ResultPool, CallPlan and CallTable: the fast path of repeated calls.
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/fast_method.hpp"
#include "base/gil.hpp"
#include "calls/call_table.hpp"
#include "calls/captured_reads.hpp"
#include "calls/host_arrays.hpp"
#include "calls/kept_boxes.hpp"
#include "calls/new_modules.hpp"
#include "calls/reverse_call.hpp"
#include "engine/huge_pages.hpp"
#include "graph/graph_sequence.hpp"
#include "memory/watched_spans.hpp"
#include "program/run_program.hpp"

namespace sycl_dnn {

namespace {

// From the bytes, shape, strides and dtype of a Python Blank.
Blank blank_of(const py::tuple &row) {
    const py::object shape = row[1];
    const py::tuple sizes = shape.is_none() ? py::tuple() : py::tuple(shape);
    return {row[0].cast<size_t>(), shape, row[2], row[3], ArrayFacts(sizes, row[2], row[3])};
}

std::shared_ptr<CallPlan> make_call_plan(const py::object &program, std::vector<size_t> reads,
                                         size_t n_arrays, const py::list &blanks,
                                         const py::list &constants, const py::list &captured,
                                         const py::tuple &form, std::vector<size_t> saved,
                                         const py::list &numbers) {
    const bool is_sequence = py::isinstance<PartitionSequence>(program);
    auto *sequence = is_sequence ? program.cast<const PartitionSequence *>() : nullptr;
    auto *single_program = is_sequence ? nullptr : program.cast<Program *>();
    auto plan = std::make_shared<CallPlan>(CallPlan{program,
                                                    single_program,
                                                    sequence,
                                                    std::move(reads),
                                                    n_arrays,
                                                    {},
                                                    {},
                                                    {},
                                                    ResultForm(form),
                                                    std::move(saved),
                                                    {}});
    for (const auto &item : blanks) {
        const auto row = item.cast<py::tuple>();
        plan->blanks.emplace_back(row[0].cast<size_t>(), blank_of(row[1]));
    }
    for (const auto &item : constants) {
        const auto row = item.cast<py::tuple>();
        plan->constants.push_back({row[0].cast<size_t>(), row[1], row[2].cast<size_t>(), row[3]});
    }
    for (const auto &item : captured) {
        const auto row = item.cast<py::tuple>();
        plan->captured.push_back({row[0].cast<size_t>(), row[1]});
    }
    for (const auto &item : numbers) {
        const auto row = item.cast<py::tuple>();
        plan->numbers.push_back({row[0].cast<size_t>(), row[1], row[2], blank_of(row[3])});
    }
    return plan;
}

PartitionSequence make_sequence(const py::list &rows) {
    PartitionSequence sequence;
    for (const auto &item : rows) {
        const auto row = item.cast<py::tuple>();
        sequence.add(row[0], row[1].cast<std::unordered_map<size_t, size_t>>());
    }
    return sequence;
}

ArrayTypes make_array_types(const py::object &ndarray, const py::object &usm_ndarray,
                            const py::object &carried, const py::object &frozen,
                            std::vector<py::object> memory, const py::object &recorded,
                            const py::object &seed, const py::object &opened,
                            const py::object &dtype_name) {
    return {ndarray,  usm_ndarray, carried, frozen,    std::move(memory),
            recorded, seed,        opened,  dtype_name};
}

std::shared_ptr<CallTable> make_call_table(const ArrayTypes &types) {
    return std::make_shared<CallTable>(types, CallRules{});
}

std::shared_ptr<CallTable> sibling(const CallTable &table, const py::object &constants) {
    return std::make_shared<CallTable>(table.types, CallRules{true, constants});
}

void remember(CallTable &table, const py::object &subject, const py::tuple &args,
              const py::dict &kwargs, const py::object &out, const py::list &arrays,
              const py::object &key, const py::object &owner, const std::shared_ptr<CallPlan> &plan,
              const py::object &stream, const py::object &pool, const py::object &guard,
              const py::object &reverse, const std::vector<double> &numbers,
              std::vector<size_t> fixed) {
    table.remember(subject, args, kwargs, out, arrays, numbers,
                   {plan, owner, stream, pool, key, guard, reverse, {}, 0, std::move(fixed)});
}

py::object call_table(CallTable &table, PyObject *const *args) {
    return table.call(args[0], args[1], args[2], args[3]);
}

py::object call_argument(CallTable &table, PyObject *const *args) {
    return table.argument(args[0], args[1], args[2]);
}

py::object call_capture(CallTable &table, PyObject *const *args) {
    return table.capture(args[0], args[1], args[2], args[3]);
}

py::object call_reverse(ReverseCall &call, PyObject *const *args) {
    return call.call(args[0], args[1]);
}

py::object call_plan(CallPlan &plan, PyObject *const *args) {
    return run_plan(native<ArrayTypes>(args[0]), plan, args[1], args[2], args[3]);
}

void use_huge_pages(const py::object &queue, const py::object &memory, bool is_fresh) {
    const auto buffer = buffer_of(memory);
    const auto use = is_fresh ? request_huge_pages : move_to_huge_pages;
    const sycl::device device = queue_of(queue).get_device();
    ReleasedGil nogil;  // pages may be copied
    use(device, buffer.pointer, buffer.nbytes);
}

}  // namespace

void bind_calls(py::module_ &m) {
    const char *const kept =
        "Return the positions of boxes (n, 4), by decreasing score, that non-maximum suppression "
        "keeps, at most ``most``.";
    m.def("kept_boxes", &kept_boxes<float>, py::arg("boxes").noconvert(), py::arg("bound"),
          py::arg("most"), kept);
    m.def("kept_boxes", &kept_boxes<double>, py::arg("boxes"), py::arg("bound"), py::arg("most"),
          kept);
    m.def("host_copy", &host_copy, py::arg("type"), py::arg("array"),
          "Return a NumPy array with the values of a usm_ndarray (``type``), whose memory the CPU "
          "can access "
          "and on which no work is pending.");
    m.def("device_copy", &device_copy, py::arg("types"), py::arg("stream"), py::arg("pool"),
          py::arg("kind"), py::arg("array"),
          "Return a dpnp.ndarray with the values of a NumPy array, written now by the CPU into "
          "memory of the pool; None if work is unfinished, or the array must be converted.");
    m.def("use_huge_pages", &use_huge_pages, py::arg("queue"), py::arg("memory"),
          py::arg("is_fresh"),
          "Request huge pages for a dpctl.memory object of a CPU; moves pages already written.");
    m.def("unchanged", &unchanged, py::arg("reads"), py::arg("same"),
          "Return whether ``read(argument)`` of each of the tuples (read, argument, value) is the "
          "value, or a tuple of the same objects, or ``same(current, value)``. A weak reference "
          "stands "
          "for its referent; a read that raises gives another value.");
    using std::shared_ptr;
    py::class_<ResultPool, shared_ptr<ResultPool>>(
        m, "ResultPool", "Reuses the memory of a queue's dropped results.")
        .def(py::init<py::object, size_t>(), py::arg("queue"), py::arg("most"))
        .def("take", &ResultPool::take, py::arg("kind"), py::arg("nbytes"),
             "Return a dpctl.memory object of class ``kind`` with at least that many bytes.")
        .def_property_readonly("numbers", &ResultPool::numbers,
                               py::return_value_policy::reference_internal,
                               "The pool of the queue for what the host writes.")
        .def("drop_unused", &ResultPool::drop_unused, "Free the unused blocks.")
        .def_static("rounded", &ResultPool::rounded, py::arg("nbytes"),
                    "Return the size of the block for that many bytes.")
        .def_property_readonly("nbytes", &ResultPool::nbytes);
    py::class_<ArrayTypes>(m, "ArrayTypes", "The Python classes of the arrays in calls.")
        .def(py::init(&make_array_types), py::arg("ndarray"), py::arg("usm_ndarray"),
             py::arg("carried"), py::arg("frozen"), py::arg("memory"), py::arg("recorded"),
             py::arg("seed"), py::arg("opened"), py::arg("dtype_name"));
    py::class_<CallPoint>(m, "CallPoint", "What a user's function has called so far.")
        .def(py::init<>())
        .def("forget", [](CallPoint &point) { point.forget(); }, "Remove the calls after it.");
    py::class_<RecordedRun>(m, "RecordedRun", "One run of a user's function.")
        .def(py::init<>())
        .def_readwrite("point", &RecordedRun::point, "A ``CallPoint``, or None: not recognized.")
        .def_readwrite("seen", &RecordedRun::seen, "The values so far.")
        .def_readwrite("calls", &RecordedRun::calls, "The calls so far, as ``Recording`` has them.")
        .def_readwrite("held", &RecordedRun::held, "The arrays that it captured, in order.")
        .def_readwrite("viewed", &RecordedRun::viewed,
                       "Ids of the lists of marks that views share.")
        .def_readwrite("is_traced", &RecordedRun::is_traced, "Whether calls need Python.");
    m.def("new_modules", &new_modules, py::arg("nodes"), py::arg("leaves"), py::arg("is_traced"),
          "Return modules from the nodes of their form, over these leaves.");
    py::class_<PartitionSequence>(m, "PartitionSequence",
                                  "Compiled partitions that run in sequence.")
        .def(py::init(&make_sequence), py::arg("partitions"),
             "From pairs: a CompiledPartition, and the array index of each of its tensors.");
    py::class_<WatchedSpans>(m, "WatchedSpans",
                             "Memory from whose contents a program's constants were computed.")
        .def(py::init<>())
        .def("add", &WatchedSpans::add, py::arg("begin"), py::arg("end"),
             "Watch a span of addresses; the caller keeps its memory alive.")
        .def("are_unwritten", &WatchedSpans::are_unwritten,
             "Return whether ``note_write`` has named no part of a watched span.")
        .def_static("exist", &WatchedSpans::exist, "Return whether any span is watched.")
        .def_static("note_write", &WatchedSpans::note_write, py::arg("begin"), py::arg("end"),
                    "Record that a span of addresses is written.");
    py::class_<CallPlan, shared_ptr<CallPlan>> plan(
        m, "CallPlan", "A program or sequence, with the allocations and results of a call.");
    plan.def(py::init(&make_call_plan), py::arg("program"), py::arg("reads"), py::arg("n_arrays"),
             py::arg("blanks"), py::arg("constants"), py::arg("captured"), py::arg("form"),
             py::arg("kept") = py::tuple(), py::arg("numbers") = py::list());
    add_fast_method<CallPlan, 4, &call_plan>(
        plan, "run",
        "run(self: sycl_dnn._core.CallPlan, types: sycl_dnn._core.ArrayTypes, kept: object, "
        "arguments: list, numbers: list) -> object\n\n"
        "Run a call with these arguments and floats and return its results, or NotImplemented if "
        "constants are not there yet. ``kept`` as for ``ReverseCall.call``.");
    py::class_<ReverseCall> reverse(m, "ReverseCall", "Repeats the reverse pass of a plan.");
    reverse.def(py::init<ArrayTypes, shared_ptr<CallPlan>>(), py::arg("types"), py::arg("plan"))
        .def("remember", &ReverseCall::remember, py::arg("dy"), py::arg("arrays"),
             "Repeat calls with gradients like these, if ``arrays`` are those found in them.");
    add_fast_method<ReverseCall, 2, &call_reverse>(
        reverse, "call",
        "call(self: sycl_dnn._core.ReverseCall, kept: object, dy: object) -> object\n\n"
        "Return the gradients, or NotImplemented if the layout of ``dy`` is unknown. "
        "``kept``: stream, pool, class of memory, arrays, frozen arrays by number or None.");
    py::class_<CallTable, shared_ptr<CallTable>> table(
        m, "CallTable",
        "Repeats the calls that were added to it; knows dpnp only by what it is given.");
    table.def(py::init(&make_call_table), py::arg("types"))
        .def("sibling", &sibling, py::arg("constants") = py::tuple(),
             "Return a table for compiled functions, to which frozen arrays and the arguments with "
             "these numbers and names are constants; floats are not, without such arguments.")
        .def("remember", &remember, py::arg("subject"), py::arg("args"), py::arg("kwargs"),
             py::arg("out"), py::arg("arrays"), py::arg("key"), py::arg("owner"), py::arg("plan"),
             py::arg("stream"), py::arg("pool"), py::arg("guard") = py::none(),
             py::arg("reverse") = py::none(), py::arg("numbers") = std::vector<double>(),
             py::arg("fixed") = std::vector<size_t>(),
             "Let calls like this one run ``plan``, if ``arrays`` and the floats ``numbers`` are "
             "those found in it, and the floats at the places ``fixed`` are equal, as long as the "
             "referent of the weak reference ``owner`` exists, and the function that "
             "``guard`` weakly refers to, called without arguments, returns true. With "
             "``reverse``, a class, they return the result and an instance with the attributes "
             "``_plan``, the owner, and ``_kept``, the argument of ``ReverseCall.call``.")
        .def(
            "remember_run",
            [](const CallTable &table, CallPoint &point, py::handle subject, py::handle args,
               py::handle kwargs, const py::object &body, const py::object &settings,
               const py::object &description, const py::object &results, bool is_view,
               const py::object &after) {
                table.remember_run(point, subject, args, kwargs,
                                   {body, settings, description, results, is_view, after, {}});
            },
            py::arg("point"), py::arg("subject"), py::arg("args"), py::arg("kwargs"),
            py::arg("body"), py::arg("settings"), py::arg("description"), py::arg("results"),
            py::arg("is_view"), py::arg("after"),
            "Let a call over values of a ``RecordedRun`` at this point go to the point ``after``: "
            "it returns a new value of this description, or what ``results.build(run)`` does.")
        .def(
            "remember_capture",
            [](const CallTable &table, CallPoint &point, py::handle subject, py::handle value,
               const py::object &body, const py::object &settings, const py::object &description,
               const py::object &results, const py::object &after) {
                table.remember_capture(point, subject, value,
                                       {body, settings, description, results, false, after, {}});
            },
            py::arg("point"), py::arg("subject"), py::arg("value"), py::arg("body"),
            py::arg("settings"), py::arg("description"), py::arg("results"), py::arg("after"),
            "Let ``capture`` of such an array at this point go to the point ``after``: a call of "
            "``body(run, number)``, the number of the array among those held.")
        .def("used", &CallTable::used,
             "Return the keys of the plans used since the last call, in order.")
        .def("forget_dropped", &CallTable::forget_dropped,
             "Remove the calls whose owners no longer exist.")
        .def("clear", &CallTable::clear, "Remove everything.")
        .def_readwrite("capacity", &CallTable::capacity)
        .def_readonly("hits", &CallTable::hits);
    add_fast_method<CallTable, 4, &call_table>(
        table, "call",
        "call(self: sycl_dnn._core.CallTable, subject: tuple, args: tuple, kwargs: "
        "dict, out: object) -> object\n\n"
        "Return the result, or NotImplemented if the call is unknown. Calls are distinguished "
        "by the identity of the items of ``subject``, of lists in it, and of "
        "the values of context variables.");
    add_fast_method<CallTable, 3, &call_argument>(
        table, "argument",
        "argument(self: sycl_dnn._core.CallTable, run: object, value: object, marks: list) -> "
        "object\n\n"
        "Return the next value of a ``RecordedRun``, of an array that its function is given, or "
        "NotImplemented.");
    add_fast_method<CallTable, 4, &call_capture>(
        table, "capture",
        "capture(self: sycl_dnn._core.CallTable, subject: tuple, run: object, value: object, "
        "marks: list) -> object\n\n"
        "Return the next value of a ``RecordedRun``, of an array that its function captures, or "
        "NotImplemented if that is unknown; ``subject`` as for ``call``.");
}

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Python classes ResultPool, CallPlan and CallTable: the short way of repeated calls.
#include <sycl/sycl.hpp>

#include "call_table.hpp"
#include "dpctl_api.hpp"
#include "gil.hpp"
#include "huge_pages.hpp"

namespace sycl_dnn {

namespace {

std::shared_ptr<CallPlan> make_call_plan(const py::object &program, std::vector<size_t> reads,
                                         size_t n_arrays, const py::list &blanks,
                                         const py::list &constants, const py::list &captured,
                                         const py::tuple &form) {
    auto plan = std::make_shared<CallPlan>(
        CallPlan{program, std::move(reads), n_arrays, {}, {}, {}, ResultForm(form)});
    for (const auto &item : blanks) {
        const auto row = item.cast<py::tuple>();
        plan->blanks.push_back(
            {row[0].cast<size_t>(), row[1].cast<size_t>(), row[2], row[3], row[4]});
    }
    for (const auto &item : constants) {
        const auto row = item.cast<py::tuple>();
        plan->constants.push_back({row[0].cast<size_t>(), row[1], row[2].cast<size_t>(), row[3]});
    }
    for (const auto &item : captured) {
        const auto row = item.cast<py::tuple>();
        plan->captured.push_back({row[0].cast<size_t>(), row[1]});
    }
    return plan;
}

std::shared_ptr<CallTable> make_call_table(const py::object &ndarray, const py::object &usm_ndarray,
                                           const py::object &carried, const py::object &frozen,
                                           std::vector<py::object> memory,
                                           const py::object &move_to_end) {
    return std::make_shared<CallTable>(
        ArrayTypes{ndarray, usm_ndarray, carried, frozen, std::move(memory)}, move_to_end,
        CallRules{});
}

std::shared_ptr<CallTable> sibling(const CallTable &table, const py::object &move_to_end,
                                   const py::object &constants) {
    return table.sibling(move_to_end, CallRules{true, constants});
}

void use_huge_pages(const py::object &queue, const py::object &memory, bool is_fresh) {
    const auto buffer = buffer_of(memory);
    const auto use = is_fresh ? want_huge_pages : move_to_huge_pages;
    const sycl::device device = queue_of(queue).get_device();
    ReleasedGil nogil;  // as pages may be copied
    use(device, buffer.pointer, buffer.nbytes);
}

}  // namespace

void bind_calls(py::module_ &m) {
    m.def("use_huge_pages", &use_huge_pages, py::arg("queue"), py::arg("memory"),
          py::arg("is_fresh"),
          "Ask for huge pages behind a dpctl.memory object of a CPU; moves what is not fresh.");
    using std::shared_ptr;
    py::class_<ResultPool, shared_ptr<ResultPool>>(
        m, "ResultPool", "Memory of a queue's results that were dropped, used again.")
        .def(py::init<py::object, size_t>(), py::arg("queue"), py::arg("most"))
        .def("take", &ResultPool::take, py::arg("kind"), py::arg("nbytes"),
             "Return a dpctl.memory object of the class ``kind`` of at least so many bytes.")
        .def("drop_unused", &ResultPool::drop_unused, "Give back the blocks that nothing uses.")
        .def_static("rounded", &ResultPool::rounded, py::arg("nbytes"),
                    "Return the size of the block for so many bytes.")
        .def_readonly("nbytes", &ResultPool::held);
    py::class_<CallPlan, shared_ptr<CallPlan>>(
        m, "CallPlan", "A program, and what a call of it allocates and returns.")
        .def(py::init(&make_call_plan), py::arg("program"), py::arg("reads"), py::arg("n_arrays"),
             py::arg("blanks"), py::arg("constants"), py::arg("captured"), py::arg("form"));
    py::class_<CallTable, shared_ptr<CallTable>>(
        m, "CallTable", "Repeats calls that it was told of; knows dpnp only by what it is given.")
        .def(py::init(&make_call_table), py::arg("ndarray"), py::arg("usm_ndarray"),
             py::arg("carried"), py::arg("frozen"), py::arg("memory"), py::arg("move_to_end"))
        .def("sibling", &sibling, py::arg("move_to_end"), py::arg("constants") = py::tuple(),
             "Return a table over another cache, for functions to which frozen arrays and the "
             "arguments with these numbers and names are constants.")
        .def("call", &CallTable::call, py::arg("operation"), py::arg("policy"), py::arg("args"),
             py::arg("kwargs"), py::arg("out"),
             "Return the result, or NotImplemented where the call is not known.")
        .def("remember", &CallTable::remember, py::arg("operation"), py::arg("policy"),
             py::arg("args"), py::arg("kwargs"), py::arg("out"), py::arg("key"), py::arg("plan"),
             py::arg("stream"), py::arg("pool"), py::arg("guard") = py::none(),
             "Let calls like this one run ``plan`` as long as the cache has ``key`` and "
             "``guard(operation)`` is not None.")
        .def("clear", &CallTable::clear, "Forget everything.")
        .def_readwrite("capacity", &CallTable::capacity)
        .def_readonly("hits", &CallTable::hits);
}

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Python class CompiledPartition: checked by number, submitted, in flight.
#include "graph_compiled.hpp"

#include <oneapi/dnnl/dnnl_graph_sycl.h>

#include <list>
#include <mutex>
#include <oneapi/dnnl/dnnl_sycl.hpp>
#include <sycl/sycl.hpp>

#include "dpctl_api.hpp"
#include "errors.hpp"
#include "fork.hpp"
#include "in_flight.hpp"
#include "order.hpp"
#include "profile.hpp"
#include "scratchpad.hpp"
#include "stream.hpp"

namespace sycl_dnn {

namespace {

using tensors = std::vector<const GraphTensor *>;

struct call {
    tensors inputs, outputs;
    std::vector<PyObject *> owners;
    size_t nbytes = 0;
};

[[noreturn]] void refuse(const std::string &rule) {
    throw invalid_arguments("CompiledPartition.execute: " + rule);
}

void check_fit(const CompiledPartition &p, const logical &wanted, const GraphTensor &given,
               bool output) {
    const std::string what = output ? "output " : "input ";
    if (!same_layout(wanted, given.layout))
        refuse(what + "must be " + describe(wanted) + ", got " + describe(given.layout));
    if (given.engine && given.engine != p.engine.handle.get())
        refuse(what + describe(wanted) + " must be on the partition's engine (" +
               describe(p.engine) + "), got one on the " +
               describe(given.engine_object.cast<const Engine &>()));
    if (output && !given.writable) refuse(what + describe(wanted) + " must be writable");
}

// oneDNN takes tensors by position and does not look at their numbers.
tensors in_order(const CompiledPartition &p, const std::vector<logical> &wanted,
                 const py::sequence &given, bool output, call &c) {
    tensors found;
    std::vector<const GraphTensor *> all;
    for (const auto &item : given) {
        all.push_back(&item.cast<const GraphTensor &>());
        c.owners.push_back(item.ptr());
    }
    const char *what = output ? "outputs" : "inputs";
    for (const logical &t : wanted) {
        const GraphTensor *match = nullptr;
        for (const GraphTensor *candidate : all) {
            if (candidate->layout.get_id() != t.get_id()) continue;
            if (match)
                refuse(std::string(what) + " must hold each tensor once, got several for " +
                       describe(t));
            match = candidate;
        }
        if (!match) refuse(std::string(what) + " must hold a tensor for " + describe(t));
        check_fit(p, t, *match, output);
        found.push_back(match);
        c.nbytes += match->nbytes;
    }
    for (const GraphTensor *t : all)
        if (std::find(found.begin(), found.end(), t) == found.end())
            refuse(std::string(what) + " must be the partition's own, got " + describe(t->layout));
    return found;
}

bool overlap(const GraphTensor &a, const GraphTensor &b) {
    if (!a.first || !b.first || !a.nbytes || !b.nbytes) return false;
    if (!a.dense || !b.dense) return a.first == b.first;
    return a.first < b.first + b.nbytes && b.first < a.first + a.nbytes;
}

void check_sharing(const CompiledPartition &p, const call &c) {
    for (size_t i = 0; i < c.outputs.size(); ++i) {
        const GraphTensor &out = *c.outputs[i];
        for (size_t j = 0; j < i; ++j)
            if (overlap(out, *c.outputs[j]))
                refuse("outputs must not share memory, got " + describe(out.layout) + " and " +
                       describe(c.outputs[j]->layout));
        for (const GraphTensor *in : c.inputs) {
            if (!overlap(out, *in)) continue;
            const std::pair<size_t, size_t> pair{in->layout.get_id(), out.layout.get_id()};
            const bool allowed =
                in->first == out.first &&
                std::find(p.inplace.begin(), p.inplace.end(), pair) != p.inplace.end();
            if (!allowed)
                refuse("output " + describe(out.layout) + " must not share memory with input " +
                       describe(in->layout) + " (see inplace_ports)");
        }
    }
}

// Lends a scratchpad to one call: in the pool again when the call is submitted or has failed.
class scratchpad_lease {
  public:
    scratchpad_lease(const CompiledPartition &p, const Stream &stream,
                     std::vector<sycl::event> &depends)
        : pool(stream.scratchpads), lent(&pool->lease(p.scratchpad_bytes, depends)) {}
    ~scratchpad_lease() {
        if (lent) pool->give_back(*lent);
    }
    scratchpad_lease(const scratchpad_lease &) = delete;
    void *pointer() const { return lent->pointer; }
    void used_until(const sycl::event &event) {
        pool->give_back(*lent, event);
        lent = nullptr;
    }

  private:
    ScratchpadPool *pool;
    ScratchpadPool::buffer *lent;
};

sycl::event submit_to(const CompiledPartition &p, dnnl_stream_t stream, const call &c,
                      const_dnnl_graph_tensor_t scratchpad,
                      const std::vector<sycl::event> &depends) {
    std::vector<const_dnnl_graph_tensor_t> ins, outs;
    for (const GraphTensor *t : c.inputs) ins.push_back(t->handle.get());
    for (const GraphTensor *t : c.outputs) outs.push_back(t->handle.get());
    // oneDNN wants an address even for a list without elements.
    ins.reserve(1);
    outs.reserve(1);
    sycl::event event;
    check(dnnl_graph_sycl_interop_compiled_partition_execute_v2(
              p.handle.get(), stream, ins.size(), ins.data(), outs.size(), outs.data(), scratchpad,
              &depends, &event),
          "could not execute the compiled partition");
    if (p.needs_order) event.wait();
    return event;
}

// oneDNN loses events in three ways. On any device a reshape copies without a look at them, and so
// do copies of constant scales and zero points. On the CPU an index that it generates forgets the
// copies of host scalars before it. An in-order queue keeps copies in sequence.
struct ordered_stream {
    dnnl_engine_t engine;
    dnnl::stream handle;
};

dnnl_stream_t in_order_stream(const CompiledPartition &p, const sycl::queue &queue) {
    static auto *guard = new std::mutex;
    static auto *known = new std::list<ordered_stream>;
    std::lock_guard<std::mutex> lock(*guard);
    for (const ordered_stream &one : *known)
        if (one.engine == p.engine.handle.get()) return one.handle.get();
    sycl::queue ordered(queue.get_context(), queue.get_device(),
                        {sycl::property::queue::in_order()});
    known->push_back(
        {p.engine.handle.get(), dnnl::sycl_interop::make_stream(p.engine.handle, ordered)});
    return known->back().handle.get();
}

// Returns where to submit, after what oneDNN would not wait for.
dnnl_stream_t heeded(const CompiledPartition &p, const Stream &stream,
                     std::vector<sycl::event> &depends) {
    sycl::queue queue = stream.flight->queue;
    if (p.engine.is_cpu()) {
        stream.flight->wait_polling(depends);
        depends.clear();
        return p.needs_order ? in_order_stream(p, queue) : stream.handle.get();
    }
    if (p.reshapes && !depends.empty()) queue.ext_oneapi_submit_barrier(depends);
    return stream.handle.get();
}

sycl::event submit_heeded(const CompiledPartition &p, const Stream &stream, const call &c,
                          const GraphTensor *scratchpad, std::vector<sycl::event> &depends) {
    dnnl_stream_t where = heeded(p, stream, depends);
    if (scratchpad) return submit_to(p, where, c, scratchpad->handle.get(), depends);
    if (!p.scratchpad_bytes) return submit_to(p, where, c, nullptr, depends);
    scratchpad_lease lease(p, stream, depends);
    const graph::tensor lent(p.scratchpad, p.engine.handle, lease.pointer());
    const sycl::event event = submit_to(p, where, c, lent.get(), depends);
    lease.used_until(event);
    return event;
}

sycl::event submit(const CompiledPartition &p, const Stream &stream, const call &c,
                   const GraphTensor *scratchpad, std::vector<sycl::event> &depends) {
    // Partitions of the CPU device wait for their own work, and what they depend on may need the
    // GIL.
    py::gil_scoped_release nogil;
    const auto submit_now = [&] { return submit_heeded(p, stream, c, scratchpad, depends); };
    return profile::is_on() ? profile::run_partition(p, stream, depends, submit_now) : submit_now();
}

sycl::event submit_or_raise(const CompiledPartition &p, const Stream &stream, const call &c,
                            const GraphTensor *scratchpad, std::vector<sycl::event> &depends) {
    refuse_after_fork();
    try {
        return submit(p, stream, c, scratchpad, depends);
    } catch (const dnnl::error &e) {
        raise_status(e.status, std::string("CompiledPartition.execute: ") + e.message);
    } catch (const std::bad_alloc &) {
        raise_status(dnnl_out_of_memory,
                     "CompiledPartition.execute: no memory for a scratchpad of " +
                         std::to_string(p.scratchpad_bytes) + " bytes");
    } catch (const sycl::exception &e) {
        raise_status(dnnl_runtime_error, std::string("CompiledPartition.execute: ") + e.what());
    }
}

const GraphTensor *scratchpad_from(const CompiledPartition &p, const py::object &given, call &c) {
    if (given.is_none()) return nullptr;
    const GraphTensor &tensor = given.cast<const GraphTensor &>();
    if (tensor.nbytes < p.scratchpad_bytes || tensor.engine != p.engine.handle.get())
        refuse("scratchpad must be on the partition's engine and hold " +
               std::to_string(p.scratchpad_bytes) + " bytes, got " + describe(tensor.layout));
    c.owners.push_back(given.ptr());
    return &tensor;
}

py::object execute(const py::object &self, const Stream &stream, const py::sequence &inputs,
                   const py::sequence &outputs, const py::object &scratchpad,
                   const py::object &depends) {
    const auto &p = self.cast<const CompiledPartition &>();
    if (stream.engine.handle.get() != p.engine.handle.get())
        refuse("stream must be on the partition's engine (" + describe(p.engine) +
               "), got one on the " + describe(stream.engine));
    call c;
    c.inputs = in_order(p, p.inputs, inputs, false, c);
    c.outputs = in_order(p, p.outputs, outputs, true, c);
    check_sharing(p, c);
    const GraphTensor *own_scratchpad = scratchpad_from(p, scratchpad, c);
    std::vector<sycl::event> events;
    append_events(depends, events);
    const OrderedCall order(stream, events);
    c.owners.push_back(self.ptr());
    for (PyObject *owner : c.owners) Py_INCREF(owner);
    const auto let_go = [&] {
        for (PyObject *owner : c.owners) Py_DECREF(owner);
    };
    sycl::event event;
    try {
        event = submit_or_raise(p, stream, c, own_scratchpad, events);
    } catch (...) {
        let_go();
        throw;
    }
    const py::object made = make_event(event);
    order.submitted(made);
    stream.flight->add(event, std::move(c.owners), c.nbytes);
    return made;
}

logical query(const CompiledPartition &p, size_t id) {
    for (const auto *list : {&p.inputs, &p.outputs})
        for (const logical &t : *list)
            if (t.get_id() == id) return t;
    throw invalid_arguments(
        "CompiledPartition.query_logical_tensor: id must be one of the partition's tensors, got " +
        std::to_string(id));
}

}  // namespace

CompiledPartition make_compiled(const graph::compiled_partition &handle,
                                const py::object &partition, const Engine &engine,
                                const std::vector<logical> &inputs,
                                const std::vector<logical> &outputs) {
    CompiledPartition made{handle,
                           partition,
                           false,
                           false,
                           engine,
                           inputs,
                           {},
                           handle.get_inplace_ports(),
                           handle.get_scratchpad_logical_tensor(),
                           0,
                           "partition"};
    for (const logical &t : outputs)
        made.outputs.push_back(handle.query_logical_tensor(t.get_id()));
    const auto &source = partition.cast<const Partition &>();
    const auto is_host_scalar = [](const logical &t) {
        return t.get_property_type() == logical::property_type::host_scalar;
    };
    made.reshapes = source.reshapes || source.scales;
    const bool indexes =
        source.indexes && std::any_of(inputs.begin(), inputs.end(), is_host_scalar);
    made.needs_order = engine.is_cpu() && (indexes || source.scales);
    made.scratchpad_bytes = static_cast<size_t>(made.scratchpad.get_dims().at(0));
    return made;
}

void bind_graph_compiled(py::module_ &m) {
    py::class_<CompiledPartition>(m, "CompiledPartition",
                                  "A partition ready to run; several threads may execute it.")
        .def("query_logical_tensor", &query, py::arg("id"),
             "The input or output as compiled: outputs have their shape and layout now.")
        .def_readonly("inputs", &CompiledPartition::inputs)
        .def_readonly("outputs", &CompiledPartition::outputs)
        .def_readonly("inplace_ports", &CompiledPartition::inplace,
                      "Pairs of input and output that may share memory.")
        .def_readonly("scratchpad_logical_tensor", &CompiledPartition::scratchpad)
        .def_readonly("partition", &CompiledPartition::partition)
        .def_readonly("engine", &CompiledPartition::engine)
        .def_readwrite("label", &CompiledPartition::label, "What sycl_dnn.profile calls it.")
        .def("execute", &execute, py::arg("stream"), py::arg("inputs"), py::arg("outputs"),
             py::arg("scratchpad") = py::none(), py::arg("depends") = py::tuple(),
             "Submit after the events ``depends``; return the event of completion. Tensors are "
             "matched by their numbers, in any order. On the CPU device the call returns when the "
             "work is done.");
}

}  // namespace sycl_dnn

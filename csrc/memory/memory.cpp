// SPDX-License-Identifier: Apache-2.0
#include "memory/memory.hpp"

#include <oneapi/dnnl/dnnl_sycl.hpp>
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/errors.hpp"
#include "base/fork.hpp"
#include "base/gil.hpp"
#include "engine/in_flight.hpp"
#include "engine/stream.hpp"
#include "engine/submission.hpp"
#include "memory/make_memory_desc.hpp"
#include "memory/placement.hpp"

namespace sycl_dnn {

// A dpctl.memory object and the byte offset of the tensor in it.
using span = std::pair<py::object, size_t>;

static void check_span(const Engine &engine, const usm_buffer &buffer, size_t offset,
                       size_t needed) {
    check_place("Memory", engine, buffer);
    if (offset <= buffer.nbytes && needed <= buffer.nbytes - offset) return;
    throw invalid_arguments("Memory: array must hold " + std::to_string(needed) +
                            " bytes after its offset, got " +
                            std::to_string(buffer.nbytes - std::min(offset, buffer.nbytes)));
}

static size_t needed_bytes(const desc &d, int index) {
    return index == 0 && d.get_format_kind() != memory::format_kind::sparse ? extent(d)
                                                                            : d.get_size(index);
}

static void check_desc(const desc &d) {
    if (d.get_format_kind() == memory::format_kind::any || has_runtime_dims(d))
        throw invalid_arguments(
            "Memory: desc must say the layout and all dimensions (take it from a primitive "
            "descriptor), got " +
            describe(d));
}

// Elements that share an address would be written several times.
static bool repeats(const desc &d) {
    if (d.get_format_kind() != memory::format_kind::blocked || !element_count(d)) return false;
    const dims shape = d.get_dims(), strides = d.get_strides();
    for (size_t i = 0; i < shape.size(); ++i)
        if (shape[i] > 1 && strides[i] == 0) return true;
    return false;
}

static bool has_no_gaps(const desc &d, size_t nbytes) {
    return d.get_submemory_offset() == 0 &&
           static_cast<int64_t>(nbytes) * 8 <= element_count(d) * bits_of(d.get_data_type()) + 7;
}

static std::vector<void *> addresses_of(const desc &d, const Engine &engine,
                                        const std::vector<span> &spans) {
    if (static_cast<int>(spans.size()) != d.get_num_handles())
        throw invalid_arguments("Memory: this desc needs " + std::to_string(d.get_num_handles()) +
                                " buffers, got " + std::to_string(spans.size()));
    std::vector<void *> handles;
    for (size_t i = 0; i < spans.size(); ++i) {
        const usm_buffer buffer = buffer_of(spans[i].first);
        check_span(engine, buffer, spans[i].second, needed_bytes(d, static_cast<int>(i)));
        handles.push_back(buffer.pointer + spans[i].second);
    }
    return handles;
}

static dnnl::memory memory_at(const desc &d, const Engine &engine,
                              const std::vector<void *> &handles) {
    return dnnl::sycl_interop::make_memory(d, engine.handle, dnnl::sycl_interop::memory_kind::usm,
                                           handles);
}

// The queue whose work on an array dpnp orders; null for memory of the engine's own.
static const sycl::queue *queue_of_array(const std::vector<span> &spans, bool allocated) {
    return allocated ? nullptr : buffer_of(spans.at(0).first).queue;
}

static Memory wrap(const desc &d, const Engine &engine, const std::vector<span> &spans,
                   const py::object &owner, bool writable, bool allocated) {
    refuse_after_fork();
    check_desc(d);
    const auto handles = addresses_of(d, engine, spans);
    const size_t nbytes = extent(d);
    return {memory_at(d, engine, handles),
            d,
            engine.handle.get(),
            py::cast(engine),
            owner,
            queue_of_array(spans, allocated),
            writable && !repeats(d),
            allocated,
            handles.at(0),
            nbytes,
            has_no_gaps(d, nbytes)};
}

// A slice of another tensor in the same allocation.
static Memory part_of(const Memory &whole, const dims &shape, const dims &offsets) {
    const desc d = submemory_of(whole.layout, shape, offsets);
    const auto &engine = whole.engine_object.cast<const Engine &>();
    auto handle = dnnl::sycl_interop::make_memory(
        d, engine.handle, dnnl::sycl_interop::memory_kind::usm, whole.first);
    const size_t nbytes = extent(d);
    return {handle,      d,           whole.engine,          whole.engine_object,
            whole.owner, whole.queue, whole.writable,        false,
            whole.first, nbytes,      has_no_gaps(d, nbytes)};
}

static void check_zero(const Memory &memory, const Stream &stream) {
    const auto require = [&](bool ok, const std::string &rule) {
        if (!ok)
            throw invalid_arguments("Memory.zero: memory must " + rule + ", got " +
                                    describe(memory.layout));
    };
    require(memory.writable, "be writable");
    require(memory.allocated || is_dense(memory.layout),
            "have no gaps (zero the whole tensor, or its array)");
    if (memory.engine != stream.engine.handle.get())
        throw invalid_arguments(
            "Memory.zero: stream must be on the memory's engine, got one on the " +
            describe(stream.engine));
}

// Offset of the tensor's first byte in buffer `index`, and its number of bytes.
static std::pair<size_t, size_t> bytes_of(const Memory &memory, int index) {
    const desc &d = memory.layout;
    if (memory.allocated) return {0, std::max(needed_bytes(d, index), d.get_size(index))};
    const size_t skipped = d.get_submemory_offset() * bits_of(d.get_data_type()) / 8;
    // get_size counts whole strides, even for a slice with one row.
    return {skipped, is_plain(d) ? std::max(extent(d), skipped) - skipped : d.get_size(index)};
}

static sycl::event submit_zero(const Memory &memory, sycl::queue &queue,
                               std::vector<sycl::event> after) {
    ReleasedGil nogil;
    for (int i = 0; i < memory.layout.get_num_handles(); ++i) {
        const auto [skipped, nbytes] = bytes_of(memory, i);
        auto *start = static_cast<char *>(memory.handle.get_data_handle(i)) + skipped;
        after = {queue.memset(start, 0, nbytes, after)};
    }
    return after.front();
}

// Fills with zero bytes, including the padding of blocked layouts, after the events `depends`.
static py::object zero(const py::object &self, const Stream &stream, const py::object &depends) {
    const auto &memory = self.cast<const Memory &>();
    refuse_after_fork();
    check_zero(memory, stream);
    std::vector<sycl::event> events;
    append_events(depends, events);
    OrderedCall order(stream, events);
    if (memory.queue) order.follow_array(stream, memory.queue, memory.owner[py::int_(0)], events);
    const sycl::event done = submit_zero(memory, queue_of(stream.queue), std::move(events));
    return note_submitted(stream, order, done, {self}, memory.nbytes);
}

// The memory of an absent tensor, which C++ code creates from the descriptor of an unused
// workspace.
static Memory absent(const desc &d, const Engine &engine) {
    if (!d.is_zero() || d.get_format_kind() != memory::format_kind::undef)
        throw invalid_arguments("Memory: buffers must be given for desc " + describe(d));
    return {dnnl::memory(d, engine.handle, DNNL_MEMORY_NONE),
            d,
            engine.handle.get(),
            py::cast(engine),
            py::list(),
            nullptr,
            false,
            false,
            nullptr,
            0,
            true};
}

// Replaces a memory's oneDNN object. Executions already submitted keep the old one.
static void replace_handle(const py::object &self, dnnl::memory handle, const py::object &owner) {
    auto &memory = self.cast<Memory &>();
    const py::capsule old(new dnnl::memory(memory.handle),
                          [](void *p) { delete static_cast<dnnl::memory *>(p); });
    InFlight::hold_with(self, py::make_tuple(memory.owner, old));
    memory.handle = std::move(handle);
    memory.owner = owner;
}

static void set_data_handle(const py::object &self, const std::vector<span> &spans,
                            const py::object &owner, bool writable) {
    auto &memory = self.cast<Memory &>();
    refuse_after_fork();
    const auto &engine = memory.engine_object.cast<const Engine &>();
    const auto handles = addresses_of(memory.layout, engine, spans);
    replace_handle(self, memory_at(memory.layout, engine, handles), owner);
    memory.writable = writable && !repeats(memory.layout);
    memory.allocated = false;
    memory.queue = queue_of_array(spans, false);
    memory.first = handles.at(0);
}

static size_t get_data_handle(const Memory &memory, int index) {
    if (!memory.engine || index < 0 || index >= memory.layout.get_num_handles())
        throw invalid_arguments("Memory.get_data_handle: index must be that of a buffer, got " +
                                std::to_string(index));
    return reinterpret_cast<size_t>(memory.handle.get_data_handle(index));
}

// `bytes` is the value converted to the desc's data type by Python.
static Memory host_scalar(const desc &d, const py::bytes &bytes) {
    const std::string value = bytes;
    if (d.get_format_kind() != memory::format_kind::host_scalar || value.size() != d.get_size())
        throw invalid_arguments("Memory.host_scalar: desc must be a host scalar of " +
                                std::to_string(value.size()) + " bytes, got " + describe(d));
    dnnl_memory_t handle;
    check(dnnl_memory_create_host_scalar(&handle, d.get(), const_cast<char *>(value.data())),
          "could not create a host scalar");
    return {dnnl::memory(handle),
            d,
            nullptr,
            py::none(),
            bytes,
            nullptr,
            false,
            false,
            nullptr,
            0,
            true};
}

static void set_host_scalar(const py::object &self, const py::bytes &bytes) {
    const Memory scalar = host_scalar(self.cast<const Memory &>().layout, bytes);
    replace_handle(self, scalar.handle, bytes);
}

void bind_memory(py::module_ &m) {
    m.def("data_type_size", &memory::data_type_size, py::arg("data_type"),
          "Bytes of a value; 1 for 4-bit types.");
    py::class_<Memory>(m, "Memory", "A tensor in USM: descriptor, engine and buffers.")
        .def(py::init(&wrap), py::arg("desc"), py::arg("engine"), py::arg("buffers"),
             py::arg("owner"), py::arg("writable"), py::arg("allocated"))
        .def(py::init(&host_scalar), py::arg("desc"), py::arg("value"))
        .def(py::init(&absent), py::arg("desc"), py::arg("engine"))
        .def("_set_data_handle", &set_data_handle, py::arg("buffers"), py::arg("owner"),
             py::arg("writable"))
        .def("_set_host_scalar", &set_host_scalar, py::arg("value"))
        .def("get_data_handle", &get_data_handle, py::arg("index") = 0,
             "USM address of buffer ``index``.")
        .def(py::init(&part_of), py::arg("whole"), py::arg("dims"), py::arg("offsets"))
        .def("zero", &zero, py::arg("stream"), py::arg("depends") = py::tuple())
        .def_property_readonly(
            "engine", [](const Memory &self) { return self.engine_object; },
            "The engine; None for a host scalar.")
        .def_property_readonly("desc", [](const Memory &self) { return self.layout; })
        .def_property_readonly(
            "owner", [](const Memory &self) { return self.owner; },
            "The owner of the data: the given array, or dpctl.memory objects.")
        .def_readonly("writable", &Memory::writable)
        .def_property_readonly(
            "pointer", [](const Memory &self) { return (size_t)self.first; },
            "USM address of the first buffer; 0 for a host scalar.");
}

}  // namespace sycl_dnn

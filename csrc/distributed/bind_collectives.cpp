// SPDX-License-Identifier: Apache-2.0
// Python bindings of process groups.
#include "base/dpctl_api.hpp"
#include "base/gil.hpp"
#include "base/interruptible.hpp"
#include "distributed/ccl.hpp"
#include "distributed/collective_watch.hpp"
#include "distributed/communicator.hpp"
#include "distributed/control_hub.hpp"
#include "distributed/control_link.hpp"
#include "engine/submission.hpp"
#include "program/run_program.hpp"

namespace sycl_dnn {

using shared_communicator = std::shared_ptr<Communicator>;

static const std::pair<const char *, collective> collective_names[] = {
    {"all_reduce", collective::all_reduce}, {"reduce", collective::reduce},
    {"broadcast", collective::broadcast},   {"reduce_scatter", collective::reduce_scatter},
    {"all_gather", collective::all_gather}, {"all_to_all", collective::all_to_all},
};

static collective collective_of(const std::string &name) {
    for (const auto &[collective_name, kind] : collective_names)
        if (name == collective_name) return kind;
    throw invalid_arguments("Communicator.submit: name must be that of a collective, got " + name);
}

// An object with an address, and a byte offset to the first element.
using usm_place = std::pair<py::object, size_t>;

static char *address_of_place(const usm_place &place) {
    return address_of(place.first) + place.second;
}

static CollectiveCall call_of(const std::string &kind, const usm_place &src, const usm_place &dst,
                              size_t count, int dtype, int op, int root, size_t dst_bytes,
                              const std::string &words) {
    refuse_after_fork();
    Communicator::raise_failure();
    return {collective_of(kind),
            address_of_place(src),
            address_of_place(dst),
            count,
            dtype,
            op,
            root,
            dst_bytes,
            words};
}

static py::object submit_collective(const py::object &self, const Stream &stream,
                                    const std::string &kind, const usm_place &src,
                                    const usm_place &dst, size_t count, int dtype, int op, int root,
                                    size_t dst_bytes, const std::string &words) {
    Communicator &group = *self.cast<shared_communicator>();
    const auto call = call_of(kind, src, dst, count, dtype, op, root, dst_bytes, words);
    std::vector<sycl::event> events;
    const OrderedCall order(stream, events);
    sycl::queue &queue = queue_of(stream.queue);
    const sycl::event done = submit_or_raise({words.c_str(), "a collective", dst_bytes},
                                             [&] { return group.submit(queue, events, call); });
    return note_submitted(stream, order, done, {self, src.first, dst.first}, dst_bytes);
}

// A collective that later work may overlap with, until `join`.
struct StartedCollective {
    std::shared_ptr<SubmittedCollective> submitted;
    owner_list owners;
    size_t nbytes;
    std::string words;

    StartedCollective(std::shared_ptr<SubmittedCollective> s, owner_list o, size_t n, std::string w)
        : submitted(std::move(s)), owners(std::move(o)), nbytes(n), words(std::move(w)) {}
    StartedCollective(const StartedCollective &) = delete;
    // Keeps what it uses alive until it ends.
    ~StartedCollective() {
        if (!submitted) return;
        ReleasedGil nogil;
        Communicator::wait(*submitted);
    }

    void join(const Stream &stream) {
        if (!submitted) return;
        std::vector<sycl::event> events;
        const OrderedCall order(stream, events);
        sycl::queue &queue = queue_of(stream.queue);
        const sycl::event done = submit_or_raise({words.c_str(), "a collective", nbytes}, [&] {
            return Communicator::end_of(queue, events, *submitted);
        });
        submitted.reset();
        note_submitted(stream, order, done, std::move(owners), nbytes);
    }
};

static std::unique_ptr<StartedCollective> start_collective(
    const py::object &self, const Stream &stream, const std::string &kind, const usm_place &src,
    const usm_place &dst, size_t count, int dtype, int op, int root, size_t dst_bytes,
    const std::string &words) {
    Communicator &group = *self.cast<shared_communicator>();
    const auto call = call_of(kind, src, dst, count, dtype, op, root, dst_bytes, words);
    std::vector<sycl::event> events;
    const OrderedCall order(stream, events);
    sycl::queue &queue = queue_of(stream.queue);
    std::shared_ptr<SubmittedCollective> started;
    submit_or_raise({words.c_str(), "a collective", dst_bytes}, [&] {
        started = group.start(queue, events, call);
        return started->event;
    });
    return std::make_unique<StartedCollective>(
        std::move(started), owner_list{self, src.first, dst.first}, dst_bytes, words);
}

static std::vector<py::bytes> gather(const std::shared_ptr<ControlLink> &link,
                                     const std::string &key, const std::vector<int> &members,
                                     const std::string &text, double timeout,
                                     const std::string &about) {
    auto texts = std::make_shared<std::vector<std::string>>();
    run_interruptibly([=] { *texts = link->gather(key, members, text, timeout, about); });
    return {texts->begin(), texts->end()};
}

static py::bytes make_unique_id() {
    ccl::unique_id id{};
    {
        ReleasedGil nogil;
        ccl::check(ccl::api().get_unique_id(&id), "a group's id");
    }
    return py::bytes(id.data, sizeof id.data);
}

// Forming a group blocks until all members are present.
static shared_communicator make_communicator(const std::string &name,
                                             const std::vector<int> &members, int rank,
                                             const std::string &id) {
    auto communicator = std::make_shared<shared_communicator>();
    run_interruptibly(
        [=] { *communicator = std::make_shared<Communicator>(name, members, rank, id); });
    return *communicator;
}

static std::shared_ptr<ControlLink> make_watched_link(const std::string &host, int port, int rank,
                                                      int size, double timeout) {
    auto link = std::make_shared<std::shared_ptr<ControlLink>>();
    run_interruptibly([=] { *link = make_link(host, port, rank, size, timeout); });
    start_watch(*link, timeout);
    return *link;
}

static void bind_link(py::module_ &m) {
    py::class_<ControlLink, std::shared_ptr<ControlLink>>(
        m, "ControlLink", "A rank's connection to the hub of rank 0, for data other than arrays.")
        .def(py::init(&make_watched_link), py::arg("host"), py::arg("port"), py::arg("rank"),
             py::arg("size"), py::arg("timeout"))
        .def("gather", &gather, py::arg("key"), py::arg("members"), py::arg("text"),
             py::arg("timeout"), py::arg("about"),
             "What all members send under a key, in their order; RuntimeError names missing ones.")
        .def(
            "first_gone",
            [](ControlLink &l, const std::vector<int> &members) {
                const auto gone = l.first_gone(members);
                return gone ? gone_words(*gone) : std::string();
            },
            py::arg("members"), "Which of the members has gone, and how; empty if all are there.")
        .def("leave", &ControlLink::leave, py::call_guard<ReleasedGil>(),
             "Announce that this rank ends normally.")
        .def_static("start_hub", &start_hub, py::arg("port"), py::arg("size"),
                    "Start the thread of rank 0 that all ranks connect to.")
        .def_readonly("rank", &ControlLink::rank)
        .def_readonly("size", &ControlLink::size);
}

void bind_collectives(py::module_ &m) {
    bind_link(m);
    py::class_<StartedCollective>(m, "StartedCollective",
                                  "A collective that later work overlaps with.")
        .def("join", &StartedCollective::join, py::arg("stream"),
             "Make later submissions in the stream's order wait for it.");
    py::class_<Communicator, shared_communicator>(m, "Communicator",
                                                  "The ranks of one group, for oneCCL.")
        .def(py::init(&make_communicator), py::arg("name"), py::arg("members"), py::arg("rank"),
             py::arg("id"), "Waits for all members; ``id`` is that of the first one.")
        .def("submit", &submit_collective, py::arg("stream"), py::arg("kind"), py::arg("src"),
             py::arg("dst"), py::arg("count"), py::arg("dtype"), py::arg("op"), py::arg("root"),
             py::arg("dst_bytes"), py::arg("words"),
             "Submit in the stream's order and after every other collective of this process; "
             "``src`` and ``dst`` are objects that have ``_pointer``, with offsets in bytes.")
        .def("start", &start_collective, py::arg("stream"), py::arg("kind"), py::arg("src"),
             py::arg("dst"), py::arg("count"), py::arg("dtype"), py::arg("op"), py::arg("root"),
             py::arg("dst_bytes"), py::arg("words"),
             "Like ``submit``, but nothing waits for it until the result's ``join``.")
        .def_static("set_latency", &Communicator::set_latency, py::arg("seconds"),
                    "Make each collective on a CPU sleep first: for measurements and tests.")
        .def("close", &Communicator::close, py::call_guard<ReleasedGil>(),
             "Wait for what was submitted, and free oneCCL's memory.")
        .def_static("open_oneccl", &ccl::open, py::arg("path"), "Open oneCCL's library.")
        .def_static("unique_id", &make_unique_id, "A new id for a group of oneCCL.")
        .def_static("raise_failure", &Communicator::raise_failure,
                    "Raise the error of a collective that has failed since the last check.")
        .def_readonly("name", &Communicator::name)
        .def_readonly("members", &Communicator::members)
        .def_readonly("rank", &Communicator::rank);
}

}  // namespace sycl_dnn

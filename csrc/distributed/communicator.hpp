// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

#include "distributed/ccl.hpp"
#include "distributed/collective_thread.hpp"
#include "distributed/collective_watch.hpp"

namespace sycl_dnn {

enum class collective { all_reduce, reduce, broadcast, reduce_scatter, all_gather, all_to_all };

// One collective over USM memory. `dtype` and `op` are oneCCL's codes.
struct CollectiveCall {
    collective kind;
    const char *src;
    char *dst;
    size_t count;  // in oneCCL's units for this kind
    int dtype, op, root;
    size_t dst_bytes;  // bytes written; 0 if this rank receives nothing
    std::string words;
};

// A submitted collective. With `task` it runs on its own thread, and `event` only means that it may
// begin.
struct SubmittedCollective {
    sycl::event event;
    std::shared_ptr<collective_thread::task> task;
};

// The ranks of one group. Collectives of a process run in the order of their submission, so that
// all ranks see the same order.
class Communicator {
  public:
    // Waits for the other members. Call without the GIL.
    Communicator(std::string name, std::vector<int> members, int rank, const std::string &id);

    // Submits after `depends`. Call without the GIL.
    sycl::event submit(sycl::queue &queue, std::vector<sycl::event> depends,
                       const CollectiveCall &call);
    // Like submit, but on a CPU later work overlaps with it even if this process has few threads.
    // Users of its result wait for `end_of`. Call without the GIL.
    std::shared_ptr<SubmittedCollective> start(sycl::queue &queue, std::vector<sycl::event> depends,
                                               const CollectiveCall &call);
    // An event that completes with the collective and `depends`. Call without the GIL.
    static sycl::event end_of(sycl::queue &queue, const std::vector<sycl::event> &depends,
                              SubmittedCollective &started);
    static void wait(const SubmittedCollective &started);
    // Delay in seconds before each collective on a CPU, for measurements and tests.
    static void set_latency(double seconds);
    // Throws the error of a collective that has failed.
    static void raise_failure();
    // Frees oneCCL's memory, after all its collectives. Call without the GIL.
    void close();

    const std::string name;
    const std::vector<int> members;
    const int rank;

  private:
    // Shared with tasks, which may outlive this object.
    struct handle {
        ccl::communicator communicator = nullptr;
        std::optional<sycl::queue> in_order;  // on a GPU: required by oneCCL
    };
    sycl::event submit_on_host(sycl::queue &queue, const std::vector<sycl::event> &depends,
                               const CollectiveCall &call);
    sycl::event submit_on_gpu(sycl::queue &queue, const std::vector<sycl::event> &depends,
                              const CollectiveCall &call);

    void refuse_if_closed() const;
    // A function that runs the call on this host, once.
    std::function<void()> task_of(const CollectiveCall &call);

    std::shared_ptr<handle> own = std::make_shared<handle>();
    size_t n_submitted = 0;
};

}  // namespace sycl_dnn

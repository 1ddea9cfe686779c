// SPDX-License-Identifier: Apache-2.0
// Recording of executions while a profile is open: sycl_dnn.profile.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <oneapi/dnnl/dnnl_graph.hpp>
#include <optional>
#include <sycl/sycl.hpp>
#include <vector>

#include "engine/stream.hpp"

namespace sycl_dnn {
struct CompiledPartition;
class HostWork;
struct Kernel;
struct Primitive;
struct PrimitiveAttr;
}  // namespace sycl_dnn

namespace sycl_dnn::profile {

// Number of active recorders. Submissions check this and, if it is 0, nothing else.
extern std::atomic<int> n_on;
extern std::atomic<int> n_waiting;
inline bool is_on() { return n_on.load(std::memory_order_relaxed) != 0; }

// Nanoseconds on the clock of Python's time.perf_counter_ns.
int64_t now();

struct tensor {
    std::string argument, type;
    dims shape;
    std::string layout;
};

// What was executed, stored once for all its executions.
struct subject {
    std::string kind;  // primitive, fill, partition, dpnp, create, trace
    std::string name, implementation;
    bool inserted = false;
    std::optional<bool> was_cached;  // for created primitives: whether it was in oneDNN's cache
    std::vector<tensor> tensors;
    std::shared_ptr<const PrimitiveAttr> attr;
    std::shared_ptr<const void> keep;  // so that its address is not reused
};

// The source of a record's execution times.
enum class clock { none, device, host_task, wall };

struct record {
    size_t subject;
    int64_t begin, end;  // of the submission, or of the host's own work
    unsigned long thread;
    int queue = -1;
    clock time_source = clock::none;
    int64_t submitted = 0, started = 0, finished = 0;
};

// A recorder of everything that the process runs. All are guarded by one mutex and hold Python
// objects: destroy with the GIL.
class Recorder {
  public:
    Recorder(size_t most, bool waits) : most(most), waits(waits) {}
    ~Recorder() { stop(); }
    Recorder(const Recorder &) = delete;

    void start();
    void stop();
    // Waits, without the GIL, until the times of all executions are known.
    void settle();

    const size_t most;
    const bool waits;
    size_t dropped = 0;
    std::vector<subject> subjects;
    std::vector<record> records;
    std::vector<std::shared_ptr<InFlight>> queues;

  private:
    friend struct registry;
    struct unsettled {
        size_t index;
        sycl::event event;
    };
    using key = std::pair<const void *, std::string>;
    void add(const record &r, const key &k, const subject &about,
             const std::shared_ptr<InFlight> &flight, const sycl::event *event);
    void settle_finished();

    bool on = false;
    std::map<key, size_t> subject_numbers;
    std::deque<unsettled> open;
};

using submission = std::function<sycl::event()>;
using events = std::vector<sycl::event>;

// Each runs `submit` and records it. Call without the GIL.
sycl::event run(const Primitive &p, const Stream &stream, const std::vector<dnnl_exec_arg_t> &args,
                const events &depends, const submission &submit);
sycl::event run_kernel(const Kernel &k, const Stream &stream,
                       const std::vector<dnnl_exec_arg_t> &args, const events &depends,
                       const submission &submit);
sycl::event run_part(const HostWork &work, size_t part, const Stream &stream,
                     const std::vector<dnnl_exec_arg_t> &args, const events &depends,
                     const submission &submit);
sycl::event run_fill(const desc &layout, const Stream &stream, const events &depends,
                     const submission &submit);
sycl::event run_partition(const CompiledPartition &p, const std::string &label,
                          const Stream &stream, const events &depends, const submission &submit);

// Whether oneDNN's cache has a descriptor's primitive; unknown if the library does not say.
std::optional<bool> is_cached(const dnnl::primitive_desc_base &pd);
void note_created(const Primitive &p, std::optional<bool> was_cached, int64_t begin);

}  // namespace sycl_dnn::profile

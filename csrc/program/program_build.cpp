// SPDX-License-Identifier: Apache-2.0
#include "program/program_build.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "base/fork.hpp"
#include "base/gil.hpp"
#include "program/program_binary.hpp"

namespace sycl_dnn {

// One build: a binary, or modules whose kernels have different names.
struct ProgramBuild::Work {
    sycl::queue queue;
    std::string binary;
    std::vector<std::string> modules;
    std::vector<std::string> kernels, keys;  // of the modules, which are dropped at the end
    std::optional<std::string> options;      // the only module is OpenCL C
    bool is_begun = false;
    // Before this the thread does not begin, unless somebody waits.
    std::chrono::steady_clock::time_point start = {};
    bool done = false;  // this and what follows: under the guard of the builder
    std::optional<program_bundle> bundle = {};
    std::string new_binary = {};
};

namespace {

using work_ptr = std::shared_ptr<ProgramBuild::Work>;

struct builder {
    std::mutex guard;
    std::condition_variable changed;
    std::deque<work_ptr> waiting;
    bool running = false;  // the thread, which ends when there is nothing to do
    bool closed = false;   // at exit: who asks builds
};

// Never destroyed: the thread may outlive static objects.
builder &the_builder() {
    static auto *instance = new builder;
    return *instance;
}

void build(const work_ptr &work) {
    std::optional<program_bundle> bundle;
    std::string new_binary;
    try {
        if (work->modules.empty()) {
            bundle = program_of_bytes(work->queue, work->binary);
        } else {
            bundle = work->options
                         ? program_of_source(work->queue, work->modules[0], *work->options)
                         : program_of_spirv(work->queue, work->modules);
            new_binary = bytes_of(*bundle, work->queue.get_device());
        }
    } catch (...) {  // also the driver's exceptions: one that leaves a thread ends the process
    }
    builder &b = the_builder();
    const std::lock_guard<std::mutex> lock(b.guard);
    work->bundle = std::move(bundle);
    work->new_binary = std::move(new_binary);
    work->modules.clear();
    work->binary.clear();
    work->done = true;
    b.changed.notify_all();
}

void build_all() {
    builder &b = the_builder();
    std::unique_lock<std::mutex> lock(b.guard);
    while (!b.waiting.empty()) {
        const auto next = std::min_element(
            b.waiting.begin(), b.waiting.end(),
            [](const work_ptr &x, const work_ptr &y) { return x->start < y->start; });
        if ((*next)->start > std::chrono::steady_clock::now()) {
            b.changed.wait_until(lock, (*next)->start);
            continue;
        }
        auto work = std::move(*next);
        b.waiting.erase(next);
        lock.unlock();
        build(work);
        work.reset();
        lock.lock();
    }
    b.running = false;
    b.changed.notify_all();
}

// Whether a thread does the work, or will. Not on GPUs: oneDNN and dpnp build kernels in the
// caller's thread meanwhile, and Intel's compiler of driver 22.43 then crashes or never returns.
bool is_given_to_thread(const work_ptr &work) {
    if (!work->queue.get_device().is_cpu()) return false;
    builder &b = the_builder();
    const std::lock_guard<std::mutex> lock(b.guard);
    if (b.closed) return false;
    if (!b.running) {
        try {
            std::thread(build_all).detach();
        } catch (const std::system_error &) {  // the limit of threads
            return false;
        }
        b.running = true;
    }
    b.waiting.push_back(work);
    b.changed.notify_all();
    return true;
}

// Whether it is compiled in the background, and nobody waits for it.
bool is_pending(const work_ptr &work) {
    const std::lock_guard<std::mutex> lock(the_builder().guard);
    return !work->done && work->start != std::chrono::steady_clock::time_point{};
}

void begin(const work_ptr &work) {
    if (!is_given_to_thread(work)) build(work);
}

// By work: what stores the bytes of its modules; no request may wait for them. Under the GIL;
// never destroyed.
std::map<work_ptr, py::object> &unkept() {
    static auto *instance = new std::map<work_ptr, py::object>;
    return *instance;
}

// Removes finished builds that are not kept yet from the map.
std::map<work_ptr, py::object>::node_type take_done() {
    const std::lock_guard<std::mutex> lock(the_builder().guard);
    for (auto i = unkept().begin(); i != unkept().end(); ++i)
        if (i->first->done) return unkept().extract(i);
    return {};
}

// More would make the binary large for programs that need few of its kernels.
constexpr size_t most_together = 32;

// Bytes of modules that are built together, if a program waits for them: while the driver builds
// those of its later steps, it runs.
constexpr size_t most_awaited = 32 << 10;

bool can_join(const ProgramBuild::Work &work, const sycl::queue &queue, const std::string &kernel) {
    const auto &names = work.kernels;
    size_t n_bytes = 0;
    for (const std::string &module : work.modules) n_bytes += module.size();
    const bool is_awaited = work.start == std::chrono::steady_clock::time_point{};
    return !work.options && !names.empty() && names.size() < most_together &&
           (!is_awaited || n_bytes < most_awaited) &&
           work.queue.get_context() == queue.get_context() &&
           work.queue.get_device() == queue.get_device() &&
           std::find(names.begin(), names.end(), kernel) == names.end();
}

}  // namespace

ProgramBuild::ProgramBuild(const sycl::queue &queue, py::object module, py::object find,
                           py::object keep, std::optional<std::string> options)
    : queue(queue),
      source(std::move(module)),
      find(std::move(find)),
      keep(std::move(keep)),
      options(std::move(options)) {
    refuse_after_fork();
    watch_for_fork();
}

namespace {

enum class interpretation { never, first, always };

interpretation chosen_interpretation() {
    static const interpretation mode = [] {
        const char *setting = std::getenv("SYCL_DNN_INTERPRET");
        const std::string name = setting ? setting : "first";
        return name == "never"    ? interpretation::never
               : name == "always" ? interpretation::always
                                  : interpretation::first;
    }();
    return mode;
}

}  // namespace

bool ProgramBuild::is_always_interpreted() {
    return chosen_interpretation() == interpretation::always;
}

std::shared_ptr<const SpirvInterpreter> ProgramBuild::first_run() {
    const bool is_always = is_always_interpreted();
    if (options || chosen_interpretation() == interpretation::never) return nullptr;
    if (!is_always && (work ? !is_pending(work) : has_run)) return nullptr;
    if (!queue.get_device().is_cpu()) return nullptr;
    look();
    if (!is_always && (other || !binary.empty())) return nullptr;
    if (!interpreter) interpreter = SpirvInterpreter::of(module());
    return interpreter && (is_always || interpreter->is_exact()) ? interpreter : nullptr;
}

std::shared_ptr<const SpirvInterpreter> ProgramBuild::brief(size_t n_visited) {
    if (options || chosen_interpretation() == interpretation::never) return nullptr;
    // First without the module, which then need not be written.
    if (!queue.get_device().is_cpu() || !SpirvInterpreter::may_be_brief({}, n_visited) ||
        !SpirvInterpreter::may_be_brief(module(), n_visited))
        return nullptr;
    if (!interpreter) interpreter = SpirvInterpreter::of(module());
    const bool is_brief =
        interpreter && interpreter->is_exact() && interpreter->is_brief(n_visited);
    return is_brief ? interpreter : nullptr;
}

std::shared_ptr<const SpirvInterpreter> ProgramBuild::substitute() const {
    if (options || chosen_interpretation() == interpretation::never || !queue.get_device().is_cpu())
        return nullptr;
    auto code = SpirvInterpreter::of(written);
    return code && code->is_exact() ? code : nullptr;
}

const std::string &ProgramBuild::module() {
    if (written.empty())
        written = (py::isinstance<py::bytes>(source) ? source : source()).cast<std::string>();
    return written;
}

void ProgramBuild::look() {
    if (has_looked) return;
    const auto answer = find(py::cast(shared_from_this())).cast<py::tuple>();
    if (std::exchange(has_looked, true)) return;  // another thread was faster
    key = answer[0].cast<std::string>();
    if (py::isinstance<ProgramBuild>(answer[1]))
        other = answer[1].cast<std::shared_ptr<ProgramBuild>>();
    else
        binary = answer[1].cast<py::bytes>();
}

std::shared_ptr<ProgramBuild::Work> ProgramBuild::work_of_binary() {
    if (other) return std::exchange(other, nullptr)->work;
    if (binary.empty()) return nullptr;
    return std::make_shared<Work>(Work{queue, std::exchange(binary, {})});
}

void ProgramBuild::start_together(const std::vector<named> &builds,
                                  std::chrono::steady_clock::time_point start) {
    refuse_after_fork();
    keep_done();
    std::set<const ProgramBuild *> seen;
    for (const auto &[build, kernel] : builds) {
        if (build->work || !seen.insert(build.get()).second) continue;
        build->look();
        const ProgramBuild &owner = build->other ? *build->other : *build;
        if (!owner.work && owner.binary.empty()) build->module();
    }
    // From here on without Python: whatever other threads can see has begun.
    std::vector<work_ptr> pending;
    for (const auto &[build, kernel] : builds) {
        if (build->work) continue;
        build->work = build->work_of_binary();
        if (!build->work) {
            const auto fits = [&](const work_ptr &w) {
                return !build->options && can_join(*w, build->queue, kernel);
            };
            const auto with = std::find_if(pending.begin(), pending.end(), fits);
            build->work =
                with == pending.end()
                    ? std::make_shared<Work>(Work{build->queue, {}, {}, {}, {}, build->options})
                    : *with;
            build->work->modules.push_back(build->module());
            build->work->kernels.push_back(kernel);
            build->work->keys.push_back(build->key);
            build->work->start = start;
            unkept().emplace(build->work, build->keep);
        }
        if (!std::exchange(build->work->is_begun, true)) pending.push_back(build->work);
    }
    const ReleasedGil nogil;
    for (const work_ptr &work : pending) begin(work);
}

std::shared_ptr<ProgramBuild::Work> ProgramBuild::begun() const {
    if (!work || work->kernels.empty()) return nullptr;  // a binary may lack the kernel
    builder &b = the_builder();
    const std::lock_guard<std::mutex> lock(b.guard);
    if (work->done) return nullptr;
    work->start = {};  // before those that nobody waits for
    b.changed.notify_all();
    return work;
}

std::optional<sycl::kernel> ProgramBuild::kernel_of(const work_ptr &from, const std::string &name) {
    builder &b = the_builder();
    std::unique_lock<std::mutex> lock(b.guard);
    from->start = {};
    b.changed.notify_all();
    b.changed.wait(lock, [&] { return from->done; });
    lock.unlock();
    try {
        if (from->bundle) return kernel_in(*from->bundle, name);
    } catch (const std::exception &) {  // a binary without this kernel
    }
    return std::nullopt;
}

std::optional<sycl::kernel> ProgramBuild::kernel_alone(const std::string &name) const {
    const auto alone = std::make_shared<Work>(Work{queue, {}, {written}, {name}, {}, options});
    build(alone);
    return kernel_of(alone, name);
}

std::optional<sycl::kernel> ProgramBuild::kernel(const named &request) {
    start_together({request});
    ProgramBuild &owner = *request.build;
    for (;;) {
        const work_ptr work = owner.work;
        std::optional<sycl::kernel> compiled;
        {
            const ReleasedGil nogil;
            compiled = kernel_of(work, request.kernel);
        }
        keep_done();
        if (compiled || work->kernels.size() == 1) return compiled;
        // A binary, or modules of which any may be what the driver refuses: now this one alone.
        if (owner.work != work) continue;
        const auto alone = owner.work = std::make_shared<Work>(Work{
            owner.queue, {}, {owner.module()}, {request.kernel}, {owner.key}, owner.options, true});
        unkept().emplace(alone, owner.keep);
        const ReleasedGil nogil;
        begin(alone);
    }
}

void ProgramBuild::keep_done() {
    while (const auto entry = take_done()) {  // other threads may take some meanwhile
        const std::string binary = std::exchange(entry.key()->new_binary, {});
        if (!binary.empty()) entry.mapped()(entry.key()->keys, py::bytes(binary));
    }
}

void ProgramBuild::finish() {
    builder &b = the_builder();
    std::unique_lock<std::mutex> lock(b.guard);
    b.closed = true;
    for (const work_ptr &work : std::exchange(b.waiting, {})) work->done = true;
    b.changed.notify_all();
    b.changed.wait(lock, [&] { return !b.running; });
}

}  // namespace sycl_dnn

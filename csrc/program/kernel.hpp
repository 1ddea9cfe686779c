// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <sycl/sycl.hpp>
#include <variant>
#include <vector>

#include "base/bind.hpp"
#include "program/address_table.hpp"
#include "program/host_work.hpp"
#include "program/program_build.hpp"

namespace sycl_dnn {

// A kernel compiled at run time, as a step of a Program. Its parameters are the addresses of the
// step's values in order, followed by `numbers`. Alternatively, work of the host.
// A kernel with `facts` computes many arrays: drivers limit how many parameters there are, so it
// has two, the addresses of the values in an array, and the facts.
class Kernel {
  public:
    using number = std::variant<int32_t, float>;

    Kernel(std::string name, std::optional<sycl::kernel> handle,
           std::shared_ptr<ProgramBuild> build, std::shared_ptr<const HostWork> host,
           std::vector<number> numbers, size_t global, size_t local, std::vector<int32_t> facts,
           size_t n_visited);

    const std::string name;
    const std::shared_ptr<const HostWork> host;
    const std::vector<number> numbers;
    const size_t global;  // total work-items, a multiple of `local`
    const size_t local;
    const std::vector<int32_t> facts;
    const size_t n_visited;  // elements; 0 if their number is not known

    // Lets another thread build those for which that is necessary and has not begun, and `delay`
    // seconds later also those that are interpreted first. `nbytes` are the sizes of their arrays.
    static void start_together(const std::vector<Kernel *> &kernels,
                               const std::vector<size_t> &nbytes, double delay);

    // Makes those of a program ready: interpreted, or built, or `finish_build` has to wait for the
    // driver; throws `unimplemented` if that has refused. Call with the GIL.
    static void settle_together(const std::vector<Kernel *> &kernels,
                                const std::vector<size_t> &nbytes);

    // Whether the driver runs it; no longer changes once true.
    bool is_launched() const { return launched; }

    // Waits for what has begun; throws `unimplemented` if the driver refuses it and it cannot be
    // interpreted. Call without the GIL.
    void finish_build();

    // Before each run of a program: builds those whose module has run before, since what runs only
    // once takes longer to build than to interpret, and those that are built in the background once
    // interpreting them has taken as long as building them: `interpreted` counts up. Call with the
    // GIL.
    static void before_run(const std::vector<Kernel *> &kernels, size_t &interpreted);

    // Whether `run_now` may do it, in the calling thread and without a submission.
    bool is_brief() const { return brief || (host && host->is_brief()); }
    bool is_brief_kernel() const { return brief != nullptr; }
    // Once; before that it is not. Call with the GIL.
    void decide_brief();
    void run_now(const std::vector<dnnl_exec_arg_t> &args) const;

    // What several brief ones do in order, with the addresses of their values, as one host task.
    using BriefWork = std::vector<std::pair<std::shared_ptr<const HostWork>, std::vector<void *>>>;
    void add_to(BriefWork &all, const std::vector<dnnl_exec_arg_t> &args) const;
    static sycl::event submit(sycl::queue queue, BriefWork all,
                              const std::vector<sycl::event> &depends);

    // One part of the host's work, for profiles.
    sycl::event submit_part(sycl::queue queue, size_t part,
                            const std::vector<dnnl_exec_arg_t> &args,
                            const std::vector<sycl::event> &depends) const;

    // Call without the GIL. `table` has the addresses of a kernel with facts. `launches_brief`:
    // whether a brief kernel that is built is launched, not a host task.
    sycl::event submit(sycl::queue queue, const std::vector<dnnl_exec_arg_t> &args,
                       const AddressTable *table, const std::vector<sycl::event> &depends,
                       bool launches_brief) const;

  private:
    // Instructions times elements that are interpreted in 50 ms, in which no driver builds a
    // kernel.
    static constexpr size_t least_of_builds = 1600 << 20;

    using interpreter_ptr = std::shared_ptr<const SpirvInterpreter>;
    // Of large kernels, by their number: what runs them first. As many as take no longer than a
    // build, those of the fewest elements first: a build takes as long as the module is, and
    // interpreting it that times the elements.
    static std::map<size_t, interpreter_ptr> interpreted_nevertheless(
        const std::vector<Kernel *> &kernels, const std::vector<size_t> &large);
    // What runs each kernel first; null if the driver does, which is told to
    // build it, and after a delay, if they will run again, also the others.
    static std::vector<interpreter_ptr> first_runs(const std::vector<Kernel *> &kernels,
                                                   const std::vector<size_t> &nbytes,
                                                   std::optional<double> delay);
    void wait_for_build();
    void use(std::optional<sycl::kernel> built);
    void warn_if_refused();

    const HostWork &work() const { return brief ? *brief : *host; }

    const std::shared_ptr<ProgramBuild> build;  // where the handle comes from, or null
    std::shared_ptr<const HostWork> brief;      // the same as what is built, of few elements
    bool is_decided = false;
    std::optional<sycl::kernel> handle;
    std::atomic<bool> launched;                 // the handle is there
    interpreter_ptr interpreter;                // until then
    std::shared_ptr<ProgramBuild::Work> begun;  // or this, which does not change
    std::atomic<bool> is_refused{false};        // the interpreter replaces it for good
    bool has_warned = false;
};

void bind_kernel(py::module_ &m);

}  // namespace sycl_dnn

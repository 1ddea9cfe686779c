// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

#include "engine/stream.hpp"
#include "primitives/call.hpp"
#include "program/kernel.hpp"

namespace sycl_dnn {

// A fixed sequence of primitives and kernels over indexed values, submitted by one call. Layouts
// are validated at creation; a call only provides the arrays.
class Program {
  public:
    enum class place { array, arena, memory };
    struct value {
        place storage;
        size_t index;   // of the array among a call's arguments
        size_t offset;  // bytes from the start of the array or arena
        desc layout;
        dnnl::memory memory;  // place::memory only
    };
    struct step {
        const Primitive *primitive;  // null: a kernel, or else a fill with zero bytes
        Kernel *kernel;
        std::vector<std::pair<int, int>> args;  // oneDNN's argument id, value
    };
    // Addresses by array.
    using arguments = std::vector<char *>;

    // Before step `first_kept` all kernels are built, which the driver may refuse: it is the first
    // that writes to memory that outlives a failed call.
    Program(const Engine &engine, std::vector<value> values, std::vector<step> steps,
            size_t n_arguments, size_t arena_bytes, size_t first_kept, const py::object &owners);

    // oneDNN's memory objects of one call. Changing an address would affect an unfinished
    // execution, so a frame is reused only when its last call is complete.
    struct frame {
        std::vector<dnnl::memory> memories;
        std::vector<std::vector<dnnl_exec_arg_t>> args;
        std::vector<std::optional<AddressTable>> tables;  // by step
        std::vector<const char *> addresses;  // oneDNN queries the driver about each that is set
        sycl::event last_use;
        bool leased;
        bool is_placed = false;  // whether addresses have been set
    };

    // Waits for the kernels from a step on; throws `unimplemented`. Call without the GIL.
    void finish_builds(size_t first = 0) const;

    // Call with the GIL before `submit`.
    void before_run(const Stream &stream, const std::vector<sycl::event> &depends);

    // Submits all steps after `depends`, and sets `last` at each; call without the GIL. Waits
    // occasionally on a CPU.
    void submit(const Stream &stream, const arguments &args, std::vector<sycl::event> &depends,
                sycl::event &last);
    // The same with a frame whose addresses are constant.
    void submit(const Stream &stream, frame &f, std::vector<sycl::event> &depends,
                sycl::event &last) const;
    frame bind(const arguments &args, char *arena) const;

    const Engine engine;
    const std::vector<value> values;
    const std::vector<step> steps;
    const size_t n_arguments;
    const size_t arena_bytes;
    const size_t first_kept;
    const size_t array_bytes;  // total size of a call's arrays
    const py::object owners;   // primitives and memories

  private:
    class frame_lease;
    bool is_placed(const frame &f, const arguments &args, char *arena) const;
    // Preferably one with these addresses: setting them queries the driver.
    frame &lease_frame(const arguments &args, char *arena);
    frame make_frame() const;
    void place_values(frame &f, const arguments &args, char *arena) const;
    sycl::event submit_step(size_t index, const Stream &stream, frame &f,
                            std::vector<sycl::event> &depends, bool launches_brief) const;
    // Each part of the host's work, for profiles.
    static sycl::event submit_parts(const Kernel &kernel, const Stream &stream,
                                    const std::vector<dnnl_exec_arg_t> &args,
                                    std::vector<sycl::event> &depends);
    sycl::event submit_quietly(size_t index, const Stream &stream, frame &f,
                               std::vector<sycl::event> &depends, bool launches_brief) const;
    // Runs the brief steps at the beginning in the calling thread if nothing is left to wait for;
    // returns their number.
    size_t run_at_once(const Stream &stream, const frame &f,
                       const std::vector<sycl::event> &depends) const;
    // The end of the brief steps from one on, which are one host task.
    size_t end_of_brief(size_t index) const;
    // The end of the kernels from one on that the driver runs.
    size_t end_of_launches(size_t index, bool launches_brief) const;
    // Submits two or more of them on a CPU.
    void submit_launches(size_t first, size_t end, const Stream &stream, frame &f,
                         std::vector<sycl::event> &depends, sycl::event &last,
                         bool launches_brief) const;
    // Whether brief kernels are launched nevertheless, if not run at once.
    bool launches_brief(const Stream &stream, const std::vector<sycl::event> &depends) const;
    // Whether there are steps that run on a thread of SYCL's pool: kernels have the driver's.
    bool has_host_tasks() const { return has_host_steps || n_interpreted; }

    const bool has_host_steps;
    const size_t n_brief;                 // steps at the beginning
    std::vector<Kernel *> unbuilt;        // under the GIL, as the next
    std::vector<Kernel *> unbuilt_brief;  // which are built where they are launched
    std::atomic<size_t> n_interpreted;
    size_t interpreted = 0;  // instructions times elements so far, until all are built

    std::mutex guard;
    std::list<frame> frames;
};

}  // namespace sycl_dnn

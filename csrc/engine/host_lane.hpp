// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sycl/sycl.hpp>

#include "engine/in_flight.hpp"

namespace sycl_dnn {

// Keeps the host tasks of a queue on one thread of SYCL's pool, while one follows another.
//
// dpnp needs a pool of several threads. oneDNN's CPU primitives then move between threads: each is
// a different TBB master with cold caches, whose workers are still looking for work of the previous
// one, so that a primitive often runs on one core. While primitives follow each other, idle tasks
// occupy all threads but one. They end when none follows, when another queue is used, and when
// nothing progresses for a while, so that a task that waits for another one gets a thread.
//
// An object of this class exists while a call submits its steps.
class HostLane {
  public:
    explicit HostLane(const InFlight &flight, bool has_host_tasks = true);
    ~HostLane();
    HostLane(const HostLane &) = delete;

    bool is_held() const { return held; }
    // Records the submission of a step.
    void moved(const sycl::event &event);

    // Closes the lane and waits until its tasks have ended. Call without the GIL.
    static void finish();
    // How often a lane was opened, and whether one is open.
    static std::pair<size_t, bool> info();

    // Maximum number of unfinished steps. Waiting for them must not poll, since all cores are busy.
    static constexpr size_t most_ahead = 32;

  private:
    bool held = false;
    sycl::event last;
};

}  // namespace sycl_dnn

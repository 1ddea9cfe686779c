// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sycl/sycl.hpp>

#include "engine/in_flight.hpp"

namespace sycl_dnn {

// Keeps the host tasks of a long program on one thread of SYCL's pool.
//
// dpnp needs a pool of several threads. A chain of oneDNN's CPU primitives then moves between
// threads: each is a different TBB master with cold workers and caches. While a program is running,
// idle tasks occupy all threads but one. They end when no program is running, when another queue is
// used, and when nothing progresses for a while, so that a task that waits for another one gets a
// thread.
class HostLane {
  public:
    HostLane(const InFlight &flight, size_t n_host_tasks);
    ~HostLane();
    HostLane(const HostLane &) = delete;

    bool is_held() const { return held; }
    // Records the submission of a step.
    void moved(const sycl::event &event);

    // Closes the lane and waits until its tasks have ended. Call without the GIL.
    static void finish();
    // How often a lane was opened, and whether one is open.
    static std::pair<size_t, bool> info();

    // Programs with fewer host tasks gain less than the lane costs; one without any would keep it
    // open although nothing progresses on the pool.
    static constexpr size_t fewest_tasks = 8;
    // Maximum number of unfinished steps. Waiting for them must not poll, since all cores are busy.
    static constexpr size_t most_ahead = 32;

  private:
    bool held = false;
    sycl::event last;
};

}  // namespace sycl_dnn

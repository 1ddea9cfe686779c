// SPDX-License-Identifier: Apache-2.0
// Intel's CPU driver binds each of its threads to a processor, and leaves the first one to the
// thread that waits for kernels and executes them, too. Linux does not move a running thread to an
// idle processor: one that has come to another processor stays there, and the driver's thread of
// that processor does not run until the kernel has ended.
#include "engine/free_processor.hpp"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>

#include "engine/threads.hpp"

namespace sycl_dnn {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// Among more processors, the others take over the work of one.
static constexpr int most_processors = 4;
// Between two moves: doubled while Linux brings the thread back, since others need the processor.
static constexpr auto shortest_pause = 1ms, longest_pause = 1000ms;
// After which the driver's threads are looked up again.
static constexpr auto between_looks = 1s;

// The thread that a `FreeProcessor` binds.
static std::atomic<pid_t> bound_here{0};

// The processors that a single thread of the CPU driver is bound to.
static cpu_set_t look_up_bound() {
    cpu_set_t result;
    CPU_ZERO(&result);
    DIR *threads = opendir("/proc/self/task");
    if (!threads) return result;
    while (const dirent *entry = readdir(threads)) {
        cpu_set_t allowed;
        const pid_t thread = std::atoi(entry->d_name);
        if (thread && thread != bound_here &&
            !sched_getaffinity(thread, sizeof allowed, &allowed) && CPU_COUNT(&allowed) == 1)
            CPU_OR(&result, &result, &allowed);
    }
    closedir(threads);
    return result;
}

// The same, up to a second old: the look takes 100 us.
static cpu_set_t bound_processors() {
    static std::mutex guard;
    static std::optional<cpu_set_t> bound;
    static steady_clock::time_point last_look;
    const std::lock_guard<std::mutex> lock(guard);
    const auto now = steady_clock::now();
    if (!bound || now - last_look > between_looks) {
        bound = look_up_bound();
        last_look = now;
    }
    return *bound;
}

// Those of `allowed` that none is bound to.
static cpu_set_t free_processors(const cpu_set_t &allowed) {
    cpu_set_t free;
    const cpu_set_t bound = bound_processors();
    CPU_XOR(&free, &allowed, &bound);
    CPU_AND(&free, &free, &allowed);
    return free;
}

void leave_bound_processor() {
    // All under the GIL.
    static int place = -1;  // where the thread may stay, as it turned out at `last_look`
    static steady_clock::time_point last, last_look;
    static steady_clock::duration pause = shortest_pause;
    const int here = sched_getcpu();
    const auto now = steady_clock::now();
    if ((here == place && now - last_look < between_looks) || now - last < pause) return;
    if (has_several_threads()) return;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) return;
    const cpu_set_t free = free_processors(allowed);
    last_look = now;
    if (CPU_COUNT(&allowed) > most_processors || CPU_ISSET(here, &free) || !CPU_COUNT(&free)) {
        place = here;
        return;
    }
    pause = now - last < 2 * pause ? std::min<steady_clock::duration>(2 * pause, longest_pause)
                                   : shortest_pause;
    last = now;
    if (!sched_setaffinity(0, sizeof free, &free)) sched_setaffinity(0, sizeof allowed, &allowed);
}

FreeProcessor::FreeProcessor() : thread(static_cast<pid_t>(syscall(SYS_gettid))) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) > most_processors)
        return;
    // Threads that this one starts inherit its processors: all of the driver's must be there.
    const cpu_set_t free = free_processors(allowed);
    if (CPU_COUNT(&allowed) < 2 || CPU_COUNT(&free) != 1) return;
    bound_here = thread;
    if (!sched_setaffinity(0, sizeof free, &free))
        before = allowed;
    else
        bound_here = 0;
}

FreeProcessor::~FreeProcessor() {
    if (!before) return;
    sched_setaffinity(thread, sizeof *before, &*before);
    bound_here = 0;
}

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#include "program/second_thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/fork.hpp"

namespace sycl_dnn {

namespace second_thread {

namespace {

using work_clock = std::chrono::steady_clock;
// How long it looks for another session after one.
constexpr auto rest = std::chrono::microseconds(30);
// A short session wakes it only if it follows another one: it would end before.
constexpr auto pause_of_short = std::chrono::microseconds(300);
// Looks for work, or for the end of a part, before another thread gets the processor.
constexpr int most_looks = 2000;

struct job {
    void (*call)(const void *, int64_t);
    const void *of;
    int64_t n;
    std::atomic<int64_t> n_taken{0};

    // One thread takes the first parts, the other the last ones: so each has in its cache what it
    // wrote in the operation before.
    bool takes_one() { return n_taken.fetch_add(1, std::memory_order_relaxed) < n; }
    void take_first() {
        for (int64_t i = 0; takes_one(); ++i) call(of, i);
    }
    void take_last() {
        for (int64_t i = n; takes_one();) call(of, --i);
    }
};

struct state {
    std::mutex session;            // held by the thread that has one
    work_clock::time_point ended;  // when the last one ended, of that thread
    std::atomic<unsigned> n_calls{0};
    std::atomic<bool> is_open{false};
    // The job, and whether the second thread may use it. Sequentially consistent: either it sees
    // that the job has ended, or the caller sees that it is inside.
    std::atomic<job *> current{nullptr};
    std::atomic<bool> is_inside{false};
    std::mutex guard;  // of sleep
    std::condition_variable opened;
    std::atomic<bool> is_asleep{false}, has_thread{false};
};

// Never destroyed: the thread may outlive static objects.
state &shared() {
    static auto *instance = new state;
    return *instance;
}

// Whether the thread has a session, and whether it is outside of parts.
thread_local bool is_in_session = false, has_session = false;

inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

void help(state &s) {
    s.is_inside = true;
    if (job *j = s.current) j->take_last();
    s.is_inside = false;
}

// Returns when there has been no session for a while.
void look_for_work(state &s) {
    auto end = work_clock::now() + rest;
    for (int looks = 0;; ++looks) {
        if (s.current.load(std::memory_order_relaxed)) help(s);
        if (looks % 64 == 0) {
            const auto now = work_clock::now();
            if (s.is_open)
                end = now + rest;
            else if (now > end)
                return;
        }
        if (looks >= most_looks) {
            looks = 0;
            sched_yield();
        }
        pause();
    }
}

void live() {
    state &s = shared();
    for (unsigned n_seen = 0;;) {
        {
            std::unique_lock<std::mutex> lock(s.guard);
            s.is_asleep = true;
            s.opened.wait(lock, [&] { return s.n_calls != n_seen; });
            n_seen = s.n_calls;
            s.is_asleep = false;
        }
        look_for_work(s);
    }
}

// Where the thread may run: where the process may, except on the one processor that the caller may
// be bound to, which the thread would inherit (engine/free_processor.hpp). Empty if nowhere.
cpu_set_t other_processors() {
    cpu_set_t set, callers;
    CPU_ZERO(&set);
    if (sched_getaffinity(getpid(), sizeof set, &set) || CPU_COUNT(&set) < 2) CPU_ZERO(&set);
    if (CPU_COUNT(&set) && !sched_getaffinity(0, sizeof callers, &callers) &&
        CPU_COUNT(&callers) == 1) {
        CPU_OR(&set, &set, &callers);
        CPU_XOR(&set, &set, &callers);
    }
    return set;
}

// Signals are for other threads.
void start(state &s) {
    if (s.has_thread) return;
    const cpu_set_t processors = other_processors();
    if (!CPU_COUNT(&processors) || s.has_thread.exchange(true)) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread([processors] {
            sched_setaffinity(0, sizeof processors, &processors);
            live();
        }).detach();
    } catch (const std::system_error &) {  // the caller does all
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

}  // namespace second_thread

SecondThread::SecondThread(bool is_wanted, bool is_short) {
    second_thread::state &s = second_thread::shared();
    if (!is_wanted || second_thread::is_in_session || was_forked() || !s.session.try_lock()) return;
    second_thread::start(s);
    is_open = second_thread::is_in_session = second_thread::has_session = true;
    s.is_open = true;
    const bool is_alone =
        second_thread::work_clock::now() - s.ended > second_thread::pause_of_short;
    if (!s.is_asleep || (is_short && is_alone)) return;
    {
        const std::lock_guard<std::mutex> lock(s.guard);
        ++s.n_calls;
    }
    s.opened.notify_one();
}

SecondThread::~SecondThread() {
    if (!is_open) return;
    second_thread::state &s = second_thread::shared();
    second_thread::is_in_session = second_thread::has_session = false;
    s.is_open = false;
    s.ended = second_thread::work_clock::now();
    s.session.unlock();
}

void SecondThread::run(int64_t n, function call, const void *of) {
    if (!second_thread::has_session || n < 2) {
        for (int64_t i = 0; i < n; ++i) call(of, i);
        return;
    }
    second_thread::state &s = second_thread::shared();
    second_thread::job j{call, of, n};
    s.current = &j;
    second_thread::has_session = false;  // parts of parts are the caller's
    j.take_first();
    second_thread::has_session = true;
    s.current = nullptr;
    for (int looks = 0; s.is_inside; ++looks)
        looks < second_thread::most_looks ? second_thread::pause()
                                          : static_cast<void>(sched_yield());
}

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#include "distributed/collective_watch.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>

namespace sycl_dnn {

using namespace std::chrono_literals;

namespace {

using steady = std::chrono::steady_clock;

constexpr auto look_interval = 50ms;
// How long a collective may continue without one of its members, since data in flight still
// arrives.
constexpr double grace_after_death = 1, grace_after_leaving = 2, grace_after_interrupt = 0.4;
constexpr int status_of_timeout = 124, status_of_interrupt = 130, status_of_loss = 1;

struct watch_state {
    std::mutex guard;
    std::optional<WatchedCall> running;
    steady::time_point since;
    std::string last;  // the last one that ended
    std::shared_ptr<ControlLink> link;
    double timeout = 600;
};

// Never destroyed: threads may outlive static objects.
watch_state &watched() {
    static auto *instance = new watch_state;
    return *instance;
}

std::atomic<long long> interrupted_at{0};
struct sigaction python_handler;

double seconds_since(steady::time_point t) {
    return std::chrono::duration<double>(steady::now() - t).count();
}

// Records the time for the watch; Python's handler does the rest.
void on_interrupt(int number, siginfo_t *info, void *context) {
    if (!interrupted_at) interrupted_at = steady::now().time_since_epoch().count();
    if (python_handler.sa_flags & SA_SIGINFO)
        python_handler.sa_sigaction(number, info, context);
    else if (python_handler.sa_handler != SIG_DFL && python_handler.sa_handler != SIG_IGN)
        python_handler.sa_handler(number);
}

void hear_interrupts() {
    sigaction(SIGINT, nullptr, &python_handler);
    const bool has_none =
        !(python_handler.sa_flags & SA_SIGINFO) &&
        (python_handler.sa_handler == SIG_DFL || python_handler.sa_handler == SIG_IGN);
    if (has_none) return;
    struct sigaction handler = python_handler;
    handler.sa_flags |= SA_SIGINFO;
    handler.sa_sigaction = &on_interrupt;
    sigaction(SIGINT, &handler, nullptr);
}

std::string place_of(const WatchedCall &call) {
    return call.words + " (number " + std::to_string(call.number) + " of group " + call.group + ")";
}

// The state that a rank reports to the hub: group, number, running or ended, description.
std::string reported_state(const watch_state &w) {
    if (w.running)
        return w.running->group + "\n" + std::to_string(w.running->number) + "\nin\n" +
               place_of(*w.running);
    return w.last;
}

struct member_state {
    std::string group, number, phase, words;
};

member_state parse(const std::string &text) {
    member_state state;
    size_t position = 0;
    for (std::string *part : {&state.group, &state.number, &state.phase}) {
        const size_t end = text.find('\n', position);
        if (end == std::string::npos) return {};
        *part = text.substr(position, end - position);
        position = end + 1;
    }
    state.words = text.substr(position);
    return state;
}

// Describes what each member outside this collective did last.
std::string who_is_missing(const WatchedCall &call, const std::vector<std::string> &states) {
    std::string text;
    for (const int member : call.members) {
        const member_state t = parse(states.at(static_cast<size_t>(member)));
        const std::string name = "rank " + std::to_string(member);
        if (t.group == call.group && t.number == std::to_string(call.number)) continue;
        text += text.empty() ? "" : "; ";
        if (t.words.empty())
            text += name + " is missing: it has begun no collective";
        else
            text += name + " is missing: it " + (t.phase == "in" ? "is in " : "ended ") + t.words;
    }
    return text.empty() ? "all its ranks are in it" : text;
}

[[noreturn]] void end_process(int status, const watch_state &w, const std::string &reason) {
    std::fprintf(stderr, "sycl_dnn.distributed: rank %d: %s\n", w.link ? w.link->rank : 0,
                 reason.c_str());
    std::fflush(stderr);
    _exit(status);
}

void check_timeout(watch_state &w, const WatchedCall &call, steady::time_point since) {
    if (seconds_since(since) < w.timeout) return;
    const auto states = w.link->states(2);
    char time[32];
    std::snprintf(time, sizeof time, "%g", w.timeout);
    end_process(status_of_timeout, w,
                place_of(call) + " did not end within " + time +
                    " s: " + (states ? who_is_missing(call, *states) : "rank 0 does not answer"));
}

void check_members(watch_state &w, const WatchedCall &call, steady::time_point since) {
    static std::optional<steady::time_point> noticed;
    const auto gone = w.link->first_gone(call.members);
    if (!gone) return;
    if (!noticed) noticed = steady::now();
    const double grace = gone->second == "died" ? grace_after_death : grace_after_leaving;
    if (seconds_since(std::max(*noticed, since)) < grace) return;
    end_process(status_of_loss, w, place_of(call) + " cannot end: " + gone_words(*gone));
}

void check_interrupt(watch_state &w, const std::optional<WatchedCall> &call,
                     steady::time_point since) {
    if (!interrupted_at) return;
    const steady::time_point interrupt{steady::duration(interrupted_at.load())};
    if (!call || since > interrupt) {
        if (seconds_since(interrupt) > grace_after_interrupt) interrupted_at = 0;
    } else if (seconds_since(interrupt) > grace_after_interrupt) {
        end_process(status_of_interrupt, w, place_of(*call) + " was interrupted");
    }
}

void watch_once(watch_state &w) {
    std::optional<WatchedCall> call;
    steady::time_point since;
    std::string state;
    {
        const std::lock_guard<std::mutex> lock(w.guard);
        call = w.running;
        since = w.since;
        state = reported_state(w);
    }
    w.link->tell_state(state);
    check_interrupt(w, call, since);
    if (!call) return;
    check_members(w, *call, since);
    check_timeout(w, *call, since);
}

}  // namespace

void start_watch(std::shared_ptr<ControlLink> link, double timeout) {
    watch_state &w = watched();
    const bool is_first = !w.link;
    {
        const std::lock_guard<std::mutex> lock(w.guard);
        w.link = std::move(link);
        w.timeout = timeout;
    }
    if (!is_first) return;
    hear_interrupts();
    std::thread([&w] {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        for (;; std::this_thread::sleep_for(look_interval)) watch_once(w);
    }).detach();
}

void watch_begin(const WatchedCall &call) {
    watch_state &w = watched();
    const std::lock_guard<std::mutex> lock(w.guard);
    w.running = call;
    w.since = steady::now();
}

void watch_end() {
    watch_state &w = watched();
    const std::lock_guard<std::mutex> lock(w.guard);
    if (!w.running) return;
    // The call itself has ended, while others may still be in it.
    w.last = w.running->group + "\n" + std::to_string(w.running->number) + "\nended\n" +
             place_of(*w.running);
    w.running.reset();
}

}  // namespace sycl_dnn

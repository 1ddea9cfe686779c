// SPDX-License-Identifier: Apache-2.0
// Signals do not interrupt SYCL's waits or condition variables, so another thread waits on behalf
// of the main one, which periodically checks for signals.
#include "base/interruptible.hpp"

#include <pybind11/gil_safe_call_once.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/bind.hpp"
#include "base/gil.hpp"

namespace sycl_dnn {

static constexpr auto signal_interval = std::chrono::milliseconds(20);

namespace {

// A thread that runs jobs in sequence.
class Worker {
  public:
    // Never joined: its job may never end. Null if the system has no memory for a thread.
    static std::shared_ptr<Worker> start() {
        auto worker = std::make_shared<Worker>();
        try {
            std::thread([worker] { worker->serve(); }).detach();
        } catch (const std::system_error &) {
            return nullptr;
        }
        return worker;
    }

    void begin(std::function<void()> next) {
        std::lock_guard<std::mutex> lock(guard);
        job = std::move(next);
        is_done = false;
        changed.notify_all();
    }

    // Whether the job ended within the time.
    bool ends_in(std::chrono::milliseconds time) {
        std::unique_lock<std::mutex> lock(guard);
        return changed.wait_for(lock, time, [this] { return is_done; });
    }

    void rethrow() {
        if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
    }

    // Call after the last job.
    void dismiss() {
        std::lock_guard<std::mutex> lock(guard);
        is_dismissed = true;
        changed.notify_all();
    }

  private:
    void serve() {
        std::unique_lock<std::mutex> lock(guard);
        while (true) {
            changed.wait(lock, [this] { return job || is_dismissed; });
            if (!job) return;
            const auto current_job = std::exchange(job, nullptr);
            lock.unlock();
            std::exception_ptr thrown;
            try {
                current_job();
            } catch (...) {
                thrown = std::current_exception();
            }
            lock.lock();
            failure = thrown;
            is_done = true;
            changed.notify_all();
        }
    }

    std::mutex guard;
    std::condition_variable changed;
    std::function<void()> job;
    std::exception_ptr failure;
    bool is_done = false, is_dismissed = false;
};

// Only the main thread takes and returns it; a signal handler that waits too finds none and starts
// its own.
std::shared_ptr<Worker> &spare() {
    static auto *instance = new std::shared_ptr<Worker>;
    return *instance;
}

class Assistant {
  public:
    Assistant() : worker(std::exchange(spare(), nullptr)) {
        if (!worker) worker = Worker::start();
    }
    ~Assistant() {
        if (is_free && !spare())
            spare() = worker;
        else if (worker)
            worker->dismiss();
    }
    Assistant(const Assistant &) = delete;

    std::shared_ptr<Worker> worker;
    bool is_free = false;  // whether its job is done
};

bool is_main_thread() {
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<unsigned long> main;
    main.call_once_and_store_result([] {
        const auto thread = py::module_::import("threading").attr("main_thread")();
        return thread.attr("ident").cast<unsigned long>();
    });
    return PyThread_get_thread_ident() == main.get_stored();
}

}  // namespace

void run_interruptibly(std::function<void()> job) {
    const auto run_here = [&job] {
        ReleasedGil nogil;
        job();
    };
    if (!is_main_thread()) return run_here();
    Assistant assistant;
    if (!assistant.worker) return run_here();
    assistant.worker->begin(std::move(job));
    while (!assistant.is_free) {
        {
            ReleasedGil nogil;
            assistant.is_free = assistant.worker->ends_in(signal_interval);
        }
        if (!assistant.is_free && PyErr_CheckSignals()) throw py::error_already_set();
    }
    assistant.worker->rethrow();
}

}  // namespace sycl_dnn

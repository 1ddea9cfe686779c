// SPDX-License-Identifier: Apache-2.0
#include "base/gil.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace sycl_dnn {

using namespace std::chrono_literals;

static constexpr auto longest_wait = 10s;

static std::atomic<int> without_gil{0};

void park() {
    while (true) pause();
}

ReleasedGil::ReleasedGil() : state(PyEval_SaveThread()) { ++without_gil; }

ReleasedGil::~ReleasedGil() {
    --without_gil;
    or_park([&] { PyEval_RestoreThread(state); });
}

int ReleasedGil::count() { return without_gil; }

void ReleasedGil::wait_for_all() {
    const auto deadline = std::chrono::steady_clock::now() + longest_wait;
    while (without_gil && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(1ms);
}

}  // namespace sycl_dnn

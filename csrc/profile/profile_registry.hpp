// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "profile/profile.hpp"

namespace sycl_dnn::profile {

// The active recorders, and the mutex that guards them and their contents.
struct registry {
    static registry &instance();

    // Informs each recorder. An execution is identified by an address and a string, and described
    // only when a recorder first sees it; `describe` must not need the GIL.
    void add(const record &r, const void *address, const std::string &variant,
             const std::function<subject()> &describe, const std::shared_ptr<InFlight> &flight = {},
             const sycl::event *event = nullptr);

    std::mutex guard;
    std::vector<Recorder *> on;
};

unsigned long this_thread();

}  // namespace sycl_dnn::profile

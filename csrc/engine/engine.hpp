// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bind.hpp"

namespace sycl_dnn {

// A oneDNN engine together with the dpctl.SyclQueue that it was made from. oneDNN compares engine
// handles by address and nothing counts references to them, so there is one handle per device and
// context for the lifetime of the process, shared by all Engine objects.
struct Engine {
    dnnl::engine handle;
    py::object queue;

    bool is_cpu() const { return handle.get_kind() == dnnl::engine::kind::cpu; }
};

// "cpu engine on <device name>", for messages.
std::string describe(const Engine &engine);

}  // namespace sycl_dnn

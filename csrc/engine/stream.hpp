// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace sycl_dnn {

class InFlight;
class ScratchpadPool;

// A oneDNN stream over a dpctl.SyclQueue. `ordered` executions take their dependencies from, and
// register their events with, dpctl.utils.SequentialOrderManager, as dpnp does.
struct Stream {
    dnnl::stream handle;
    Engine engine;
    py::object queue;
    std::shared_ptr<InFlight> flight;
    ScratchpadPool *scratchpads;
    bool ordered;
};

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace sycl_dnn {

class InFlight;
class ScratchpadPool;

// A oneDNN stream over a dpctl.SyclQueue. Executions on an `ordered` stream take their dependencies
// from dpctl.utils.SequentialOrderManager and register their events there, as dpnp does.
struct Stream {
    dnnl::stream handle;
    Engine engine;
    py::object queue;
    std::shared_ptr<InFlight> flight;
    ScratchpadPool *scratchpads;
    bool ordered;
};

}  // namespace sycl_dnn

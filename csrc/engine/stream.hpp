// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace sycl_dnn {

class DevicePool;
class DevicePools;
class InFlight;

// A oneDNN stream over a dpctl.SyclQueue. Executions on an `ordered` stream take their dependencies
// from dpctl.utils.SequentialOrderManager and register their events there, as dpnp does.
struct Stream {
    dnnl::stream handle;
    Engine engine;
    py::object queue;
    std::shared_ptr<InFlight> flight;
    DevicePool *scratchpads;
    bool ordered;
};

// The number of buffers, their bytes, and how many are in use.
py::dict info_of(DevicePools &pools);

}  // namespace sycl_dnn

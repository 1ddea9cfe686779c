// SPDX-License-Identifier: Apache-2.0
// Checks whether an engine's device can use an allocation.
#pragma once

#include <string>

#include "base/dpctl_api.hpp"
#include "engine/engine.hpp"

namespace sycl_dnn {

// Throws dpnp's ExecutionPlacementError, whose message begins with `owner`.
void check_place(const std::string &owner, const Engine &engine, const usm_buffer &buffer);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sycl_dnn {

// Starts the thread of rank 0 that all ranks are connected to: it hands round what they say, and
// tells them who has gone. Throws std::runtime_error if the port is taken.
void start_hub(int port, int size);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sycl_dnn {

// Starts the thread of rank 0 that all ranks connect to: it distributes what they send, and
// reports which ranks have gone. Throws std::runtime_error if the port is in use.
void start_hub(int port, int size);

}  // namespace sycl_dnn

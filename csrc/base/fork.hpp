// SPDX-License-Identifier: Apache-2.0
// SYCL's threads do not survive fork(): a child of a process that has used a device would hang.
#pragma once

namespace sycl_dnn {

// Records that a device is in use, so that forked children are refused. Call with the GIL.
void watch_for_fork();
bool was_forked();
// In a child, throws std::runtime_error, a RuntimeError in Python.
void refuse_after_fork();

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sycl_dnn {

// Unmaps the pages of oneDNN's library that were touched so far; those in use come back by
// themselves. Does nothing where the kernel does not tell enough.
void release_startup_pages();

}  // namespace sycl_dnn

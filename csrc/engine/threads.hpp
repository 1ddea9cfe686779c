// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sycl_dnn {

// Starts watching for new Python threads, and finishes pending work before one starts. Call with
// the GIL.
void watch_threads();

// Whether another Python thread may use a queue concurrently; free before the first one starts.
// Call with the GIL.
bool has_several_threads();

// Uses dpnp's extension modules for the first time, once. Call with the GIL.
void prepare_dpnp();

}  // namespace sycl_dnn

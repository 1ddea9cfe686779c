// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace sycl {
inline namespace _V1 {
class context;
class device;
}  // namespace _V1
}  // namespace sycl

namespace sycl_dnn {

// An engine whose graph partitions allocate from a pool: a buffer returned with the event of its
// last use is reused once that is complete. Nothing waits.
dnnl::engine make_graph_engine(const sycl::device &device, const sycl::context &context);

// An engine whose graph partitions call two custom functions.
dnnl::engine make_graph_engine(const sycl::device &device, const sycl::context &context,
                               void *allocate, void *deallocate);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <sycl/sycl.hpp>
#include <vector>

namespace sycl_dnn {

// The addresses of a step's values, followed by the facts of its kernel, in memory that host and
// device access. SYCL lets every kernel follow addresses of USM that it reads from memory.
class AddressTable {
  public:
    AddressTable(const sycl::device &device, const sycl::context &context, size_t n_addresses,
                 const std::vector<int32_t> &facts);

    // Reads the addresses from the step's memories. No execution may be using the table.
    void place(const std::vector<dnnl_exec_arg_t> &args);

    void *addresses() const { return memory.get(); }
    void *facts() const { return memory.get() + n; }

  private:
    size_t n;
    std::shared_ptr<void *> memory;
};

}  // namespace sycl_dnn

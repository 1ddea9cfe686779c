// SPDX-License-Identifier: Apache-2.0
#include "program/address_table.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "base/fork.hpp"

namespace sycl_dnn {

AddressTable::AddressTable(const sycl::device &device, const sycl::context &context,
                           size_t n_addresses, const std::vector<int32_t> &facts)
    : n(n_addresses) {
    const size_t nbytes = n * sizeof(void *) + facts.size() * sizeof(int32_t);
    void *allocated = device.has(sycl::aspect::usm_host_allocations)
                          ? sycl::malloc_host(nbytes, context)
                          : sycl::malloc_shared(nbytes, device, context);
    if (!allocated) throw std::bad_alloc();
    memory = {static_cast<void **>(allocated), [context](void **p) {
                  if (!was_forked()) sycl::free(p, context);
              }};
    std::copy(facts.begin(), facts.end(), static_cast<int32_t *>(this->facts()));
}

void AddressTable::place(const std::vector<dnnl_exec_arg_t> &args) {
    for (size_t i = 0; i < n; ++i)
        check(dnnl_memory_get_data_handle(args[i].memory, memory.get() + i),
              "could not read the address of a value");
}

}  // namespace sycl_dnn

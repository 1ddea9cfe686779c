// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <sycl/sycl.hpp>
#include <variant>
#include <vector>

#include "base/bind.hpp"
#include "program/address_table.hpp"
#include "program/host_work.hpp"
#include "program/program_build.hpp"

namespace sycl_dnn {

// A kernel compiled at run time, as a step of a Program. Its parameters are the addresses of the
// step's values in order, followed by `numbers`. Alternatively, work of the host.
// A kernel with `facts` computes many arrays: drivers limit how many parameters there are, so it
// has two, the addresses of the values in an array, and the facts.
struct Kernel {
    using number = std::variant<int32_t, float>;

    std::string name;
    std::optional<sycl::kernel> handle;
    std::shared_ptr<ProgramBuild> build;  // where the handle comes from, or null
    std::shared_ptr<const HostWork> host;
    std::vector<number> numbers;
    size_t global;  // total work-items, a multiple of `local`
    size_t local;
    std::vector<int32_t> facts;

    // Lets another thread build those for which that is necessary and has not begun.
    static void start_together(const std::vector<const Kernel *> &kernels);

    // Waits for the handle; throws `unimplemented` if the driver refuses. Call with the GIL.
    void settle();

    // Call without the GIL. `table` has the addresses of a kernel with facts.
    sycl::event submit(sycl::queue queue, const std::vector<dnnl_exec_arg_t> &args,
                       const AddressTable *table, const std::vector<sycl::event> &depends) const;
};

void bind_kernel(py::module_ &m);

}  // namespace sycl_dnn

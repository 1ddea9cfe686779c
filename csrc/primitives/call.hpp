// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "memory/memory.hpp"
#include "primitives/empty.hpp"
#include "primitives/slots.hpp"

namespace sycl_dnn {

struct Primitive {
    dnnl::primitive handle{};
    std::shared_ptr<PrimitiveDesc> pd;
    Engine runs_on;  // one of the descriptor's two engines; streams must use it
    std::vector<Slot> slots;
    size_t scratchpad_bytes = 0;
    bool may_run_in_place = false;
    bool has_runtime_dims = false;
    bool inserted = false;  // by sycl_dnn, to convert a layout or data type
    std::optional<EmptyProduct> empty{};
    bool is_idle = false;  // no elements, although oneDNN would launch work
};

// What an execution passes to oneDNN and keeps alive.
struct call {
    std::vector<dnnl_exec_arg_t> args;
    owner_list owners;  // and of all that follows
    std::vector<std::pair<const Slot *, const Memory *>> bound;
    bool has_scratchpad = false;
};

// "src, weights -> dst, scratchpad (optional)", for messages.
std::string signature(const Primitive &p);
// Validates the arguments of one execution by name; throws before anything is submitted.
call collect(const Primitive &p, const py::dict &args);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "primitives/primitive_desc.hpp"

namespace sycl_dnn {

struct Memory;

// One execution argument of a primitive, and the rules for its memory. oneDNN itself
// checks none of them: it only counts the arguments.
struct Slot {
    enum class rule {
        same_desc,  // the memory's descriptor equals `layout`
        same_rank,  // `layout` has runtime dimensions: only the known ones count
        unused,     // accepted and ignored
        values,     // a dense list of `count` numbers (-1: any) of type `type`
    };
    int id;
    py::object name;
    rule check;
    desc layout;
    memory::data_type type;
    int64_t count;
    bool on_host;
    bool output;
    bool required;
    dnnl_engine_t engine;
    int passed_as;               // oneDNN's number for it; -1: checked, but oneDNN must not see it
    bool channels_last = false;  // the order of its values; else row-major
};

// All arguments of executions of this descriptor, inputs before outputs.
std::vector<Slot> slots_of(const PrimitiveDesc &pd);

// Throws invalid_arguments, naming primitive, argument, rule and value.
void check_fit(const char *primitive, const Slot &slot, const Memory &given);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "primitives/primitive_desc.hpp"

namespace sycl_dnn {

struct Memory;

// One execution argument of a primitive, and the rules for its memory, which oneDNN does not check:
// it only counts the arguments.
struct Slot {
    enum class rule {
        same_desc,  // the memory's descriptor equals `layout`
        same_rank,  // `layout` has runtime dimensions: only known ones are compared
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
    int passed_as;               // oneDNN's id; -1: validated but not passed to oneDNN
    bool channels_last = false;  // order of its values; otherwise row-major
};

// All execution arguments of this descriptor, inputs before outputs.
std::vector<Slot> slots_of(const PrimitiveDesc &pd);

// Throws invalid_arguments with primitive, argument, rule and value.
void check_fit(const char *primitive, const Slot &slot, const Memory &memory);

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// Whether a memory is valid as an execution argument.
#include "memory/memory.hpp"
#include "primitives/slots.hpp"

namespace sycl_dnn {

static std::string expectation(const Slot &slot) {
    if (slot.check != Slot::rule::values) return describe(slot.layout);
    const std::string type = name_of(slot.type);
    if (slot.on_host) return "a host scalar of type " + type;
    return (slot.count < 0 ? std::string("a dense list of") : std::to_string(slot.count)) + " " +
           type + " values in " + (slot.channels_last ? "channels-last" : "row-major") + " order";
}

static bool fits_rank(const desc &layout, const desc &actual) {
    if (layout.get_ndims() != actual.get_ndims() ||
        layout.get_data_type() != actual.get_data_type())
        return false;
    const dims expected_shape = layout.get_dims(), actual_shape = actual.get_dims();
    for (size_t i = 0; i < expected_shape.size(); ++i)
        if (expected_shape[i] != DNNL_RUNTIME_DIM_VAL && expected_shape[i] != actual_shape[i])
            return false;
    return true;
}

static bool fits_values(const Slot &slot, const desc &actual) {
    if (actual.get_data_type() != slot.type) return false;
    const bool is_host = actual.get_format_kind() == memory::format_kind::host_scalar;
    if (is_host || slot.on_host) return is_host && slot.on_host;
    if (slot.count >= 0 && element_count(actual) != slot.count) return false;
    // oneDNN reads them contiguously, regardless of the descriptor.
    return slot.channels_last ? is_channels_last(actual) : is_row_major(actual);
}

static bool fits(const Slot &slot, const desc &actual) {
    switch (slot.check) {
        case Slot::rule::same_desc:
            return slot.layout == actual;
        case Slot::rule::same_rank:
            return fits_rank(slot.layout, actual);
        default:
            return fits_values(slot, actual);
    }
}

void check_fit(const char *primitive, const Slot &slot, const Memory &memory) {
    const auto fail = [&](const std::string &text) {
        throw invalid_arguments(std::string(primitive) + ": " + std::string(py::str(slot.name)) +
                                " must " + text);
    };
    if (slot.check == Slot::rule::unused) return;
    if (!fits(slot, memory.layout))
        fail("be " + expectation(slot) + ", got " + describe(memory.layout));
    if (memory.engine && memory.engine != slot.engine)
        fail("be in memory of the primitive's engine, got memory of another one");
    if (slot.output && !memory.writable) fail("be writable, got a read-only array");
}

}  // namespace sycl_dnn

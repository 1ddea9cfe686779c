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

static bool fits_rank(const desc &layout, const desc &given) {
    if (layout.get_ndims() != given.get_ndims() || layout.get_data_type() != given.get_data_type())
        return false;
    const dims wanted = layout.get_dims(), got = given.get_dims();
    for (size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i] != DNNL_RUNTIME_DIM_VAL && wanted[i] != got[i]) return false;
    return true;
}

static bool fits_values(const Slot &slot, const desc &given) {
    if (given.get_data_type() != slot.type) return false;
    const bool is_host = given.get_format_kind() == memory::format_kind::host_scalar;
    if (is_host || slot.on_host) return is_host && slot.on_host;
    if (slot.count >= 0 && element_count(given) != slot.count) return false;
    // oneDNN reads them contiguously, regardless of the descriptor.
    return slot.channels_last ? is_channels_last(given) : is_row_major(given);
}

static bool fits(const Slot &slot, const desc &given) {
    switch (slot.check) {
        case Slot::rule::same_desc:
            return slot.layout == given;
        case Slot::rule::same_rank:
            return fits_rank(slot.layout, given);
        default:
            return fits_values(slot, given);
    }
}

void check_fit(const char *primitive, const Slot &slot, const Memory &given) {
    const auto fail = [&](const std::string &text) {
        throw invalid_arguments(std::string(primitive) + ": " + std::string(py::str(slot.name)) +
                                " must " + text);
    };
    if (slot.check == Slot::rule::unused) return;
    if (!fits(slot, given.layout))
        fail("be " + expectation(slot) + ", got " + describe(given.layout));
    if (given.engine && given.engine != slot.engine)
        fail("be in memory of the primitive's engine, got memory of another one");
    if (slot.output && !given.writable) fail("be writable, got a read-only array");
}

}  // namespace sycl_dnn

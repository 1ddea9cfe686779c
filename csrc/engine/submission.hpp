// SPDX-License-Identifier: Apache-2.0
// Shared by submissions of primitives, programs and partitions.
#pragma once

#include <sycl/sycl.hpp>
#include <vector>

#include "base/gil.hpp"
#include "engine/in_flight.hpp"
#include "engine/order.hpp"

namespace sycl_dnn {

// Wording of the error for a failed submission.
struct failure_text {
    const char *about;   // prefix of the message; null: none
    const char *memory;  // what `nbytes` of device memory are for
    size_t nbytes;
};
// Raises the current exception as a class of sycl_dnn.errors, if it is one of oneDNN's or SYCL's.
[[noreturn]] void raise_failure(const failure_text &text);

// Runs `submit` without the GIL; exceptions become errors of sycl_dnn.errors.
template <class Submit>
sycl::event submit_or_raise(const failure_text &text, const Submit &submit) {
    try {
        ReleasedGil nogil;
        return submit();
    } catch (...) {
        raise_failure(text);
    }
}

// Keeps `owners`, which hold `nbytes` of tensors, until `event` is complete, and registers it with
// dpnp; returns the event for Python. May wait without the GIL.
py::object note_submitted(const Stream &stream, const OrderedCall &order, const sycl::event &event,
                          owner_list &&owners, size_t nbytes);

}  // namespace sycl_dnn

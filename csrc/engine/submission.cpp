// SPDX-License-Identifier: Apache-2.0
#include "engine/submission.hpp"

#include <new>

#include "base/dpctl_api.hpp"
#include "base/errors.hpp"
#include "engine/threads.hpp"

namespace sycl_dnn {

void raise_failure(const failure_text &text) {
    const auto message = [&](const std::string &reason) {
        return text.about ? text.about + (": " + reason) : reason;
    };
    try {
        throw;
    } catch (const dnnl::error &e) {
        raise_status(e.status, message(e.message));
    } catch (const std::bad_alloc &) {
        raise_status(dnnl_out_of_memory,
                     message("no device memory for " + std::to_string(text.nbytes) + " bytes of " +
                             text.memory));
    } catch (const sycl::exception &e) {
        raise_status(dnnl_runtime_error, message(e.what()));
    }
}

py::object note_submitted(const Stream &stream, const OrderedCall &order, const sycl::event &event,
                          owner_list &&owners, size_t nbytes) {
    // First of all: the work is in flight even if something fails later.
    stream.flight->hold(event, std::move(owners), stream.ordered);
    const py::object event_object = make_event(event);
    if (stream.ordered && stream.flight->is_cpu && has_several_threads()) {
        ReleasedGil nogil;
        stream.flight->wait_polling({event});
    }
    order.submitted(event_object);
    stream.flight->tidy(nbytes);
    return event_object;
}

}  // namespace sycl_dnn

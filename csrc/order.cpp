// SPDX-License-Identifier: Apache-2.0
#include "order.hpp"

#include "dpctl_api.hpp"

namespace sycl_dnn {

// The map is looked up at each call: it differs by context of contextvars.
static py::object manager_of(const Stream &stream) {
    static const auto *managers =
        new py::object(py::module_::import("dpctl.utils").attr("SequentialOrderManager"));
    return (*managers)[stream.queue];
}

OrderedCall::OrderedCall(const Stream &stream, std::vector<sycl::event> &depends) {
    if (!stream.ordered) return;
    manager = manager_of(stream);
    append_events(manager.attr("submitted_events"), depends);
}

void OrderedCall::submitted(const py::object &event) const {
    if (manager) manager.attr("add_event_pair")(event, event);
}

}  // namespace sycl_dnn

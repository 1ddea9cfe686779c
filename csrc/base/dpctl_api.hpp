// SPDX-License-Identifier: Apache-2.0
// dpctl's C API as plain functions: its generated headers define static pointers, so only one
// source file includes them.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bind.hpp"

namespace sycl {
inline namespace _V1 {
class device;
class queue;
class event;
}  // namespace _V1
}  // namespace sycl

namespace sycl_dnn {

void import_dpctl();

// A pointer borrowed from the dpctl object; the TypeError names `argument`.
sycl::queue &queue_of(py::handle object, const char *argument = "queue");
// Appends the events of a sequence of dpctl.SyclEvent.
void append_events(py::handle sequence, std::vector<sycl::event> &events);
// A dpctl.SyclDevice.
py::object make_device(const sycl::device &device);
py::object make_event(const sycl::event &event);

bool is_queue(py::handle object);

// A dpctl.memory object: address of its first byte, length, and its queue.
struct usm_buffer {
    char *pointer;
    size_t nbytes;
    sycl::queue *queue;
};
usm_buffer buffer_of(py::handle object);

}  // namespace sycl_dnn

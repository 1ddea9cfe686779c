// SPDX-License-Identifier: Apache-2.0
// What the C++ twins share: device, in-flight policy, chained submission, test values, checksums.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_sycl.hpp>
#include <stdexcept>
#include <string>
#include <sycl/sycl.hpp>
#include <thread>
#include <unordered_map>
#include <vector>

namespace floor_twin {

using clock = std::chrono::steady_clock;
using dnnl::memory;
using dims = memory::dims;
using tag = memory::format_tag;
using type = memory::data_type;
using events = std::vector<sycl::event>;

// One oneDNN primitive on a CPU queue is one host task. A long chain of pending host tasks costs
// quadratic time, and waking a sleeping thread costs more than a short primitive. So on CPU queues
// the chain is drained often, and the wait polls before it blocks. GPU queues need neither.
struct Policy {
    int drain = 0;       // wait after this many submissions; 0: only at the end
    double poll_us = 0;  // poll the event for this long before blocking
};

inline void wait(sycl::event &event, double poll_us) {
    using status = sycl::info::event_command_status;
    const auto end = clock::now() + std::chrono::duration<double, std::micro>(poll_us);
    while (clock::now() < end) {
        if (event.get_info<sycl::info::event::command_execution_status>() == status::complete)
            return;
        std::this_thread::yield();
    }
    event.wait_and_throw();
}

struct Session {
    Session(const std::string &kind, bool in_order)
        : queue(select(kind), in_order ? sycl::property_list{sycl::property::queue::in_order()}
                                       : sycl::property_list{}),
          engine(dnnl::sycl_interop::make_engine(queue.get_device(), queue.get_context())),
          stream(dnnl::sycl_interop::make_stream(engine, queue)) {}

    static sycl::device select(const std::string &kind) {
        if (kind == "cpu") return sycl::device(sycl::cpu_selector_v);
        if (kind == "gpu") return sycl::device(sycl::gpu_selector_v);
        throw std::invalid_argument("device must be cpu or gpu, got " + kind);
    }
    std::string device_name() const {
        return queue.get_device().get_info<sycl::info::device::name>();
    }
    Policy default_policy() const { return queue.get_device().is_cpu() ? Policy{8, 50} : Policy{}; }

    sycl::queue queue;
    dnnl::engine engine;
    dnnl::stream stream;
};

// Something to submit: accepts the events that it depends on, returns its own.
struct Step {
    std::string name, implementation;
    std::function<sycl::event(const events &)> submit;
};

// Submits steps in order, each dependent on the previous one.
class Chain {
  public:
    Chain(const Session &session, Policy policy)
        : policy_(policy), in_order_(session.queue.is_in_order()) {}

    void submit(const Step &step) {
        last_ = step.submit(before_);
        if (!in_order_) before_.assign(1, last_);
        if (++pending_ == policy_.drain) finish();
    }
    void finish() {
        if (pending_ > 0) wait(last_, policy_.poll_us);
        before_.clear();
        pending_ = 0;
    }

  private:
    Policy policy_;
    bool in_order_;
    int pending_ = 0;
    sycl::event last_;
    events before_;
};

using Arguments = std::unordered_map<int, memory>;

// The C entry point accepts the argument list unchanged; the C++ one converts the map at each call.
inline Step primitive_step(const Session &session, std::string name, std::string implementation,
                           dnnl::primitive primitive, Arguments owned) {
    std::vector<dnnl_exec_arg_t> list;
    for (const auto &[id, mem] : owned) list.push_back({id, mem.get()});
    auto submit = [primitive, list, owned, stream = session.stream](const events &before) {
        sycl::event done;
        dnnl::error::wrap_c_api(
            dnnl_sycl_interop_primitive_execute(primitive.get(), stream.get(), int(list.size()),
                                                list.data(), &before, &done),
            "could not execute a primitive");
        return done;
    };
    return {std::move(name), std::move(implementation), submit};
}

inline Step zero_step(const Session &session, std::string name, const memory &target) {
    auto submit = [target, queue = session.queue](const events &before) mutable {
        return queue.memset(target.get_data_handle(), 0, target.get_desc().get_size(), before);
    };
    return {std::move(name), "memset", submit};
}

// Test values, the same in every language: for the flat index i of a tensor in its user layout,
//     h = i * 2654435761 + seed * 40503;  h ^= h >> 15;  h *= 739982445;  h ^= h >> 12
//     x = ((h >> 8 & 65535) - 32768) / 32768 * scale        (h: 32 bits, unsigned, wraps around)
// With a scale that is a power of two every x is exact in f32, in [-scale, scale).
inline float value(std::uint32_t i, std::uint32_t seed, float scale) {
    std::uint32_t h = i * 2654435761u + seed * 40503u;
    h ^= h >> 15;
    h *= 739982445u;
    h ^= h >> 12;
    return (float((h >> 8) & 65535u) - 32768.0f) / 32768.0f * scale;
}

inline std::size_t elements(const memory &mem) { return mem.get_desc().get_size() / sizeof(float); }

inline memory zeros(Session &session, const memory::desc &desc) {
    memory mem(desc, session.engine);
    if (desc.get_size() > 0) session.queue.memset(mem.get_data_handle(), 0, desc.get_size()).wait();
    return mem;
}

// A dense f32 tensor in a plain layout, filled with test values.
inline memory filled(Session &session, const dims &shape, tag layout, std::uint32_t seed,
                     float scale) {
    memory mem({shape, type::f32, layout}, session.engine);
    std::vector<float> host(elements(mem));
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = value(std::uint32_t(i), seed, scale);
    session.queue.memcpy(mem.get_data_handle(), host.data(), host.size() * sizeof(float)).wait();
    return mem;
}

// Sum, sum of magnitudes, and scalar product with value(i, 99, 1), which detects a wrong order.
inline std::vector<double> checksum(Session &session, const memory &mem) {
    std::vector<float> host(elements(mem));
    session.queue.memcpy(host.data(), mem.get_data_handle(), host.size() * sizeof(float)).wait();
    std::vector<double> sums(3, 0.0);
    for (std::size_t i = 0; i < host.size(); ++i) {
        sums[0] += host[i];
        sums[1] += std::fabs(host[i]);
        sums[2] += double(host[i]) * value(std::uint32_t(i), 99, 1.0f);
    }
    return sums;
}

}  // namespace floor_twin

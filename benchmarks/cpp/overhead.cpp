// SPDX-License-Identifier: Apache-2.0
// Time per execute of a tiny primitive, the same loop as in benchmarks/overhead.py.
//     overhead cpu|gpu [in_order]
//     chain OP COUNT [DRAIN [POLL_US]]    each call after the previous one, one wait at the end
//     each OP COUNT [POLL_US]             a wait after every call; POLL_US 0, the default, blocks
//     wake COUNT                          us for two threads to wake each other once, no SYCL
// OP is relu (1x16x8x8, nchw) or matmul (16x16 times 16x16, row-major), both f32; the reply is
// {"us": time per call, "drain": ..., "poll_us": ...}.
// Test values (floor.hpp), as (seed, scale): first input (1, 1), second input (2, 1).
#include <condition_variable>
#include <mutex>

#include "protocol.hpp"

using namespace dnnl;
using namespace floor_twin;

namespace {

struct Tiny {
    Step step;
    memory dst;
};

primitive_attr attributes() {
    primitive_attr attr;
    attr.set_scratchpad_mode(scratchpad_mode::user);
    return attr;
}

template <typename Desc>
Tiny tiny(Session &session, const std::string &name, const Desc &pd, Arguments arguments) {
    const memory dst = zeros(session, pd.dst_desc());
    arguments[DNNL_ARG_DST] = dst;
    if (pd.scratchpad_desc().get_size() > 0)
        arguments[DNNL_ARG_SCRATCHPAD] = memory(pd.scratchpad_desc(), session.engine);
    return {primitive_step(session, name, pd.impl_info_str(), primitive(pd.get()), arguments), dst};
}

Tiny make_relu(Session &session) {
    const memory src = filled(session, {1, 16, 8, 8}, tag::nchw, 1, 1.0f);
    eltwise_forward::primitive_desc pd(session.engine, prop_kind::forward_inference,
                                       algorithm::eltwise_relu, src.get_desc(), src.get_desc(),
                                       0.0f, 0.0f, attributes());
    return tiny(session, "relu", pd, {{DNNL_ARG_SRC, src}});
}

Tiny make_matmul(Session &session) {
    const memory a = filled(session, {16, 16}, tag::ab, 1, 1.0f);
    const memory b = filled(session, {16, 16}, tag::ab, 2, 1.0f);
    matmul::primitive_desc pd(session.engine, a.get_desc(), b.get_desc(), a.get_desc(),
                              attributes());
    return tiny(session, "matmul", pd, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}});
}

double us_per_call(clock::time_point start, int count) {
    return std::chrono::duration<double, std::micro>(clock::now() - start).count() / count;
}

double chain_us(const Session &session, const Step &step, int count, Policy policy) {
    const auto start = clock::now();
    Chain chain(session, policy);
    for (int i = 0; i < count; ++i) chain.submit(step);
    chain.finish();
    return us_per_call(start, count);
}

double each_us(const Step &step, int count, double poll_us) {
    const events none;
    const auto start = clock::now();
    for (int i = 0; i < count; ++i) {
        sycl::event done = step.submit(none);
        wait(done, poll_us);
    }
    return us_per_call(start, count);
}

// The cost of passing work to a sleeping thread and back; it explains most of a short call.
double wake_us(int count) {
    std::mutex guard;
    std::condition_variable changed;
    int turn = 0;  // even: ours
    const auto play = [&](int own) {
        std::unique_lock<std::mutex> lock(guard);
        for (int i = 0; i < count; ++i) {
            changed.wait(lock, [&] { return turn % 2 == own; });
            ++turn;
            changed.notify_one();
        }
    };
    const auto start = clock::now();
    std::thread other(play, 1);
    play(0);
    other.join();
    return us_per_call(start, count);
}

using Operations = std::map<std::string, Tiny>;

const Step &find(const Operations &operations, const std::string &name) {
    const auto found = operations.find(name);
    if (found == operations.end()) throw std::invalid_argument("unknown operation " + name);
    return found->second.step;
}

Commands make_commands(Session &session, const Operations &operations) {
    Commands commands;
    commands["chain"] = [&](Words &words) {
        const Step &step = find(operations, words.word("op"));
        const int count = words.number("count");
        const Policy policy = words.policy(session.default_policy());
        return json("us", chain_us(session, step, count, policy)) + ", " + json(policy);
    };
    commands["each"] = [&](Words &words) {
        const Step &step = find(operations, words.word("op"));
        const int count = words.number("count");
        const Policy policy{1, words.real_or("poll_us", 0)};
        return json("us", each_us(step, count, policy.poll_us)) + ", " + json(policy);
    };
    commands["wake"] = [](Words &words) { return json("us", wake_us(words.number("count"))); };
    commands["check"] = [&](Words &) {
        std::string text;
        for (const auto &[name, op] : operations) {
            op.step.submit({}).wait();
            text += (text.empty() ? "" : ", ") + json(name, checksum(session, op.dst));
        }
        return text;
    };
    commands["info"] = [&](Words &) {
        std::string text;
        for (const auto &[name, op] : operations)
            text += (text.empty() ? "" : ", ") + json(name, op.step.implementation);
        return info(session, "overhead", "f32") + ", \"steps\": {" + text + "}";
    };
    return commands;
}

}  // namespace

int main(int argc, char **argv) {
    return run_main(argc, argv, [](const Options &options) {
        Session session(options.device(), options.has("in_order"));
        const Operations operations{{"relu", make_relu(session)}, {"matmul", make_matmul(session)}};
        return serve(make_commands(session, operations));
    });
}

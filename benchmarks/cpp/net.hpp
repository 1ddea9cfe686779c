// SPDX-License-Identifier: Apache-2.0
// A training step as a list of primitives, with a reorder wherever a layout or type differs.
#pragma once

#include <algorithm>
#include <utility>

#include "floor.hpp"
#include "protocol.hpp"

namespace floor_twin {

class Net {
  public:
    explicit Net(Session &session) : session_(session) {}

    // Scratchpads belong to the caller, as in the Python binding.
    static dnnl::primitive_attr attributes() {
        dnnl::primitive_attr attr;
        attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        return attr;
    }

    template <typename Desc>
    void add(const std::string &name, const Desc &pd, Arguments arguments) {
        if (pd.scratchpad_desc().get_size() > 0)
            arguments[DNNL_ARG_SCRATCHPAD] = memory(pd.scratchpad_desc(), session_.engine);
        steps_.push_back(primitive_step(session_, name, pd.impl_info_str(),
                                        dnnl::primitive(pd.get()), std::move(arguments)));
    }

    void zero(const std::string &name, const memory &target) {
        steps_.push_back(zero_step(session_, name, target));
    }

    // `have` in the layout of `want`: itself, or a reordered copy.
    memory as(const std::string &name, const memory &have, const memory::desc &want) {
        const memory copy = place_for(have, want);
        copy_back(name, have, copy);
        return copy;
    }

    // The memory that a primitive writes in the layout `desc` for `user`: see copy_back.
    memory place_for(const memory &user, const memory::desc &desc) const {
        return user.get_desc() == desc ? user : memory(desc, session_.engine);
    }

    void copy_back(const std::string &name, const memory &from, const memory &to) {
        if (from.get_data_handle() == to.get_data_handle()) return;
        dnnl::reorder::primitive_desc pd(from, to, attributes());
        add(name, pd, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
    }

    // One training step, from the first submission to the end of the last primitive.
    double run_ms(Policy policy) const {
        const auto start = clock::now();
        Chain chain(session_, policy);
        for (const Step &step : steps_) chain.submit(step);
        chain.finish();
        return std::chrono::duration<double, std::milli>(clock::now() - start).count();
    }

    // Median time of each step, with a wait after each.
    std::vector<double> profile_ms(int repeats) const {
        std::vector<std::vector<double>> times(steps_.size());
        for (int r = 0; r < repeats; ++r)
            for (std::size_t i = 0; i < steps_.size(); ++i) {
                const auto start = clock::now();
                steps_[i].submit({}).wait();
                const std::chrono::duration<double, std::milli> spent = clock::now() - start;
                times[i].push_back(spent.count());
            }
        std::vector<double> medians;
        for (auto &list : times) {
            std::nth_element(list.begin(), list.begin() + repeats / 2, list.end());
            medians.push_back(list[repeats / 2]);
        }
        return medians;
    }

    const std::vector<Step> &steps() const { return steps_; }

  private:
    Session &session_;
    std::vector<Step> steps_;
};

using Outputs = std::vector<std::pair<std::string, memory>>;

// The commands of a training program: run, profile, check, info.
inline int serve_net(Session &session, const std::string &program, const std::string &precision,
                     const Net &net, const Outputs &outputs) {
    Commands commands;
    commands["run"] = [&](Words &words) {
        const int count = words.number("count");
        const Policy policy = words.policy(session.default_policy());
        std::vector<double> ms;
        for (int i = 0; i < count; ++i) ms.push_back(net.run_ms(policy));
        return json("ms", ms) + ", " + json(policy);
    };
    commands["profile"] = [&](Words &words) {
        const auto ms = net.profile_ms(words.number("repeats"));
        std::string text;
        for (std::size_t i = 0; i < ms.size(); ++i)
            text += (i ? ", " : "") + json(net.steps()[i].name, ms[i]);
        return text;
    };
    commands["check"] = [&](Words &) {
        net.run_ms(session.default_policy());
        std::string text;
        for (const auto &[name, mem] : outputs)
            text += (text.empty() ? "" : ", ") + json(name, checksum(session, mem));
        return text;
    };
    commands["info"] = [&](Words &) {
        std::string text;
        for (const Step &step : net.steps())
            text += (text.empty() ? "" : ", ") + json(step.name, step.implementation);
        return info(session, program, precision) + ", \"steps\": {" + text + "}";
    };
    return serve(commands);
}

}  // namespace floor_twin

// SPDX-License-Identifier: Apache-2.0
// Rows of the six RNN cells. Backward ones call the C functions, because the C++ constructors do
// not expose `flags` (overwrite the weight gradients instead of accumulating).
#include <list>

#include "base/errors.hpp"
#include "primitives/primitive_row.hpp"

namespace sycl_dnn {

using namespace dnnl;

// Converts a row's argument to the type of the C functions.
static const_dnnl_memory_desc_t to_c(const desc &d) { return d.get(); }
static const_dnnl_primitive_desc_t to_c(const primitive_desc_base &pd) { return pd.get(); }
static dnnl_prop_kind_t to_c(prop_kind kind) { return static_cast<dnnl_prop_kind_t>(kind); }
static dnnl_alg_kind_t to_c(algorithm alg) { return static_cast<dnnl_alg_kind_t>(alg); }
static dnnl_rnn_direction_t to_c(rnn_direction d) { return static_cast<dnnl_rnn_direction_t>(d); }
static unsigned to_c(rnn_flags flags) { return static_cast<unsigned>(flags); }
static float to_c(float value) { return value; }

template <auto create_function, class... A>
static void c_row(py::module_ &m, const char *name, const char *parameters, const char *signature) {
    def_row<A...>(
        m, name, parameters, signature,
        [](const engine &e, const primitive_attr &attr, const auto &...a) -> primitive_desc_base {
            dnnl_primitive_desc_t handle = nullptr;
            check(create_function(&handle, e.get(), to_c(a)..., attr.get()),
                  "could not create a primitive descriptor");
            return primitive_desc_base(handle);
        });
}

// The strings must live as long as the module.
static const char *keep(std::string text) {
    static auto *texts = new std::list<std::string>;
    return texts->emplace_back(std::move(text)).c_str();
}

// The tensors of a cell in constructor order. A gradient repeats the list with the prefix "diff_".
struct cell {
    std::string inputs, outputs;

    static std::string diff(const std::string &names) {
        std::string text;
        for (const auto &name : words(names.c_str())) text += " diff_" + name;
        return text;
    }
    // Parameter `attention` has the execution argument `augru_attention`.
    static std::string executed(std::string names) {
        for (size_t position = names.find("attention"); position != std::string::npos;
             position = names.find("attention", position + sizeof("augru_attention")))
            names.insert(position, "augru_");
        return names;
    }
    const char *forward(const std::string &options, const std::string &last = "") const {
        return keep("prop_kind " + options + " " + inputs + " " + outputs + " " + last);
    }
    const char *backward(const std::string &options, const std::string &last = "") const {
        return keep("prop_kind " + options + " " + inputs + " " + outputs + diff(inputs) +
                    diff(outputs) + " flags " + last + " hint_fwd_pd");
    }
    const char *runs_forward() const {
        return keep(executed(inputs + " -> " + outputs + " workspace"));
    }
    const char *runs_backward() const {
        return keep(
            executed(inputs + " " + outputs + diff(outputs) + " workspace ->" + diff(inputs)));
    }
};

static const cell simple{"src_layer src_iter weights_layer weights_iter bias",
                         "dst_layer dst_iter"};
static const cell attended{"src_layer src_iter attention weights_layer weights_iter bias",
                           "dst_layer dst_iter"};
static const cell memory_cell{
    "src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole "
    "weights_projection bias",
    "dst_layer dst_iter dst_iter_c"};

static void bind_vanilla(py::module_ &m) {
    row<vanilla_rnn_forward, prop_kind, algorithm, rnn_direction, desc, opt, desc, desc, opt, desc,
        opt, zero>(m, "vanilla_rnn_forward", simple.forward("activation direction", "alpha"),
                   simple.runs_forward());
    c_row<dnnl_vanilla_rnn_backward_primitive_desc_create, prop_kind, algorithm, rnn_direction,
          desc, opt, desc, desc, opt, desc, opt, desc, opt, desc, desc, opt, desc, opt, rnn_flags,
          zero, zero, hint<vanilla_rnn_forward>>(
        m, "vanilla_rnn_backward", simple.backward("activation direction", "alpha beta"),
        simple.runs_backward());
}

static void bind_lstm(py::module_ &m) {
    row<lstm_forward, prop_kind, rnn_direction, desc, opt, opt, desc, desc, opt, opt, opt, desc,
        opt, opt>(m, "lstm_forward", memory_cell.forward("direction"), memory_cell.runs_forward());
    c_row<dnnl_lstm_backward_primitive_desc_create, prop_kind, rnn_direction, desc, opt, opt, desc,
          desc, opt, opt, opt, desc, opt, opt, desc, opt, opt, desc, desc, opt, opt, opt, desc, opt,
          opt, rnn_flags, hint<lstm_forward>>(m, "lstm_backward", memory_cell.backward("direction"),
                                              memory_cell.runs_backward());
}

template <class Forward, auto backward_create>
static void bind_gru(py::module_ &m, const char *forward, const char *backward) {
    row<Forward, prop_kind, rnn_direction, desc, opt, desc, desc, opt, desc, opt>(
        m, forward, simple.forward("direction"), simple.runs_forward());
    c_row<backward_create, prop_kind, rnn_direction, desc, opt, desc, desc, opt, desc, opt, desc,
          opt, desc, desc, opt, desc, opt, rnn_flags, hint<Forward>>(
        m, backward, simple.backward("direction"), simple.runs_backward());
}

template <class Forward, auto backward_create>
static void bind_augru(py::module_ &m, const char *forward, const char *backward) {
    row<Forward, prop_kind, rnn_direction, desc, opt, desc, desc, desc, opt, desc, opt>(
        m, forward, attended.forward("direction"), attended.runs_forward());
    c_row<backward_create, prop_kind, rnn_direction, desc, opt, desc, desc, desc, opt, desc, opt,
          desc, opt, desc, desc, desc, opt, desc, opt, rnn_flags, hint<Forward>>(
        m, backward, attended.backward("direction"), attended.runs_backward());
}

void bind_rnn_primitives(py::module_ &m) {
    bind_vanilla(m);
    bind_lstm(m);
    bind_gru<gru_forward, dnnl_gru_backward_primitive_desc_create>(m, "gru_forward",
                                                                   "gru_backward");
    bind_gru<lbr_gru_forward, dnnl_lbr_gru_backward_primitive_desc_create>(m, "lbr_gru_forward",
                                                                           "lbr_gru_backward");
    bind_augru<augru_forward, dnnl_augru_backward_primitive_desc_create>(m, "augru_forward",
                                                                         "augru_backward");
    bind_augru<lbr_augru_forward, dnnl_lbr_augru_backward_primitive_desc_create>(
        m, "lbr_augru_forward", "lbr_augru_backward");
}

}  // namespace sycl_dnn

// SPDX-License-Identifier: Apache-2.0
// One training step of an LSTM layer as in GNMT, over sentences of two lengths; twin of the Python
// program of oneDNN's rnn_training_f32.
//     N0 sentences of T0 steps and N1 of T1 < T0 steps are padded in (T0, N0 + N1, C).
// The left primitive processes the first T1 steps of all N0 + N1 sentences, the right one the other
// T0 - T1 steps of the N0 long sentences. The right one starts from the first N0 rows of the left
// one's last state. Backward runs the right one, then the left one. The right one writes the
// gradient of those rows, the other N1 rows remain zero. Both add to the same weight gradients.
//     rnn_training cpu|gpu [f32] [in_order]
// Test values (floor.hpp), as (seed, scale): src (1, 1), weights_layer (2, 1/32), weights_iter
// (3, 1/32), bias (4, 1/32), diff_dst (5, 1).
#include "net.hpp"

using namespace dnnl;
using namespace floor_twin;

namespace {

constexpr memory::dim N0 = 11, N1 = 6, T0 = 35, T1 = 8, C = 1024, gates = 4;
const dims net_shape{T0, N0 + N1, C}, left_shape{T1, N0 + N1, C}, right_shape{T0 - T1, N0, C};
const dims left_state{1, 1, N0 + N1, C}, right_state{1, 1, N0, C};
const dims weights_shape{1, 1, C, gates, C}, bias_shape{1, 1, gates, C};
const dims left_offset{0, 0, 0}, right_offset{T1, 0, 0}, state_offset{0, 0, 0, 0};
constexpr auto left2right = rnn_direction::unidirectional_left2right;

memory::desc any(const dims &shape) { return {shape, type::f32, tag::any}; }
memory::desc tnc(const dims &shape) { return {shape, type::f32, tag::tnc}; }

// A part of `whole`; the offset is in the descriptor, the address is that of the whole.
memory view(const memory &whole, const dims &shape, const dims &offset) {
    return memory(whole.get_desc().submemory_desc(shape, offset), whole.get_engine(),
                  whole.get_data_handle());
}

struct Weights {
    memory layer, iter, bias;
};

// What one side keeps from its forward to its backward pass; the right one has no dst_iter.
struct Side {
    memory src, src_iter, src_iter_c, dst, dst_iter, dst_iter_c, workspace;
    memory diff_src, diff_src_iter, diff_src_iter_c, diff_dst, diff_dst_iter, diff_dst_iter_c;
    lstm_forward::primitive_desc forward;
    lstm_backward::primitive_desc backward;
};

class Lstm {
  public:
    explicit Lstm(Session &session) : session_(session), net_(session) {
        make_tensors();
        describe_forward();
        forward();
        describe_backward();
        backward();
    }
    const Net &net() const { return net_; }
    Outputs outputs() const {
        return {{"dst_left", left_.dst},
                {"dst_right", right_.dst},
                {"diff_src", diff_src_},
                {"diff_weights_layer", user_diff_.layer},
                {"diff_weights_iter", user_diff_.iter},
                {"diff_bias", user_diff_.bias}};
    }

  private:
    memory make(const memory::desc &desc) const { return memory(desc, session_.engine); }

    void make_tensors() {
        src_ = filled(session_, net_shape, tag::tnc, 1, 1.0f);
        user_ = {filled(session_, weights_shape, tag::ldigo, 2, 0.03125f),
                 filled(session_, weights_shape, tag::ldigo, 3, 0.03125f),
                 filled(session_, bias_shape, tag::ldgo, 4, 0.03125f)};
        diff_dst_ = filled(session_, net_shape, tag::tnc, 5, 1.0f);
        diff_src_ = zeros(session_, tnc(net_shape));
        user_diff_ = {zeros(session_, user_.layer.get_desc()),
                      zeros(session_, user_.iter.get_desc()),
                      zeros(session_, user_.bias.get_desc())};
        fill_side("left", left_, left_shape, left_offset);
        fill_side("right", right_, right_shape, right_offset);
    }
    void fill_side(const std::string &name, Side &side, const dims &shape, const dims &offset) {
        // oneDNN 3.13 assumes dense rows of src_layer and ignores the offset when it computes
        // diff_weights_layer: pass a dense copy. Forward gains more than the copy costs.
        side.src = net_.as(name + " src reorder", view(src_, shape, offset), tnc(shape));
        side.diff_src = view(diff_src_, shape, offset);
        side.diff_dst = view(diff_dst_, shape, offset);
        side.dst = make(tnc(shape));
    }

    static memory::desc desc_of(const memory &mem) { return mem ? mem.get_desc() : memory::desc(); }
    lstm_forward::primitive_desc describe(const Side &side, const memory::desc &dst_iter) const {
        const auto wei = any(weights_shape);
        return {session_.engine,        prop_kind::forward_training, left2right, desc_of(side.src),
                desc_of(side.src_iter), desc_of(side.src_iter_c),    wei,        wei,
                any(bias_shape),        desc_of(side.dst),           dst_iter,   dst_iter,
                Net::attributes()};
    }
    void describe_forward() {
        // Without src_iter, oneDNN 3.13 computes diff_weights_iter from the states after each step
        // instead of those before it: start from explicit zeros.
        const memory::desc start(left_state, type::f32, tag::ldnc);
        left_.src_iter = zeros(session_, start);
        left_.src_iter_c = zeros(session_, start);
        left_.forward = describe(left_, any(left_state));
        left_.dst_iter = make(left_.forward.dst_iter_desc());
        left_.dst_iter_c = make(left_.forward.dst_iter_c_desc());
        right_.src_iter = view(left_.dst_iter, right_state, state_offset);
        right_.src_iter_c = view(left_.dst_iter_c, right_state, state_offset);
        right_.forward = describe(right_, {});
        left_.workspace = make(left_.forward.workspace_desc());
        right_.workspace = make(right_.forward.workspace_desc());
    }

    template <typename Desc>
    Weights pack(const std::string &pass, const Weights &from, const Desc &pd) {
        return {net_.as(pass + " weights_layer reorder", from.layer, pd.weights_layer_desc()),
                net_.as(pass + " weights_iter reorder", from.iter, pd.weights_iter_desc()),
                net_.as(pass + " bias reorder", from.bias, pd.bias_desc())};
    }
    static void add_present(Arguments &arguments, const Arguments &optional) {
        for (const auto &[id, mem] : optional)
            if (mem) arguments[id] = mem;
    }
    static Arguments inputs(const Side &side, const Weights &weights) {
        Arguments arguments{
            {DNNL_ARG_SRC_LAYER, side.src},        {DNNL_ARG_WEIGHTS_LAYER, weights.layer},
            {DNNL_ARG_WEIGHTS_ITER, weights.iter}, {DNNL_ARG_BIAS, weights.bias},
            {DNNL_ARG_DST_LAYER, side.dst},        {DNNL_ARG_WORKSPACE, side.workspace}};
        add_present(arguments, {{DNNL_ARG_SRC_ITER, side.src_iter},
                                {DNNL_ARG_SRC_ITER_C, side.src_iter_c},
                                {DNNL_ARG_DST_ITER, side.dst_iter},
                                {DNNL_ARG_DST_ITER_C, side.dst_iter_c}});
        return arguments;
    }
    void forward() {
        const Weights packed = pack("forward", user_, left_.forward);
        net_.add("left forward", left_.forward, inputs(left_, packed));
        net_.add("right forward", right_.forward,
                 inputs(right_, pack("right forward", packed, right_.forward)));
    }

    lstm_backward::primitive_desc describe_back(const Side &side,
                                                const memory::desc &dst_iter) const {
        const auto wei = any(weights_shape), bias = any(bias_shape);
        const auto src = desc_of(side.src), dst = desc_of(side.dst);
        const auto src_iter = desc_of(side.src_iter), src_iter_c = desc_of(side.src_iter_c);
        return {session_.engine,
                prop_kind::backward,
                left2right,
                src,
                src_iter,
                src_iter_c,
                wei,
                wei,
                bias,
                dst,
                dst_iter,
                dst_iter,
                desc_of(side.diff_src),
                src_iter,
                src_iter_c,
                wei,
                wei,
                bias,
                desc_of(side.diff_dst),
                dst_iter,
                dst_iter,
                side.forward,
                Net::attributes()};
    }
    void describe_backward() {
        left_.backward = describe_back(left_, any(left_state));
        left_.diff_src_iter = make(left_.backward.diff_src_iter_desc());
        left_.diff_src_iter_c = make(left_.backward.diff_src_iter_c_desc());
        left_.diff_dst_iter = zeros(session_, left_.backward.diff_dst_iter_desc());
        left_.diff_dst_iter_c = zeros(session_, left_.backward.diff_dst_iter_c_desc());
        right_.diff_src_iter = view(left_.diff_dst_iter, right_state, state_offset);
        right_.diff_src_iter_c = view(left_.diff_dst_iter_c, right_state, state_offset);
        right_.backward = describe_back(right_, {});
    }

    static Arguments gradients(const Side &side, const Weights &weights, const Weights &diff) {
        Arguments arguments = inputs(side, weights);
        add_present(arguments, {{DNNL_ARG_DIFF_SRC_LAYER, side.diff_src},
                                {DNNL_ARG_DIFF_SRC_ITER, side.diff_src_iter},
                                {DNNL_ARG_DIFF_SRC_ITER_C, side.diff_src_iter_c},
                                {DNNL_ARG_DIFF_DST_LAYER, side.diff_dst},
                                {DNNL_ARG_DIFF_DST_ITER, side.diff_dst_iter},
                                {DNNL_ARG_DIFF_DST_ITER_C, side.diff_dst_iter_c},
                                {DNNL_ARG_DIFF_WEIGHTS_LAYER, diff.layer},
                                {DNNL_ARG_DIFF_WEIGHTS_ITER, diff.iter},
                                {DNNL_ARG_DIFF_BIAS, diff.bias}});
        return arguments;
    }
    void backward() {
        const auto &pd = left_.backward;
        const Weights packed = pack("backward", user_, pd);
        const Weights diff{net_.place_for(user_diff_.layer, pd.diff_weights_layer_desc()),
                           net_.place_for(user_diff_.iter, pd.diff_weights_iter_desc()),
                           net_.place_for(user_diff_.bias, pd.diff_bias_desc())};
        net_.zero("zero diff_weights_layer", diff.layer);
        net_.zero("zero diff_weights_iter", diff.iter);
        net_.zero("zero diff_bias", diff.bias);
        net_.add("right backward", right_.backward, gradients(right_, packed, diff));
        net_.add("left backward", left_.backward, gradients(left_, packed, diff));
        net_.copy_back("diff_weights_layer reorder", diff.layer, user_diff_.layer);
        net_.copy_back("diff_weights_iter reorder", diff.iter, user_diff_.iter);
        net_.copy_back("diff_bias reorder", diff.bias, user_diff_.bias);
    }

    Session &session_;
    Net net_;
    memory src_, diff_src_, diff_dst_;
    Weights user_, user_diff_;
    Side left_, right_;
};

}  // namespace

int main(int argc, char **argv) {
    return run_main(argc, argv, [](const Options &options) {
        if (options.has("bf16")) throw std::invalid_argument("rnn_training: f32 only");
        Session session(options.device(), options.has("in_order"));
        Lstm lstm(session);
        return serve_net(session, "rnn_training", "f32", lstm.net(), lstm.outputs());
    });
}

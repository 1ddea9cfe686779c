// SPDX-License-Identifier: Apache-2.0
// The head of AlexNet, one training step: convolution, ReLU, LRN, max pooling, and back to the
// gradients of weights and bias. Twin of the Python programs of oneDNN's cnn_training_f32 and
// cnn_training_bf16: user data is f32 in nchw, oihw and x; primitives choose their layouts.
//     cnn_training cpu|gpu [f32|bf16] [bf16_bias] [in_order]
// bf16_bias keeps bias and diff_bias in bf16 in between; they are f32 throughout by default.
// Test values (floor.hpp), as (seed, scale): src (1, 1), weights (2, 1/16), bias (3, 1/16),
// diff_dst (4, 1).
#include "net.hpp"

using namespace dnnl;
using namespace floor_twin;

namespace {

const dims src_shape{32, 3, 227, 227}, weights_shape{96, 3, 11, 11}, bias_shape{96};
const dims conv_shape{32, 96, 55, 55}, pool_shape{32, 96, 27, 27};
const dims conv_stride{4, 4}, pool_stride{2, 2}, pool_kernel{3, 3}, none{0, 0};
constexpr auto training = prop_kind::forward_training;

class AlexNetHead {
  public:
    AlexNetHead(Session &session, type precision, type bias_type)
        : session_(session),
          engine_(session.engine),
          precision_(precision),
          bias_type_(bias_type),
          net_(session) {
        forward();
        backward();
    }
    const Net &net() const { return net_; }
    Outputs outputs() const {
        return {{"dst", user_dst_},
                {"diff_weights", user_diff_weights_},
                {"diff_bias", user_diff_bias_}};
    }

  private:
    memory::desc any(const dims &shape) const { return {shape, precision_, tag::any}; }
    memory::desc bias_desc() const { return {bias_shape, bias_type_, tag::x}; }

    // A workspace is passed only if the implementation requires one.
    void with_workspace(Arguments &arguments, const memory &workspace) const {
        if (workspace) arguments[DNNL_ARG_WORKSPACE] = workspace;
    }
    memory workspace(const memory::desc &desc) const {
        return desc.get_size() > 0 ? memory(desc, engine_) : memory();
    }

    void forward() {
        convolve();
        rectify();
        normalize();
        pool();
    }
    void backward() {
        const memory pooled = pool_back();
        const memory normalized = normalize_back(pooled);
        convolve_back(rectify_back(normalized));
    }

    void convolve() {
        conv_ = {engine_,
                 training,
                 algorithm::convolution_direct,
                 any(src_shape),
                 any(weights_shape),
                 bias_desc(),
                 any(conv_shape),
                 conv_stride,
                 none,
                 none,
                 attr_};
        const memory src = filled(session_, src_shape, tag::nchw, 1, 1.0f);
        const memory weights = filled(session_, weights_shape, tag::oihw, 2, 0.0625f);
        const memory bias = filled(session_, bias_shape, tag::x, 3, 0.0625f);
        src_ = net_.as("src reorder", src, conv_.src_desc());
        conv_dst_ = memory(conv_.dst_desc(), engine_);
        const memory packed = net_.as("weights reorder", weights, conv_.weights_desc());
        net_.add("conv", conv_,
                 {{DNNL_ARG_SRC, src_},
                  {DNNL_ARG_WEIGHTS, packed},
                  {DNNL_ARG_BIAS, net_.as("bias reorder", bias, conv_.bias_desc())},
                  {DNNL_ARG_DST, conv_dst_}});
    }

    void rectify() {
        relu_ = {
            engine_, training, algorithm::eltwise_relu, conv_.dst_desc(), conv_.dst_desc(), 0.0f,
            0.0f,    attr_};
        relu_dst_ = memory(relu_.dst_desc(), engine_);
        net_.add("relu", relu_, {{DNNL_ARG_SRC, conv_dst_}, {DNNL_ARG_DST, relu_dst_}});
    }

    void normalize() {
        lrn_ = {engine_,
                training,
                algorithm::lrn_across_channels,
                relu_.dst_desc(),
                relu_.dst_desc(),
                5,
                1e-4f,
                0.75f,
                1.0f,
                attr_};
        lrn_dst_ = memory(lrn_.dst_desc(), engine_);
        lrn_workspace_ = workspace(lrn_.workspace_desc());
        Arguments arguments{{DNNL_ARG_SRC, relu_dst_}, {DNNL_ARG_DST, lrn_dst_}};
        with_workspace(arguments, lrn_workspace_);
        net_.add("lrn", lrn_, arguments);
    }

    void pool() {
        pool_ = {engine_,
                 training,
                 algorithm::pooling_max,
                 lrn_.dst_desc(),
                 any(pool_shape),
                 pool_stride,
                 pool_kernel,
                 none,
                 none,
                 none,
                 attr_};
        user_dst_ = zeros(session_, {pool_shape, type::f32, tag::nchw});
        pool_workspace_ = workspace(pool_.workspace_desc());
        const memory dst = net_.place_for(user_dst_, pool_.dst_desc());
        Arguments arguments{{DNNL_ARG_SRC, lrn_dst_}, {DNNL_ARG_DST, dst}};
        with_workspace(arguments, pool_workspace_);
        net_.add("pool", pool_, arguments);
        net_.copy_back("dst reorder", dst, user_dst_);
    }

    memory pool_back() {
        pooling_backward::primitive_desc pd(engine_, algorithm::pooling_max, any(conv_shape),
                                            any(pool_shape), pool_stride, pool_kernel, none, none,
                                            none, pool_, attr_);
        const memory user = filled(session_, pool_shape, tag::nchw, 4, 1.0f);
        const memory diff_dst = net_.as("diff_dst reorder", user, pd.diff_dst_desc());
        const memory diff_src(pd.diff_src_desc(), engine_);
        Arguments arguments{{DNNL_ARG_DIFF_DST, diff_dst}, {DNNL_ARG_DIFF_SRC, diff_src}};
        with_workspace(arguments, pool_workspace_);
        net_.add("pool backward", pd, arguments);
        return diff_src;
    }

    memory normalize_back(const memory &gradient) {
        lrn_backward::primitive_desc pd(engine_, algorithm::lrn_across_channels, any(conv_shape),
                                        any(conv_shape), lrn_.src_desc(), 5, 1e-4f, 0.75f, 1.0f,
                                        lrn_, attr_);
        const memory diff_dst = net_.as("lrn diff reorder", gradient, pd.diff_dst_desc());
        const memory diff_src(pd.diff_src_desc(), engine_);
        Arguments arguments{{DNNL_ARG_SRC, relu_dst_},
                            {DNNL_ARG_DIFF_DST, diff_dst},
                            {DNNL_ARG_DIFF_SRC, diff_src}};
        with_workspace(arguments, lrn_workspace_);
        net_.add("lrn backward", pd, arguments);
        return diff_src;
    }

    memory rectify_back(const memory &gradient) {
        eltwise_backward::primitive_desc pd(engine_, algorithm::eltwise_relu, any(conv_shape),
                                            any(conv_shape), conv_.dst_desc(), 0.0f, 0.0f, relu_,
                                            attr_);
        const memory diff_dst = net_.as("relu diff reorder", gradient, pd.diff_dst_desc());
        const memory diff_src(pd.diff_src_desc(), engine_);
        net_.add("relu backward", pd,
                 {{DNNL_ARG_SRC, conv_dst_},
                  {DNNL_ARG_DIFF_DST, diff_dst},
                  {DNNL_ARG_DIFF_SRC, diff_src}});
        return diff_src;
    }

    void convolve_back(const memory &gradient) {
        convolution_backward_weights::primitive_desc pd(
            engine_, algorithm::convolution_direct, any(src_shape), any(weights_shape), bias_desc(),
            any(conv_shape), conv_stride, none, none, conv_, attr_);
        user_diff_weights_ = zeros(session_, {weights_shape, type::f32, tag::oihw});
        user_diff_bias_ = zeros(session_, {bias_shape, type::f32, tag::x});
        const memory src = net_.as("conv src reorder", src_, pd.src_desc());
        const memory diff_dst = net_.as("conv diff reorder", gradient, pd.diff_dst_desc());
        const memory weights = net_.place_for(user_diff_weights_, pd.diff_weights_desc());
        const memory bias = net_.place_for(user_diff_bias_, pd.diff_bias_desc());
        net_.add("conv backward weights", pd,
                 {{DNNL_ARG_SRC, src},
                  {DNNL_ARG_DIFF_DST, diff_dst},
                  {DNNL_ARG_DIFF_WEIGHTS, weights},
                  {DNNL_ARG_DIFF_BIAS, bias}});
        net_.copy_back("diff_weights reorder", weights, user_diff_weights_);
        net_.copy_back("diff_bias reorder", bias, user_diff_bias_);
    }

    Session &session_;
    dnnl::engine engine_;
    type precision_, bias_type_;
    Net net_;
    primitive_attr attr_ = Net::attributes();
    convolution_forward::primitive_desc conv_;
    eltwise_forward::primitive_desc relu_;
    lrn_forward::primitive_desc lrn_;
    pooling_forward::primitive_desc pool_;
    memory src_, conv_dst_, relu_dst_, lrn_dst_, lrn_workspace_, pool_workspace_;
    memory user_dst_, user_diff_weights_, user_diff_bias_;
};

}  // namespace

int main(int argc, char **argv) {
    return run_main(argc, argv, [](const Options &options) {
        const bool bf16 = options.has("bf16");
        Session session(options.device(), options.has("in_order"));
        AlexNetHead head(session, bf16 ? type::bf16 : type::f32,
                         options.has("bf16_bias") ? type::bf16 : type::f32);
        return serve_net(session, "cnn_training", bf16 ? "bf16" : "f32", head.net(),
                         head.outputs());
    });
}

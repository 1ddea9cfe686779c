# SPDX-License-Identifier: Apache-2.0
"""Small primitives that are valid except for what a test changes."""

from sycl_dnn import onednn as dnnl

T = dnnl.data_type
ALG = dnnl.algorithm
TRAINING = dnnl.prop_kind.forward_training
INFERENCE = dnnl.prop_kind.forward_inference
LEFT = dnnl.rnn_direction.unidirectional_left2right


def f32(*dims, tag=None):
    return dnnl.MemoryDesc(dims, T.f32, *([tag] if tag else []))


X = f32(2, 8, 4, 4)
HALF = f32(2, 8, 2, 2)


def conv(e, row="convolution_forward", **changes):
    """A 3x3 convolution of 8 to 16 channels that is valid except for ``changes``."""
    inputs = {
        "prop_kind": TRAINING, "algorithm": ALG.convolution_direct, "src": f32(2, 8, 9, 9),
        "weights": f32(16, 8, 3, 3), "dst": f32(2, 16, 9, 9), "strides": (1, 1),
        "padding_l": (1, 1), "padding_r": (1, 1),
    }  # fmt: skip
    return getattr(dnnl, row)(e, **(inputs | changes))


def deconv(e, **changes):
    base = {"algorithm": ALG.deconvolution_direct}
    return conv(e, "deconvolution_forward", **(base | changes))


def pool(e, **changes):
    inputs = {
        "prop_kind": TRAINING, "algorithm": ALG.pooling_max, "src": X, "dst": HALF,
        "strides": (2, 2), "kernel": (2, 2), "padding_l": (0, 0), "padding_r": (0, 0),
    }  # fmt: skip
    return dnnl.pooling_forward(e, **(inputs | changes))


def relu(e, **changes):
    inputs = {"prop_kind": TRAINING, "algorithm": ALG.eltwise_relu, "src": X, "dst": X}
    return dnnl.eltwise_forward(e, **(inputs | changes))


def relu_backward(e, **changes):
    provided = {"algorithm": ALG.eltwise_relu, "diff_src": X, "diff_dst": X, "data": X}
    return dnnl.eltwise_backward(e, **(provided | changes))


def conv_backward(e, **changes):
    provided = {
        "algorithm": ALG.convolution_direct, "diff_src": f32(2, 8, 9, 9),
        "weights": f32(16, 8, 3, 3), "diff_dst": f32(2, 16, 9, 9), "strides": (1, 1),
        "padding_l": (1, 1), "padding_r": (1, 1),
    }  # fmt: skip
    return dnnl.convolution_backward_data(e, **(provided | changes))


def product(e, src, weights, dst, **options):
    return dnnl.matmul(e, src=f32(*src), weights=f32(*weights), dst=f32(*dst), **options)


def softmax(e, **changes):
    inputs = {
        "prop_kind": TRAINING,
        "algorithm": ALG.softmax_accurate,
        "src": X,
        "dst": X,
        "axis": 1,
    }
    return dnnl.softmax_forward(e, **(inputs | changes))


def shuffle(e, axis=1, group_size=2):
    return dnnl.shuffle_forward(
        e, prop_kind=TRAINING, src=X, dst=X, axis=axis, group_size=group_size
    )


def concat(e, axis, *srcs, **options):
    return dnnl.concat(e, concat_dimension=axis, srcs=list(srcs), **options)


def group_norm(e, groups, shape=None):
    x = dnnl.MemoryDesc(shape, dnnl.data_type.f32) if shape else X
    return dnnl.group_normalization_forward(
        e, prop_kind=TRAINING, src=x, dst=x, groups=groups, epsilon=1e-5
    )


def lrn(e, local_size):
    return dnnl.lrn_forward(
        e, prop_kind=TRAINING, algorithm=ALG.lrn_across_channels, src=X, dst=X,
        local_size=local_size, alpha=1.0, beta=0.5, k=1.0,
    )  # fmt: skip


def resampling(e, **options):
    return dnnl.resampling_forward(
        e, prop_kind=TRAINING, algorithm=ALG.resampling_nearest, src=X, **options
    )


def gru(e, row="gru_forward", **changes):
    provided = {
        "prop_kind": TRAINING, "direction": LEFT, "src_layer": f32(3, 2, 4),
        "weights_layer": f32(1, 1, 4, 3, 4), "weights_iter": f32(1, 1, 4, 3, 4),
        "bias": f32(1, 1, 3, 4), "dst_layer": f32(3, 2, 4),
    }  # fmt: skip
    return getattr(dnnl, row)(e, **(provided | changes))


def rnn_attr():
    attr = dnnl.PrimitiveAttr()
    attr.set_rnn_data_qparams(2.0, 3.0)
    return attr


def softmax_of_integers(e, **options):
    """Request a primitive that neither CPUs nor GPUs have."""
    d = dnnl.MemoryDesc((2, 8), T.s32)
    return softmax(e, src=d, dst=d, **options)

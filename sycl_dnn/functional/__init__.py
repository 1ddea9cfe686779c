# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional for dpnp arrays, over oneDNN.

Names, arguments, defaults and meaning are those of ``torch.nn.functional``.
"""

from sycl_dnn.functional.activation import (
    celu,
    elu,
    gelu,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    tanh,
)
from sycl_dnn.functional.adaptive_pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from sycl_dnn.functional.added_product import addmm, baddbmm
from sycl_dnn.functional.arithmetic import add, maximum, minimum, mul, pow, sub
from sycl_dnn.functional.attention import scaled_dot_product_attention
from sycl_dnn.functional.avg_pool import avg_pool1d, avg_pool2d, avg_pool3d
from sycl_dnn.functional.batch_norm import batch_norm
from sycl_dnn.functional.clamp import clamp
from sycl_dnn.functional.class_loss import cross_entropy, nll_loss
from sycl_dnn.functional.compare import eq, ge, gt, le, lt, ne, where
from sycl_dnn.functional.conv import conv1d, conv2d, conv3d
from sycl_dnn.functional.conv_transpose import conv_transpose1d, conv_transpose2d, conv_transpose3d
from sycl_dnn.functional.convert import asarray, astype
from sycl_dnn.functional.divergence import kl_div
from sycl_dnn.functional.division import div
from sycl_dnn.functional.dropout import dropout
from sycl_dnn.functional.elementary import abs, exp, log, neg, reciprocal, sqrt, square
from sycl_dnn.functional.embedding import embedding, one_hot
from sycl_dnn.functional.extremes import amax, amin, argmax, argmin, max, min
from sycl_dnn.functional.fold import fold, unfold
from sycl_dnn.functional.gated import glu, prelu
from sycl_dnn.functional.group_norm import group_norm, instance_norm
from sycl_dnn.functional.interpolate import interpolate
from sycl_dnn.functional.joining import cat, stack
from sycl_dnn.functional.layer_norm import layer_norm, rms_norm
from sycl_dnn.functional.linear import bilinear, linear
from sycl_dnn.functional.loss import huber_loss, l1_loss, mse_loss, smooth_l1_loss
from sycl_dnn.functional.lp_pool import lp_pool1d, lp_pool2d, lp_pool3d
from sycl_dnn.functional.lrn import local_response_norm
from sycl_dnn.functional.matmul import bmm, matmul, mm
from sycl_dnn.functional.max_pool import max_pool1d, max_pool2d, max_pool3d
from sycl_dnn.functional.max_unpool import max_unpool1d, max_unpool2d, max_unpool3d
from sycl_dnn.functional.normalize import normalize
from sycl_dnn.functional.padding import pad
from sycl_dnn.functional.probability_loss import (
    bce_with_logits,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
)
from sycl_dnn.functional.quantize import dequantize, quantize, quantize_dynamic
from sycl_dnn.functional.quantized import quantized_linear, quantized_matmul
from sycl_dnn.functional.quantized_conv import quantized_conv1d, quantized_conv2d, quantized_conv3d
from sycl_dnn.functional.quantized_tensor import QuantizedTensor
from sycl_dnn.functional.rearrange import channel_shuffle, pixel_shuffle, pixel_unshuffle
from sycl_dnn.functional.recurrent import gru, lstm, rnn_relu, rnn_tanh
from sycl_dnn.functional.reduction import mean, prod, sum
from sycl_dnn.functional.shape import (
    flatten,
    permute,
    reshape,
    squeeze,
    transpose,
    unflatten,
    unsqueeze,
)
from sycl_dnn.functional.shrink import hardshrink, softshrink, tanhshrink, threshold
from sycl_dnn.functional.softmax import log_softmax, softmax, softmin
from sycl_dnn.functional.softplus import logsigmoid, softplus, softsign
from sycl_dnn.functional.splitting import chunk, narrow, split
from sycl_dnn.functional.statistics import logsumexp, norm, std, var

__all__ = [
    "QuantizedTensor",
    "abs",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "add",
    "addmm",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "asarray",
    "astype",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "baddbmm",
    "batch_norm",
    "bce_with_logits",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "bmm",
    "cat",
    "celu",
    "channel_shuffle",
    "chunk",
    "clamp",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "dequantize",
    "div",
    "dropout",
    "elu",
    "embedding",
    "eq",
    "exp",
    "flatten",
    "fold",
    "ge",
    "gelu",
    "glu",
    "group_norm",
    "gru",
    "gt",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "le",
    "leaky_relu",
    "linear",
    "local_response_norm",
    "log",
    "log_softmax",
    "logsigmoid",
    "logsumexp",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "lstm",
    "lt",
    "matmul",
    "max",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mish",
    "mm",
    "mse_loss",
    "mul",
    "narrow",
    "ne",
    "neg",
    "nll_loss",
    "norm",
    "normalize",
    "one_hot",
    "pad",
    "permute",
    "pixel_shuffle",
    "pixel_unshuffle",
    "pow",
    "prelu",
    "prod",
    "quantize",
    "quantize_dynamic",
    "quantized_conv1d",
    "quantized_conv2d",
    "quantized_conv3d",
    "quantized_linear",
    "quantized_matmul",
    "reciprocal",
    "relu",
    "relu6",
    "reshape",
    "rms_norm",
    "rnn_relu",
    "rnn_tanh",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "sub",
    "sum",
    "tanh",
    "tanhshrink",
    "threshold",
    "transpose",
    "unflatten",
    "unfold",
    "unsqueeze",
    "var",
    "where",
]


def __dir__() -> list[str]:
    return sorted(__all__)

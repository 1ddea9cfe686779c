# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional for dpnp arrays, over oneDNN.

Names, arguments, defaults and meaning are those of ``torch.nn.functional``.
"""

import sys

from sycl_dnn.functional.activation.activations import (
    celu,
    elu,
    gelu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    logsigmoid,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from sycl_dnn.functional.activation.dropout import dropout
from sycl_dnn.functional.activation.gated import glu, prelu
from sycl_dnn.functional.activation.softmax import log_softmax, softmax, softmin
from sycl_dnn.functional.arithmetic import dpnp_operators
from sycl_dnn.functional.arithmetic.binary import add, div, maximum, minimum, mul, pow, sub
from sycl_dnn.functional.arithmetic.comparison import clamp, eq, ge, gt, le, lt, ne, where
from sycl_dnn.functional.arithmetic.convert import asarray, astype
from sycl_dnn.functional.arithmetic.elementwise import abs, exp, log, neg, reciprocal, sqrt, square
from sycl_dnn.functional.attention import scaled_dot_product_attention
from sycl_dnn.functional.conv.convolution import conv1d, conv2d, conv3d
from sycl_dnn.functional.conv.fold import fold, unfold
from sycl_dnn.functional.conv.transposed import conv_transpose1d, conv_transpose2d, conv_transpose3d
from sycl_dnn.functional.index.embedding import embedding, one_hot
from sycl_dnn.functional.loss.classes import cross_entropy, nll_loss
from sycl_dnn.functional.loss.probabilities import (
    bce_with_logits,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    kl_div,
)
from sycl_dnn.functional.loss.regression import huber_loss, l1_loss, mse_loss, smooth_l1_loss
from sycl_dnn.functional.normalization.batch_norm import batch_norm
from sycl_dnn.functional.normalization.group_norm import group_norm, instance_norm
from sycl_dnn.functional.normalization.layer_norm import layer_norm, rms_norm
from sycl_dnn.functional.normalization.local_response import local_response_norm
from sycl_dnn.functional.pool.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from sycl_dnn.functional.pool.average import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
)
from sycl_dnn.functional.pool.maximum import (
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from sycl_dnn.functional.product.linear import bilinear, linear
from sycl_dnn.functional.product.matmul import addmm, baddbmm, bmm, matmul, mm
from sycl_dnn.functional.quantized.quantize import (
    QuantizedTensor,
    dequantize,
    quantize,
    quantize_dynamic,
)
from sycl_dnn.functional.quantized.quantized_convolution import (
    quantized_conv1d,
    quantized_conv2d,
    quantized_conv3d,
)
from sycl_dnn.functional.quantized.quantized_products import quantized_linear, quantized_matmul
from sycl_dnn.functional.recurrent.network import gru, lstm, rnn_relu, rnn_tanh
from sycl_dnn.functional.reduction.extremes import amax, amin, argmax, argmin, max, min
from sycl_dnn.functional.reduction.statistics import logsumexp, norm, normalize, std, var
from sycl_dnn.functional.reduction.sums import mean, prod, sum
from sycl_dnn.functional.shape.interpolate import interpolate
from sycl_dnn.functional.shape.joining import cat, chunk, narrow, split, stack
from sycl_dnn.functional.shape.padding import pad
from sycl_dnn.functional.shape.rearrange import channel_shuffle, pixel_shuffle, pixel_unshuffle
from sycl_dnn.functional.shape.reshaping import (
    flatten,
    permute,
    reshape,
    squeeze,
    transpose,
    unflatten,
    unsqueeze,
)
from sycl_dnn.trace import functions

functions.provide(sys.modules[__name__], dpnp_operators)

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

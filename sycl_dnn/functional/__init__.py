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
from sycl_dnn.functional.avg_pool import avg_pool1d, avg_pool2d, avg_pool3d
from sycl_dnn.functional.conv import conv1d, conv2d, conv3d
from sycl_dnn.functional.conv_transpose import (
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from sycl_dnn.functional.embedding import embedding, one_hot
from sycl_dnn.functional.fold import fold, unfold
from sycl_dnn.functional.joining import cat, stack
from sycl_dnn.functional.lp_pool import lp_pool1d, lp_pool2d, lp_pool3d
from sycl_dnn.functional.matmul import linear
from sycl_dnn.functional.max_pool import max_pool1d, max_pool2d, max_pool3d
from sycl_dnn.functional.padding import pad
from sycl_dnn.functional.rearrange import channel_shuffle, pixel_shuffle, pixel_unshuffle
from sycl_dnn.functional.recurrent import gru, lstm, rnn_relu, rnn_tanh
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
from sycl_dnn.functional.softplus import logsigmoid, softplus, softsign
from sycl_dnn.functional.splitting import chunk, narrow, split

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "cat",
    "celu",
    "channel_shuffle",
    "chunk",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "elu",
    "embedding",
    "flatten",
    "fold",
    "gelu",
    "gru",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "linear",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "lstm",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "narrow",
    "one_hot",
    "pad",
    "permute",
    "pixel_shuffle",
    "pixel_unshuffle",
    "relu",
    "relu6",
    "reshape",
    "rnn_relu",
    "rnn_tanh",
    "selu",
    "sigmoid",
    "silu",
    "softplus",
    "softshrink",
    "softsign",
    "split",
    "squeeze",
    "stack",
    "tanh",
    "tanhshrink",
    "threshold",
    "transpose",
    "unflatten",
    "unfold",
    "unsqueeze",
]

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
from sycl_dnn.functional.lp_pool import lp_pool1d, lp_pool2d, lp_pool3d
from sycl_dnn.functional.matmul import linear
from sycl_dnn.functional.max_pool import max_pool1d, max_pool2d, max_pool3d
from sycl_dnn.functional.shrink import hardshrink, softshrink, tanhshrink, threshold
from sycl_dnn.functional.softplus import logsigmoid, softplus, softsign

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
    "celu",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "elu",
    "gelu",
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
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]

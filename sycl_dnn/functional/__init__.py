# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional for dpnp arrays, over oneDNN.

Names, arguments, defaults and meaning are those of ``torch.nn.functional``.
"""

from sycl_dnn.functional.activation import relu
from sycl_dnn.functional.conv import conv1d, conv2d, conv3d
from sycl_dnn.functional.conv_transpose import (
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from sycl_dnn.functional.matmul import linear

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "linear",
    "relu",
]

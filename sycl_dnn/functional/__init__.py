# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional for dpnp arrays, over oneDNN.

Names, arguments, defaults and meaning are those of ``torch.nn.functional``.
"""

from sycl_dnn.functional.activation import relu
from sycl_dnn.functional.conv import conv2d
from sycl_dnn.functional.matmul import linear

__all__ = ["conv2d", "linear", "relu"]

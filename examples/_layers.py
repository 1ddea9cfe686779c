# SPDX-License-Identifier: Apache-2.0
"""The layers of the example networks: their primitives with parameters."""

import warnings

from _layer_base import Plain, Weighted

from sycl_dnn import OneDnnFaultWarning
from sycl_dnn import onednn as dnnl


def window_sizes(sizes, kernel, stride, padding=0):
    """Return how many windows fit along each axis of an image."""
    return [(n + 2 * padding - k) // stride + 1 for n, k in zip(sizes, kernel, strict=True)]


class Convolution(Weighted):
    """Convolution of images (N, C, H, W) with weights (O, C, KH, KW)."""

    row = "convolution"

    def __init__(self, plan, src, weights, bias, *, stride=1, padding=0):
        n, _, *image = src.desc.dims
        self.parameters = {
            "algorithm": dnnl.algorithm.convolution_direct,
            "strides": (stride, stride),
            "padding_l": (padding, padding),
            "padding_r": (padding, padding),
        }
        sizes = window_sizes(image, weights.shape[2:], stride, padding)
        super().__init__(plan, src, weights, bias, (n, len(weights), *sizes))


class InnerProduct(Weighted):
    """Fully connected layer over all values of an image; weights (O, C, H, W)."""

    row = "inner_product"

    def __init__(self, plan, src, weights, bias):
        super().__init__(plan, src, weights, bias, (src.desc.dims[0], len(weights)))


class Relu(Plain):
    """max(x, 0)."""

    row, keeps = "eltwise", {"src": "data"}
    parameters = {"algorithm": dnnl.algorithm.eltwise_relu}


class LocalResponseNorm(Plain):
    """Divides by the power of the neighboring channels, as in AlexNet."""

    row, keeps = "lrn", {"src": "src", "workspace": None}
    parameters = {
        "algorithm": dnnl.algorithm.lrn_across_channels,
        "local_size": 5,
        "alpha": 1e-4,
        "beta": 0.75,
        "k": 1.0,
    }

    def __init__(self, plan, src, *, is_huge=False):
        # The third power of the sum of squares overflows float32 there, for inputs from about 1e9.
        self.avoids = ("lrn_jit", "jit") if is_huge else ()
        with warnings.catch_warnings():  # of just that, which other images do not reach
            warnings.simplefilter("ignore", OneDnnFaultWarning)
            super().__init__(plan, src)


class MaxPool(Plain):
    """Maximum over square windows of an image."""

    row, keeps = "pooling", {"workspace": None}

    def __init__(self, plan, src, *, kernel, stride):
        *batch, height, width = src.desc.dims
        self.parameters = {
            "algorithm": dnnl.algorithm.pooling_max,
            "strides": (stride, stride),
            "kernel": (kernel, kernel),
            "padding_l": (0, 0),
            "padding_r": (0, 0),
        }
        sizes = window_sizes((height, width), (kernel, kernel), stride)
        super().__init__(plan, src, (*batch, *sizes))


class LogSoftmax(Plain):
    """Logarithm of the probability of each class."""

    row, keeps = "softmax", {"dst": "dst"}
    parameters = {"algorithm": dnnl.algorithm.softmax_log, "axis": 1}

# SPDX-License-Identifier: Apache-2.0
"""A small image classifier: what its layers are, and how they are joined and run."""

from __future__ import annotations

import numpy as np
from _layers import F32, Builder, Plain, Weighted, channels_last

from sycl_dnn import onednn as dnnl


class Convolution(Weighted):
    """3x3 convolution that keeps the size of the image."""

    row = "convolution"
    parameters = {
        "algorithm": dnnl.algorithm.convolution_direct,
        "strides": (1, 1),
        "padding_l": (1, 1),
        "padding_r": (1, 1),
    }

    def __init__(self, build, src, channels):
        n, c, h, w = src.desc.dims
        super().__init__(build, src, channels_last(n, channels, h, w), (channels, c, 3, 3))


class InnerProduct(Weighted):
    """Fully connected layer over all values of an image."""

    row = "inner_product"

    def __init__(self, build, src, outputs):
        n, *image = src.desc.dims
        super().__init__(build, src, dnnl.MemoryDesc((n, outputs), F32), (outputs, *image))


class Relu(Plain):
    """max(x, 0)."""

    row, algorithm, keeps = "eltwise", dnnl.algorithm.eltwise_relu, {"src": "data"}


class LocalResponseNorm(Plain):
    """Divides by the power of the neighbouring channels, as AlexNet does."""

    row, algorithm = "lrn", dnnl.algorithm.lrn_across_channels
    keeps = {"src": "src", "workspace": None}
    parameters = {"local_size": 5, "alpha": 1e-4, "beta": 0.75, "k": 1.0}


class MaxPool(Plain):
    """Maximum over 2x2 pixels."""

    row, algorithm, keeps = "pooling", dnnl.algorithm.pooling_max, {"workspace": None}
    parameters = {
        "strides": (2, 2),
        "kernel": (2, 2),
        "dilation": (0, 0),
        "padding_l": (0, 0),
        "padding_r": (0, 0),
    }

    def __init__(self, build, src):
        n, c, h, w = src.desc.dims
        super().__init__(build, src, channels_last(n, c, h // 2, w // 2))


class LogSoftmax(Plain):
    """Logarithm of the probability of each class."""

    row, algorithm, keeps = "softmax", dnnl.algorithm.softmax_log, {"dst": "dst"}
    parameters = {"axis": 1}


class DigitsNet:
    """Convolution, ReLU, LRN, max pool, inner product and log-softmax on 8x8 images.

    ``images`` (batch, 1, 8, 8), ``diff`` (batch, 10) and ``log_probabilities`` (batch, 10) are
    dpnp arrays over the memory that the primitives read and write.
    """

    def __init__(self, queue, batch, channels=32, seed=0):
        build = Builder(queue, seed)
        source = build.memory(channels_last(batch, 1, 8, 8))
        conv = Convolution(build, source, channels)
        self.layers = [conv]
        for layer in (Relu, LocalResponseNorm, MaxPool):
            self.layers.append(layer(build, self.layers[-1].dst))
        product = InnerProduct(build, self.layers[-1].dst, 10)
        self.layers += [product, LogSoftmax(build, product.dst)]
        gradient = last = build.array(np.zeros((batch, 10)))
        for layer in reversed(self.layers[1:]):
            gradient = layer.make_backward(gradient)
        conv.make_backward(gradient, wants_diff_src=False)
        self.implementations = build.implementations
        self.stream = dnnl.Stream(build.engine, queue, ordered=True)
        self.images = source.to_array()
        self.diff = last.to_array()
        self.log_probabilities = self.layers[-1].dst.to_array()

    def parameters(self):
        """Return pairs of dpnp arrays: what is learned, and its gradient."""
        pairs = [
            pair
            for layer in self.layers
            if isinstance(layer, Weighted)
            for pair in ((layer.weights, layer.diff_weights), (layer.bias, layer.diff_bias))
        ]
        return [(value.to_array(), gradient.to_array()) for value, gradient in pairs]

    def forward(self):
        """Submit the layers from ``images`` to ``log_probabilities``."""
        for layer in self.layers:
            self._submit(layer.forward)

    def backward(self):
        """Submit the layers' gradients, from ``diff`` to those of the parameters."""
        for layer in reversed(self.layers):
            self._submit(layer.backward)

    def _submit(self, calls):
        for primitive, arguments in calls:
            primitive.execute(self.stream, arguments)

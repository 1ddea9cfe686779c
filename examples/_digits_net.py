# SPDX-License-Identifier: Apache-2.0
"""A small image classifier: its layers, and how they are connected and run."""

import numpy as np
from _layer_base import Plan
from _layers import (
    Convolution,
    InnerProduct,
    LocalResponseNorm,
    LogSoftmax,
    MaxPool,
    Relu,
)

from sycl_dnn import onednn as dnnl


class DigitsNet:
    """Convolution, ReLU, LRN, max pool, inner product and log-softmax on 8x8 images.

    ``images`` (batch, 1, 8, 8), ``diff`` (batch, 10) and ``log_probabilities`` (batch, 10) are
    dpnp arrays over the memory that the primitives read and write.
    """

    def __init__(self, queue, batch, channels=32, seed=0):
        self.plan = plan = Plan(queue)
        random = np.random.default_rng(seed)

        def start(*shape):
            """Set random weights, scaled to keep the size of values, and zero biases."""
            scale = np.sqrt(2 / np.prod(shape[1:]))
            return random.normal(0, scale, shape), np.zeros(shape[0])

        images = plan.forward.tensor(np.zeros((batch, 1, 8, 8)))
        conv = Convolution(plan, images, *start(channels, 1, 3, 3), padding=1)
        relu = Relu(plan, conv.dst)
        norm = LocalResponseNorm(plan, relu.dst)
        pool = MaxPool(plan, norm.dst, kernel=2, stride=2)
        product = InnerProduct(plan, pool.dst, *start(10, channels, 4, 4))
        softmax = LogSoftmax(plan, product.dst)
        row_major = dnnl.MemoryDesc((batch, 10), dnnl.data_type.f32)
        output = plan.forward.reordered("dst", softmax.dst, row_major)

        gradient = diff = plan.backward.tensor(np.zeros((batch, 10)))
        for layer in (softmax, product, pool, norm, relu):
            gradient = layer.make_backward(gradient)
        conv.make_backward(gradient, wants_diff_src=False)

        self.weighted = (conv, product)
        self.implementations = plan.implementations
        self.images, self.diff = images.to_array(), diff.to_array()
        self.log_probabilities = output.to_array()

    def parameters(self):
        """Return pairs of dpnp arrays: a parameter and its gradient."""
        pairs = [
            pair
            for layer in self.weighted
            for pair in ((layer.weights, layer.diff_weights), (layer.bias, layer.diff_bias))
        ]
        return [(value.to_array(), gradient.to_array()) for value, gradient in pairs]

    def forward(self):
        """Submit the layers from ``images`` to ``log_probabilities``."""
        self.plan.forward.submit()

    def backward(self):
        """Submit the layers' gradients, from ``diff`` to those of the parameters."""
        self.plan.backward.submit()

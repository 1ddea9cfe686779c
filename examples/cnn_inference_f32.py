# SPDX-License-Identifier: Apache-2.0
"""AlexNet on one image, layer by layer in float32; weights are reordered once.

Counterpart of oneDNN's cnn_inference_f32.
"""

from typing import Any

import numpy as np
from _example import RELU, Example, desc, post_ops, run
from _numpy_layers import convolve, max_pool, normalize_response

from sycl_dnn import onednn as dnnl

LRN: dict[str, Any] = {"size": 5, "alpha": 1e-4, "beta": 0.75, "k": 1.0}
POOL = {"kernel": 3, "stride": 2}
# Name and parameters: shape of the weights (groups, O / groups, C / groups, K, K), stride and
# padding of a convolution with ReLU; number of outputs of a fully connected layer.
LAYERS = (
    ("conv", (1, 96, 3, 11, 11), 4, 0),
    ("lrn",),
    ("pool",),
    ("conv", (2, 128, 48, 5, 5), 1, 2),
    ("lrn",),
    ("pool",),
    ("conv", (1, 384, 256, 3, 3), 1, 1),
    ("conv", (2, 192, 192, 3, 3), 1, 1),
    ("conv", (2, 128, 192, 3, 3), 1, 1),
    ("pool",),
    ("linear", 4096),
    ("linear", 4096),
    ("linear", 1000),
)
SHARED: dict[str, Any] = {"prop_kind": dnnl.prop_kind.forward_inference}


class Net:
    """The network layer by layer, on a device (``x``) and in NumPy (``wanted``)."""

    def __init__(self, example: Example, image: np.ndarray) -> None:
        self.example, self.wanted = example, image.astype("f8")
        self.x = example.memory(image, "nhwc")

    def random(self, *shape: int) -> tuple[np.ndarray, np.ndarray]:
        """Return weights that keep the size of values, and biases."""
        fan_in = np.prod(shape[1:] if len(shape) < 5 else shape[2:])
        weights = self.example.normal(*shape) * np.float32(np.sqrt(2 / fan_in))
        n_out = np.prod(shape[: 1 if len(shape) < 5 else 2])
        return weights, self.example.normal(int(n_out))

    def _run(self, row, **arguments) -> None:
        pd = row(self.example.engine, **SHARED, **arguments)
        self.x = self.example.run(pd, src=self.x, **self.constants)["dst"]

    def _weigh(self, weights: np.ndarray, bias: np.ndarray) -> dict:
        self.constants = {
            "weights": self.example.memory(weights),
            "bias": self.example.memory(bias),
        }
        return {"weights": desc(weights.shape), "bias": desc(bias.shape, "a")}

    def conv(self, shape: tuple, stride: int, padding: int) -> None:
        """Convolve and rectify."""
        weights, bias = self.random(*shape)
        self.wanted = np.maximum(convolve(self.wanted, weights, bias, stride, padding), 0)
        self._run(
            dnnl.convolution_forward,
            algorithm=dnnl.algorithm.convolution_direct,
            src=desc(self.x.desc.dims),
            dst=desc(self.wanted.shape),
            strides=(stride, stride),
            padding_l=(padding, padding),
            padding_r=(padding, padding),
            attr=post_ops(RELU),
            **self._weigh(weights if shape[0] > 1 else weights[0], bias),
        )

    def lrn(self) -> None:
        """Normalize across channels."""
        self.constants = {}
        self.wanted = normalize_response(self.wanted, **LRN)
        self._run(
            dnnl.lrn_forward,
            algorithm=dnnl.algorithm.lrn_across_channels,
            src=self.x.desc,
            dst=self.x.desc,
            local_size=LRN["size"],
            **{name: LRN[name] for name in ("alpha", "beta", "k")},
        )

    def pool(self) -> None:
        """Keep the largest values."""
        self.constants = {}
        self.wanted = max_pool(self.wanted, **POOL)
        self._run(
            dnnl.pooling_forward,
            algorithm=dnnl.algorithm.pooling_max,
            src=self.x.desc,
            dst=desc(self.wanted.shape),
            strides=(POOL["stride"],) * 2,
            kernel=(POOL["kernel"],) * 2,
            dilation=(0, 0),
            padding_l=(0, 0),
            padding_r=(0, 0),
        )

    def linear(self, n_out: int) -> None:
        """Connect all values with all outputs; the last layer's outputs are not rectified."""
        weights, bias = self.random(n_out, *self.x.desc.dims[1:])
        flat = self.wanted.reshape(len(self.wanted), -1).astype("f4")
        self.wanted = flat @ weights.reshape(n_out, -1).T + bias
        self._run(
            dnnl.inner_product_forward,
            src=desc(self.x.desc.dims),
            dst=desc(self.wanted.shape),
            **self._weigh(weights, bias),
        )


def main(example: Example) -> None:
    """Run all layers, then compare the scores of the 1,000 classes."""
    net = Net(example, example.normal(1, 3, 227, 227))
    for name, *parameters in LAYERS:
        getattr(net, name)(*parameters)
    example.compare("scores", net.x, net.wanted, 1e-4)


if __name__ == "__main__":
    run(main, __doc__)

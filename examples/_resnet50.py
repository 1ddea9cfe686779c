# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 over ``sycl_dnn.functional``; parameters are named as in torchvision.

Source: He et al., Deep Residual Learning for Image Recognition, 2015 (the variant with the stride
in the 3x3 convolutions).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F

#: Blocks of each layer and the channels of their 3x3 convolutions.
LAYERS = ((3, 64), (4, 128), (6, 256), (3, 512))
EXPANSION = 4


def shapes() -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield name and shape of every parameter."""
    yield from _conv_and_norm("conv1", "bn1", 64, 3, 7)
    inputs = 64
    for number, (blocks, width) in enumerate(LAYERS, 1):
        for block in range(blocks):
            at = f"layer{number}.{block}."
            yield from _conv_and_norm(at + "conv1", at + "bn1", width, inputs, 1)
            yield from _conv_and_norm(at + "conv2", at + "bn2", width, width, 3)
            yield from _conv_and_norm(at + "conv3", at + "bn3", EXPANSION * width, width, 1)
            if block == 0:
                down = at + "downsample."
                yield from _conv_and_norm(down + "0", down + "1", EXPANSION * width, inputs, 1)
            inputs = EXPANSION * width
    yield "fc.weight", (1000, inputs)
    yield "fc.bias", (1000,)


def _conv_and_norm(conv: str, norm: str, outputs: int, inputs: int, kernel: int):
    yield f"{conv}.weight", (outputs, inputs, kernel, kernel)
    for name in ("weight", "bias", "running_mean", "running_var"):
        yield f"{norm}.{name}", (outputs,)


def random_parameters(seed: int) -> dict[str, np.ndarray]:
    """Return parameters that keep the size of activations from layer to layer."""
    rng = np.random.default_rng(seed)
    result = {}
    for name, shape in shapes():
        if len(shape) > 1:
            values = rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
        elif name.endswith("running_var"):
            values = rng.uniform(0.8, 1.2, shape)
        elif name.endswith("weight"):
            # Small in the last norm of a block, so that the sum over 16 blocks remains bounded.
            values = rng.uniform(0.8, 1.2, shape) * (0.3 if ".bn3." in name else 1.0)
        else:
            values = 0.1 * rng.standard_normal(shape)
        result[name] = values.astype(np.float32)
    return result


def load_parameters(path: Path) -> dict[str, np.ndarray]:
    """Read a state dict: .npz, or .safetensors if that package is installed."""
    if path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        found = load_file(path)
    else:
        found = dict(np.load(path))
    for name, shape in shapes():
        if name not in found or found[name].shape != shape:
            raise SystemExit(f"{path}: {name} must be an array of shape {shape}")
    return {name: found[name].astype(np.float32) for name, _ in shapes()}


class ResNet50:
    """The network on a device.

    Parameters
    ----------
    parameters : dict of numpy.ndarray
    queue : dpctl.SyclQueue
    dtype : {"float32", "bfloat16"}
        Of weights and activations; parameters of normalization remain in float32.
    """

    def __init__(self, parameters: dict[str, np.ndarray], queue, dtype: str = "float32") -> None:
        self.parameters = {}
        for name, values in parameters.items():
            array = dpnp.asarray(values, sycl_queue=queue)
            if values.ndim > 1 or name == "fc.bias":
                # They are constant, so oneDNN's packed copies of them can be kept.
                array = sycl_dnn.freeze(sycl_dnn.asarray(array, dtype=dtype))
            self.parameters[name] = array

    def __call__(self, images):
        """Map images (N, 3, H, W) to logits (N, 1000)."""
        x = self._conv_norm(images, "conv1", "bn1", stride=2, padding=3)
        x = F.max_pool2d(F.relu(x), 3, stride=2, padding=1)
        for number, (blocks, _) in enumerate(LAYERS, 1):
            for block in range(blocks):
                x = self._block(x, f"layer{number}.{block}.", 2 if block == 0 < number - 1 else 1)
        x = F.adaptive_avg_pool2d(x, 1)
        p = self.parameters
        return F.linear(F.flatten(x, 1), p["fc.weight"], p["fc.bias"])

    def _block(self, x, at: str, stride: int):
        y = F.relu(self._conv_norm(x, at + "conv1", at + "bn1"))
        y = F.relu(self._conv_norm(y, at + "conv2", at + "bn2", stride=stride, padding=1))
        y = self._conv_norm(y, at + "conv3", at + "bn3")
        if f"{at}downsample.0.weight" in self.parameters:
            x = self._conv_norm(x, at + "downsample.0", at + "downsample.1", stride=stride)
        return F.relu(F.add(y, x))

    def _conv_norm(self, x, conv: str, norm: str, **options):
        p = self.parameters
        y = F.conv2d(x, p[f"{conv}.weight"], **options)
        running = p[f"{norm}.running_mean"], p[f"{norm}.running_var"]
        return F.batch_norm(y, *running, p[f"{norm}.weight"], p[f"{norm}.bias"])

# SPDX-License-Identifier: Apache-2.0
"""Classify a photograph with ResNet-50, written with torch.nn.functional's names.

The photograph comes with scikit-learn. Weights are random unless ``--weights`` names a state dict
(torchvision's names, .npz or .safetensors). The logits are compared with a NumPy computation. The
time of a call is measured as a plain call and bound as a plan.
"""

from __future__ import annotations

import time
from pathlib import Path

import dpnp
import numpy as np
from _common import finish, make_parser, open_queue
from _resnet50 import LAYERS, ResNet50, load_parameters, random_parameters
from sklearn.datasets import load_sample_image

import sycl_dnn
from sycl_dnn import functional as F

#: Mean and deviation of ImageNet's colors, in 0..1.
MEAN = np.array([0.485, 0.456, 0.406], np.float32)[:, None, None]
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)[:, None, None]
TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-2}


def parse_arguments():
    """Read the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("--weights", type=Path, help="state dict, .npz or .safetensors")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--batch", type=int, default=1, help="copies of the photograph")
    parser.add_argument("--repeats", type=int, default=10, help="calls to time")
    parser.add_argument("--size", type=int, default=224, help="rows and columns of an image")
    options = parser.parse_args()
    check_sizes(parser, options)
    return options


def check_sizes(parser, options) -> None:
    """End with a message if an option is out of range."""
    if options.batch < 1 or options.repeats < 1:
        parser.error("--batch and --repeats must be at least 1")
    if options.size < 32:
        parser.error(
            f"--size must be at least 32, got {options.size}: the network halves it five times"
        )


def photograph(queue, batch: int, size: int = 224):
    """Return the center of the photograph as (batch, 3, size, size), scaled and normalized."""
    pixels = load_sample_image("china.jpg").transpose(2, 0, 1)[None] / np.float32(255)
    image = dpnp.asarray((pixels - MEAN) / DEVIATION, sycl_queue=queue)
    image = F.interpolate(image, size=(size * 8 // 7, size * 12 // 7), mode="bilinear")
    top, left = ((extent - size) // 2 for extent in image.shape[2:])
    image = image[:, :, top : top + size, left : left + size]
    return dpnp.ascontiguousarray(dpnp.repeat(image, batch, axis=0))


def numpy_conv(x, weight, stride=1, padding=0):
    """Convolve by one matrix product over all windows."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, weight, optimize=True)


def numpy_logits(images, parameters):
    """Compute the network only with NumPy."""
    p = parameters

    def conv_norm(x, conv, norm, **options):
        y = numpy_conv(x, p[f"{conv}.weight"], **options)
        scale = p[f"{norm}.weight"] / np.sqrt(p[f"{norm}.running_var"] + 1e-5)
        shift = p[f"{norm}.bias"] - p[f"{norm}.running_mean"] * scale
        return y * scale[:, None, None] + shift[:, None, None]

    x = np.maximum(conv_norm(images, "conv1", "bn1", stride=2, padding=3), 0)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    x = windows[:, :, ::2, ::2].max(axis=(-2, -1))
    for number, (blocks, _) in enumerate(LAYERS, 1):
        for block in range(blocks):
            at, stride = f"layer{number}.{block}.", 2 if block == 0 < number - 1 else 1
            y = np.maximum(conv_norm(x, at + "conv1", at + "bn1"), 0)
            y = conv_norm(y, at + "conv2", at + "bn2", stride=stride, padding=1)
            y = conv_norm(np.maximum(y, 0), at + "conv3", at + "bn3")
            if block == 0:
                x = conv_norm(x, at + "downsample.0", at + "downsample.1", stride=stride)
            x = np.maximum(x + y, 0)
    return x.mean(axis=(2, 3)) @ p["fc.weight"].T + p["fc.bias"]


def median_time(call, queue, repeats: int) -> float:
    """Return the median time of a call in ms."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        call()
        queue.wait()
        times.append((time.perf_counter() - start) * 1e3)
    return float(np.median(times[1:]))


def main() -> None:
    """Classify, time, and compare with NumPy."""
    options = parse_arguments()
    queue = open_queue(options.device)
    parameters = load_parameters(options.weights) if options.weights else random_parameters(0)
    network = ResNet50(parameters, queue, options.dtype)
    image = photograph(queue, options.batch, options.size)
    images = sycl_dnn.asarray(image, dtype=options.dtype)

    logits = dpnp.asnumpy(F.astype(network(images), "float32"))
    print("classes with the largest logits:", *np.argsort(logits[0])[:-6:-1])
    bound = sycl_dnn.plan(network, images)
    for name, call in (("written plainly", lambda: network(images)), ("as a plan", bound)):
        took = median_time(call, queue, options.repeats)
        print(f"{name}: {took:.1f} ms a call, {1e3 * options.batch / took:.1f} images/s")
    if not options.no_check:
        truth = numpy_logits(dpnp.asnumpy(image[:1]), parameters)
        error = np.abs(logits[:1] - truth).max() / np.abs(truth).max()
        print(f"largest error against NumPy: {error:.1e} of the largest logit")
        assert error < TOLERANCE[options.dtype], error
    finish(options, "resnet50_inference")


if __name__ == "__main__":
    main()

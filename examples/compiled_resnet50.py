# SPDX-License-Identifier: Apache-2.0
"""Compile ResNet-50 into fused programs: float32, bfloat16 and 8-bit integers.

Each is compared with the function itself, operation by operation. The weights are random unless
``--weights`` names a state dict (torchvision's names, .npz or .safetensors).
"""

from __future__ import annotations

from pathlib import Path

import dpnp
import numpy as np
from _common import finish, make_parser, open_queue
from _resnet50 import ResNet50, load_parameters, random_parameters
from resnet50_inference import check_sizes, median_time, photograph

import sycl_dnn

#: Largest error, relative to the largest logit.
TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-2, "int8": 2e-1}


def parse_arguments():
    """Read the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("--weights", type=Path, help="state dict, .npz or .safetensors")
    parser.add_argument("--batch", type=int, default=1, help="copies of the photograph")
    parser.add_argument("--repeats", type=int, default=10, help="calls to time")
    parser.add_argument("--size", type=int, default=224, help="rows and columns of an image")
    parser.add_argument("--explain", action="store_true", help="print every step")
    options = parser.parse_args()
    check_sizes(parser, options)
    return options


def versions(network, images, is_checked: bool):
    """Return the function and its compiled versions by name."""

    @sycl_dnn.compile
    def compiled(x):
        return network(x)

    found = {"eager": network, "float32": compiled}
    found["bfloat16"] = sycl_dnn.compile(network.__call__, dtype="bfloat16")
    if is_checked:  # calibration needs values
        found["int8"], report = sycl_dnn.quantize(compiled, [images])
        print(f"int8: {report[0]}")
    return found


def main() -> None:
    """Compile, explain, compare and time."""
    options = parse_arguments()
    queue = open_queue(options.device)
    parameters = load_parameters(options.weights) if options.weights else random_parameters(0)
    network = ResNet50(parameters, queue)
    images = photograph(queue, options.batch, options.size)
    found = versions(network, images, not options.no_check)
    expected = dpnp.asnumpy(network(images))
    for name, call in found.items():
        took = median_time(lambda f=call: f(images), queue, options.repeats)
        text = f"{took:.1f} ms a call, {1e3 * options.batch / took:.1f} images/s"
        if name != "eager":
            report = call.explain(images)
            text += f", {report.n_steps} steps of {report.n_recorded}"
            if options.explain:
                print(report)
        print(f"{name}: {text}")
        if name != "eager" and not options.no_check:
            error = np.abs(dpnp.asnumpy(call(images)) - expected).max() / np.abs(expected).max()
            assert error < TOLERANCE[name], (name, error)
    finish(options, "compiled_resnet50")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Train the head of AlexNet in bfloat16: convolution, ReLU, LRN, max pooling, and back.

The network of cnn_training_f32.py with tensors stored in bfloat16. The user's data remain float32:
reorders convert inputs and outputs. Where the device has no primitives for bfloat16, as CPUs
without AVX-512, they compute in float32 between reorders, and a line says so.
Counterpart of oneDNN's cnn_training_bf16.cpp.

The check computes the whole step again in float64 NumPy, without rounding anything to bfloat16,
and compares every element of the output and of both gradients. The incoming gradient is 0 where
rounding decides which element of a pooling window is the largest.
"""

from __future__ import annotations

import _program
import cnn_training_f32
from _common import start

# bfloat16 has 8 bits: each rounding has an error of 2**-9.
MARGIN = 2.0**-5
TOLERANCE = 0.01


def main() -> None:
    """Train according to the options."""
    parser = _program.parser(__doc__)
    for name in ("bias", "diff-bias"):
        parser.add_argument(
            f"--{name}-type",
            choices=("f32", "bf16"),
            default="f32",
            help=f"what {name.replace('-', '_')} is stored in (default: f32)",
        )
    options, queue = start(parser)
    types = {
        "data_type": "bf16",
        "bias_type": options.bias_type,
        "diff_bias_type": options.diff_bias_type,
    }
    cnn_training_f32.run(options, queue, MARGIN, TOLERANCE, **types)


if __name__ == "__main__":
    main()

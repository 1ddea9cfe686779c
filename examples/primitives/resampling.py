# SPDX-License-Identifier: Apache-2.0
"""Enlarge images by linear interpolation.

Counterpart of oneDNN's primitives/resampling.
"""

import numpy as np
from _primitive_example import Example, desc, run

from sycl_dnn import onednn as dnnl

SHAPE, RESULT = (3, 3, 227, 227), (3, 3, 350, 350)


def interpolation(n_out: int, n_in: int) -> np.ndarray:
    """Return the matrix (n_out, n_in) that interpolates between the centers of pixels."""
    at = (np.arange(n_out) + 0.5) * n_in / n_out - 0.5
    away = np.abs(np.clip(at, 0, n_in - 1)[:, None] - np.arange(n_in))
    return np.maximum(1 - away, 0)


def main(example: Example) -> None:
    """Interpolate; the factors follow from the two shapes."""
    src = example.normal(*SHAPE)
    pd = dnnl.resampling_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        algorithm=dnnl.algorithm.resampling_linear,
        src=desc(SHAPE, "nhwc"),
        dst=desc(RESULT, "nhwc"),
    )
    rows = interpolation(RESULT[2], SHAPE[2])
    columns = interpolation(RESULT[3], SHAPE[3])
    actual = example.run(pd, src=example.memory(src, "nhwc"))
    example.compare("dst", actual["dst"], rows @ src @ columns.T, 1e-4)


if __name__ == "__main__":
    run(main, __doc__)

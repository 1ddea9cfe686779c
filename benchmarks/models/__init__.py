# SPDX-License-Identifier: Apache-2.0
"""Networks for the benchmarks: functions over dicts of parameters, which are random."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

Shape = tuple[int, ...]


def drawn(
    shapes: Iterable[tuple[str, Shape]], variance: Callable[[str, Shape], float], seed: int
) -> dict[str, np.ndarray]:
    """Return parameters by name; ``variance`` is that of the values of a matrix or a filter."""
    rng = np.random.default_rng(seed)
    result = {}
    for name, shape in shapes:
        if len(shape) > 1:
            values = rng.standard_normal(shape, dtype=np.float32) * variance(name, shape) ** 0.5
        elif name.endswith(("running_var", "weight")):
            values = rng.uniform(0.8, 1.2, shape)
        else:
            values = 0.1 * rng.standard_normal(shape)
        result[name] = values.astype(np.float32)
    return result

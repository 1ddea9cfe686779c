# SPDX-License-Identifier: Apache-2.0
"""What a case has to do: operations and bytes, by counting."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from sycl_dnn.verify import post
from sycl_dnn.verify.call import Call
from sycl_dnn.verify.drivers import DRIVERS

_WEIGHTS = ("weights_layer", "weights_iter", "weights_projection")


def _recurrent(call: Call) -> int:
    """Products of all cells: each weight meets each sample of each step once."""
    steps, batch = call.tensors["src_layer"].dims[:2]
    weights = sum(prod(call.tensors[n].dims) for n in _WEIGHTS if n in call.tensors)
    return steps * batch * weights * (2 if call.is_backward else 1)


def _dims(call: Call, name: str) -> tuple[int, ...]:
    """Return the shape of a tensor or, where it is not part of the call, of its gradient."""
    return next(call.tensors[n].dims for n in (name, f"diff_{name}") if n in call.tensors)


def _windows(small: str, large: str) -> Callable[[Call], int]:
    """Return a counter of products: windows of the large side, one for each pixel of the small.

    Weights that lie over padding have nothing to do.
    """

    def count(call: Call) -> int:
        below, above, weights = (_dims(call, name) for name in (small, large, "weights"))
        rank = len(below) - 2
        sizes = zip(below[2:], above[2:], weights[-rank:], strict=True)
        found = below[0] * prod(weights[:-rank])
        for axis, (n_windows, size, kernel) in enumerate(sizes):
            step, hole, pad = (call.params[n][axis] for n in ("strides", "dilates", "padding_l"))
            starts = np.arange(n_windows) * step - pad
            meets = starts[:, None] + np.arange(kernel) * (hole + 1)
            found *= int(np.count_nonzero((meets >= 0) & (meets < size)))
        return found

    return count


#: Drivers whose reference has to do something else than the primitive.
_PRODUCTS = {
    "rnn": _recurrent,
    "conv": _windows("dst", "src"),
    "deconv": _windows("src", "dst"),
}


def operations(call: Call) -> int:
    """Return the additions and multiplications of a case, as benchdnn counts them.

    Products with padding do not count; 0 for drivers that are not products.
    """
    return 2 * _PRODUCTS.get(call.driver, DRIVERS[call.driver].operations)(call)


def bytes_moved(call: Call, arguments: dict[str, dict[str, Any]]) -> int:
    """Return the bytes that a case reads and writes at least: each argument once.

    Parameters
    ----------
    call : Call
    arguments : of the primitive; the scratchpad does not count, what a sum adds to counts twice
    """
    sizes = {n: slot["desc"].size for n, slot in arguments.items() if n != "scratchpad"}
    twice = sizes.get("dst", 0) if post.needs_old_dst(call) else 0
    return sum(sizes.values()) + twice

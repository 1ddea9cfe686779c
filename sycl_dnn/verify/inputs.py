# SPDX-License-Identifier: Apache-2.0
"""What inputs hold: drawn, named by the case, or left by a forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sycl_dnn.verify import fill, masks, post
from sycl_dnn.verify.call import Call, Tensor

Arrays = dict[str, np.ndarray]
#: fill(call, name, tensor, rng) -> values, or None for the usual ones.
Filler = Callable[[Call, str, Tensor, Any], "np.ndarray | None"]


def reduced(src: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    """Return sums of the source over groups of its last dimension."""
    return src.reshape(*dims, -1).sum(axis=-1)


def drawn(call: Call, name: str, tensor: Tensor, rng: Any, filler: Filler) -> np.ndarray:
    """Return the values of an input before they are rounded to its type."""
    if name.startswith("attr_"):
        return _given_value(call, name, tensor, fill.attribute_values(call, name, tensor, rng))
    values = filler(call, name, tensor, rng)
    return fill.usual(tensor.dtype).draw(rng, tensor.dims) if values is None else values


def _given_value(call: Call, name: str, tensor: Tensor, values: np.ndarray) -> np.ndarray:
    """Replace drawn scales and zero points by the value that the case names."""
    for what, quantities in (("scales", call.attr.scales), ("zero_points", call.attr.zero_points)):
        for q in quantities:
            mine = f"attr_{what}_{masks.argument(call, q.arg)}" == name
            if mine and q.value is not None:
                return np.full(tensor.dims, q.value)
    return values


def forward_outputs(call: Call) -> set[str]:
    """Return the tensors that a forward call writes."""
    found = {name for name in call.tensors if name.startswith("dst")}
    if "use_global_stats" not in call.params.get("flags", ()):
        found |= {"mean", "variance"} & call.tensors.keys()
    return found


def referenced(forward: Call, key: str, filler: Filler) -> Arrays:
    """Return a forward call's inputs, and its results by the reference, rounded."""
    arrays: Arrays = {}
    written = forward_outputs(forward)
    for name, tensor in forward.tensors.items():
        if name in written:
            continue
        rng = fill.generator(key, name)
        values = drawn(forward, name, tensor, rng, filler)
        arrays[name] = fill.encoding.rounded(values, tensor.dtype)
    results = post.expected(forward, arrays)
    for name in written & results.keys():
        dims = forward.tensors[name].dims
        arrays[name] = fill.encoding.rounded(
            results[name].reshape(dims), forward.tensors[name].dtype
        )
    return arrays

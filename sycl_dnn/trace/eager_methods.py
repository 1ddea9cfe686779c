# SPDX-License-Identifier: Apache-2.0
"""Methods of torch's tensors whose functions for arrays of modules differ from traced ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp


def _expand(x: Any, *sizes: Any) -> Any:
    shape = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    lead = len(shape) - x.ndim
    target_shape = tuple(x.shape[i - lead] if n == -1 else n for i, n in enumerate(shape))
    return dpnp.broadcast_to(x.plain, target_shape)


#: Names whose functions differ from those for traced arrays.
EAGER: dict[str, Callable[..., Any]] = {
    "clone": lambda x: x.plain.copy(), "detach": lambda x: x, "expand": _expand,
    "contiguous": lambda x, **named: x if x.flags.c_contiguous else x.plain.copy(order="C"),
    "expand_as": lambda x, other: _expand(x, *other.shape), "item": lambda x: x.plain.item(),
    "is_floating_point": lambda x: x.dtype.kind == "f", "numpy": lambda x: dpnp.asnumpy(x.plain),
}  # fmt: skip

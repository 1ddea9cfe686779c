# SPDX-License-Identifier: Apache-2.0
"""Methods of torch's tensors whose functions for arrays of modules differ from traced ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp

from sycl_dnn._dpnp import asnumpy
from sycl_dnn.trace import functions
from sycl_dnn.trace.torch_methods import expanded_shape

#: Names whose functions differ from those for traced arrays.
EAGER: dict[str, Callable[..., Any]] = {
    "clone": lambda x, **named: functions.copied(x.plain), "detach": lambda x: x,
    "contiguous": lambda x, **named: (
        x if x.flags.c_contiguous else functions.copied(x.plain, True)),
    "expand": lambda x, *args, **named: dpnp.broadcast_to(
        x.plain, expanded_shape(x, *args, **named)),
    "expand_as": lambda x, other: dpnp.broadcast_to(x.plain, other.shape),
    "is_floating_point": lambda x: x.dtype.kind == "f",
    "numpy": lambda x: asnumpy(x.plain),
}  # fmt: skip

# SPDX-License-Identifier: Apache-2.0
"""What a case has to do: operations and bytes, by counting."""

from __future__ import annotations

from math import prod
from typing import Any

from sycl_dnn.verify import post
from sycl_dnn.verify.call import Call
from sycl_dnn.verify.drivers import DRIVERS

_WEIGHTS = ("weights_layer", "weights_iter", "weights_projection")


def _recurrent(call: Call) -> int:
    """Products of all cells: each weight meets each sample of each step once."""
    steps, batch = call.tensors["src_layer"].dims[:2]
    weights = sum(prod(call.tensors[n].dims) for n in _WEIGHTS if n in call.tensors)
    return steps * batch * weights * (2 if call.is_backward else 1)


def _deconvolution(call: Call) -> int:
    """Products of a deconvolution: each pixel of the small side meets each weight once."""
    small = next(call.tensors[n] for n in ("src", "diff_src") if n in call.tensors)
    weights = next(call.tensors[n] for n in ("weights", "diff_weights") if n in call.tensors)
    return small.dims[0] * prod(small.dims[2:]) * prod(weights.dims)


#: Drivers whose reference has to do something else than the primitive.
_PRODUCTS = {"rnn": _recurrent, "deconv": _deconvolution}


def operations(call: Call) -> int:
    """Return the additions and multiplications of a case, as benchdnn counts them.

    Products with padding count; 0 for drivers that are not products.
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

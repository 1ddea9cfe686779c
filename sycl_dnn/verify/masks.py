# SPDX-License-Identifier: Apache-2.0
"""Which dimensions scales, zero points and operands have their own values along."""

from __future__ import annotations

from sycl_dnn.verify.attr_text import Quantity
from sycl_dnn.verify.call import Call

_WEIGHTED = ("conv", "deconv", "ip")
_BITS = {"per_dim_0": 1, "per_dim_1": 2, "per_dim_01": 3, "per_dim_2": 4, "per_dim_3": 8}


def argument(call: Call, name: str) -> str:
    """Return the execution argument that an attribute's argument stands for."""
    if name in ("src", "src_0"):
        return "src_0" if call.driver == "binary" else "src"
    return name


def mask_of(call: Call, name: str, policy: str | int, ndims: int) -> int:
    """Return the mask that a policy means for an argument of this call."""
    if isinstance(policy, int):
        return policy
    if policy in ("common", "host_scalar"):
        return 0
    if policy in ("per_tensor", "mx", "dynamic_fp"):
        return (1 << ndims) - 1
    if call.driver in _WEIGHTED and name == "weights":
        weights, src = call.tensors.get("weights"), call.tensors.get("src")
        grouped = weights and src and len(weights.dims) > len(src.dims)
        return 3 if grouped else 1
    if call.driver == "matmul" and name in ("src", "weights", "dst"):
        last = 1 << (ndims - 1)
        if policy in ("per_dim_1", "per_oc"):
            return last
        return last | last >> 1 if policy == "per_ocic" else _BITS[policy]
    if call.driver == "lnorm" and policy == "per_oc" and name == "src_1":
        return 1 << (ndims - 1)
    return {"per_oc": 2, "per_ocic": 3}.get(policy) or _BITS[policy]


def dims_of(call: Call, name: str) -> tuple[int, ...]:
    """Return the dims of an argument that an attribute names."""
    return call.tensors[argument(call, name)].dims


def broadcast_dims(call: Call, policy: str | int, name: str = "src_1") -> tuple[int, ...]:
    """Return the dims of a post-op's operand: those of dst, 1 outside of the mask."""
    dst = call.tensors["dst"].dims
    mask = mask_of(call, name, policy, len(dst))
    return tuple(n if mask >> axis & 1 else 1 for axis, n in enumerate(dst))


def quantity_dims(call: Call, quantity: Quantity) -> tuple[int, ...]:
    """Return the shape of scales or zero points, 1 along what is shared.

    Groups count along the last two dimensions of the mask.
    """
    dims = dims_of(call, quantity.arg)
    mask = mask_of(call, quantity.arg, quantity.policy, len(dims))
    shape = [n if mask >> axis & 1 else 1 for axis, n in enumerate(dims)]
    first = len(dims) - len(quantity.groups)
    for axis, group in enumerate(quantity.groups, start=first):
        if mask >> axis & 1:
            shape[axis] = -(-dims[axis] // max(group, 1))
    return tuple(shape)

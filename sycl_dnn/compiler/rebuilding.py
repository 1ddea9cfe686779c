# SPDX-License-Identifier: Apache-2.0
"""Make a node's descriptor anew with other attributes or layouts, and judge what comes out."""

from __future__ import annotations

from typing import Any

from sycl_dnn import _core
from sycl_dnn.compiler.node import Node
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.dispatch import descriptors
from sycl_dnn.dispatch.gpu_layouts import is_right

#: Parts of the names of implementations that are slower than others.
_SLOW = {"ref", "simple", "gemm"}
#: The argument that is constant and may be packed anew.
PACKABLE = "weights"


def _slow_parts(name: str) -> set[str]:
    return _SLOW & set(name.replace("+", ":").replace("_", ":").split(":"))


def is_slower(name: str, than: str) -> bool:
    """Whether an implementation is of a slower kind than another, by their names."""
    return bool(_slow_parts(name) - _slow_parts(than))


def rebuilt(engine: Any, node: Node, attr: Any, least: str | None = None, **changes: Any) -> Any:
    """Return a descriptor like the node's with other parameters, or a ``Refusal``.

    Parameters
    ----------
    attr : PrimitiveAttr
    least : str, optional
        Name of the implementation that the new one must not be slower than; the node's own.
    **changes
        Parameters that differ.
    """
    least = node.pd.impl_info if least is None else least
    params = node.params | changes
    pd = descriptors.shared.described_or_none(engine, node.row, params, attr)
    if pd is None:
        return Refusal(f"{node.row} has no implementation for it")
    if node.row == "softmax_forward" and not is_right(node.row, engine, pd.src_desc, pd.dst_desc):
        return Refusal("softmax_forward would read this layout wrongly")
    # Implementations of a slow kind were taken on purpose, for what oneDNN itself would take.
    if _slow_parts(least) and pd.impl_info != least:
        own = getattr(_core, node.row)(engine, **params, attr=attr)
        pd = own if _go_on(own, least) else pd
    if is_slower(pd.impl_info, least):
        return Refusal(f"{node.row} would run as {pd.impl_info} instead of {least}")
    return pd


def _go_on(pd: Any, name: str) -> bool:
    """Move a descriptor to the implementation of a name."""
    while pd.impl_info != name:
        if not pd.next_impl():
            return False
    return True


def misfit(pd: Any, node: Node, inputs: dict[str, Any]) -> Refusal | None:
    """Return why the inputs do not lie as a new descriptor wants them; None if they do."""
    for name, tensor in inputs.items():
        wanted = pd.desc_of(name)
        if name == PACKABLE or not wanted or tensor.storage.scalar:
            continue
        if tensor.desc != wanted:
            return Refusal(f"{node.row} would want {name} in another layout")
    return None

# SPDX-License-Identifier: Apache-2.0
"""What runs in place of an operation that oneDNN does not take as a partition by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from sycl_dnn.errors import Unimplemented
from sycl_dnn.graph.instead_functions import (
    OF_NUMBERS,
    Arrays,
    align_corners,
    bias_add_backward,
    dequantize,
    pow,
    quantize,
    reciprocal,
    type_cast,
    with_number,
)
from sycl_dnn.graph.instead_graphs import behind_identity
from sycl_dnn.graph.wide_step import lacking

if TYPE_CHECKING:
    from sycl_dnn.graph.node import Node
    from sycl_dnn.graph.plan import Plan

__all__ = ["REASONS", "Way", "way"]


class Way(NamedTuple):
    """A function from the arrays of the inputs by name to those of the outputs, and why."""

    run: Callable[[Arrays], list[Any]]
    reason: str


#: Why, and what runs, by operation.
_WAYS: dict[str, tuple[Callable[[Node], Callable[[Arrays], list[Any]]], str]] = {
    "reciprocal": (reciprocal, "a partition only in front of a Multiply; runs as a division"),
    "pow": (pow, "no pattern of oneDNN's takes it; runs as the eltwise primitive"),
    "bias_add_backward": (
        bias_add_backward,
        "a partition only behind ConvolutionBackwardWeights; runs as the reduction primitive",
    ),
}
#: What runs where oneDNN refuses to compile a partition of the operation.
_REFUSED = {
    "quantize": quantize,
    "dynamic_quantize": quantize,
    "dequantize": dequantize,
    "dynamic_dequantize": dequantize,
}
_REFUSED_REASON = "oneDNN has no reorder with these scales and zero points; runs in sycl_dnn"
#: For the documentation: what is never a partition by itself, and why.
REASONS = {name: reason for name, (_, reason) in _WAYS.items()} | {
    "dropout": "a partition only behind an elementwise operation or MatMul; runs behind LeakyReLU "
    "with slope 1, which changes nothing",
    "end": "a mark; nothing runs",
    "wildcard": "your function runs",
    "quantize": _REFUSED_REASON,
    "interpolate": "align_corners is not in oneDNN; runs as gathers of dpnp",
}


def way(node: Node, plan: Plan, problem: Exception | None = None) -> Way:
    """Return what runs instead of a node.

    Raises
    ------
    Unimplemented
        Nothing else computes it either.
    """
    name = node.operation.name
    if node.function is not None:
        return Way(_wildcard(node), REASONS["wildcard"])
    if name in _WAYS:
        make, reason = _WAYS[name]
        return Way(make(node), reason)
    if name == "dropout" and not lacking([node], plan):
        return Way(behind_identity(node, plan), REASONS["dropout"])
    if node.attributes.get("coordinate_transformation_mode") == "align_corners" and (
        name == "interpolate" and node.attributes["mode"] != "nearest"
    ):
        return Way(align_corners(node), REASONS["interpolate"])
    if name in _REFUSED:
        return Way(_REFUSED[name](node), _REFUSED_REASON)
    if name in OF_NUMBERS and [v.property for v in node.values].count("host_scalar") == 1:
        return Way(with_number(node), "no partition takes a host's number here; runs in sycl_dnn")
    if name == "type_cast":
        return Way(type_cast(node), "oneDNN has no partition of these types; runs as a reorder")
    raise Unimplemented(
        f"{name}: oneDNN must support the operation with these tensors and attributes, got "
        f"{[(v.dtype, plan.shapes[v.id]) for v in node.values]}, {node.attributes}"
        + (f": {problem}" if problem else "")
    )


def _wildcard(node: Node) -> Callable[[Arrays], list[Any]]:
    def run(arrays: Arrays) -> list[Any]:
        made = node.function(*arrays["src"])
        return list(made) if isinstance(made, (list, tuple)) else [made]

    return run

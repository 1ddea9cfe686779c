# SPDX-License-Identifier: Apache-2.0
"""Node: one step of a trace as the passes see it."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from sycl_dnn import _core
from sycl_dnn.dispatch import descriptors
from sycl_dnn.dispatch.record import ArrayStep, Step
from sycl_dnn.dispatch.tensor import Tensor


@dataclass(eq=False)
class Node:
    """One step: a primitive, zeros (neither ``pd`` nor ``function``), or a call over arrays."""

    pd: Any
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    #: What the descriptor was made of, layouts that are left open included.
    params: dict[str, Any] = field(default_factory=dict)
    #: Called with arrays, or a partition.
    function: Any = None
    primitive: Any = None
    #: What was fused into it, and what was not, with the reason; both for the report.
    fused: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    #: Milliseconds by way, where two were measured.
    times: dict[str, float] = field(default_factory=dict)
    #: Whether the result is rounded to fewer bits on the function's wish.
    is_rounded: bool = False
    #: Number of the part of the batch that it computes, and how many there are.
    part: tuple[int, int] = (0, 1)

    #: Of a reorder: whether nobody asked for it.
    inserted: bool = False

    @functools.cached_property
    def row(self) -> str:
        """Name of the primitive; "zeros" or "dpnp" for what is none."""
        if self.pd is not None:
            return self.pd.name
        return "zeros" if self.function is None else getattr(self.function, "row", "dpnp")

    @functools.cached_property
    def work(self) -> tuple[str, ...]:
        """What tells the primitive from others that read and write the same."""
        return descriptors.shared.work(self.pd)

    @functools.cached_property
    def attr(self) -> Any:
        """The attribute of the primitive; not to be changed."""
        return self.pd.primitive_attr

    @functools.cached_property
    def post_ops(self) -> Any:
        """The post-ops of the primitive; not to be changed."""
        return post_ops_of(self.attr)

    @property
    def has_dst(self) -> bool:
        """Whether the only output is called dst."""
        return len(self.outputs) == 1 and "dst" in self.outputs

    @property
    def dst(self) -> Tensor:
        """The output called dst."""
        return self.outputs["dst"]

    def with_pd(self, pd: Any, **changes: Any) -> Node:
        """Return a node with another descriptor that keeps what the report tells."""
        known = {
            "inputs": self.inputs,
            "outputs": self.outputs,
            "fused": self.fused,
            "refused": self.refused,
        }
        return Node(pd, params=pd.parameters, **(known | changes))


def node_of(step: Step | ArrayStep) -> Node:
    """Return a step of a trace as a node."""
    if isinstance(step, ArrayStep):
        return Node(None, dict(step.inputs), dict(step.outputs), function=step.function)
    planned = step.primitive
    if planned is None:
        return Node(None, dict(step.inputs), dict(step.outputs))
    pd = planned.primitive_desc
    inputs, outputs = dict(step.inputs), dict(step.outputs)
    return Node(pd, inputs, outputs, pd.parameters, inserted=planned.inserted)


def post_ops_of(attr: Any) -> Any:
    """Return the post-ops of an attribute, empty ones where none were set."""
    given = attr.get("set_post_ops")
    return given[-1][0] if given else _core.PostOps()


def has_only_post_ops(attr: Any) -> bool:
    """Whether an attribute says nothing but post-ops and floating-point mode."""
    return all(name in ("set_post_ops", "set_fpmath_mode") for name, _ in attr.calls)

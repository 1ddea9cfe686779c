# SPDX-License-Identifier: Apache-2.0
"""``Report``: the steps of a compiled function, with fusions and reasons against others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from sycl_dnn import _core
from sycl_dnn.lower.step_graph import Graph, Node
from sycl_dnn.program.host_copies import host_copy


@dataclasses.dataclass(frozen=True)
class Part:
    """One step of a program.

    Attributes
    ----------
    row : str
        The primitive; "dpnp" for a call of dpnp, "zeros" for cleared memory.
    implementation : str
        oneDNN's name; "opencl" for a kernel, "host" for the work of one thread.
    shape, dtype
        Of the result.
    fused : tuple of str
        Operations fused into the step, in order.
    refused : tuple of str
        Possible fusions that were refused, with reasons.
    way : str
        "primitive", "partition" (of the Graph API) or "dpnp".
    times : int
        Number of executions: once per batch part if that keeps values in the cache.
    milliseconds : dict of str to float
        If alternatives were measured: minimum times under "primitives" and "partition", of all
        steps that the partition replaces.
    """

    row: str
    implementation: str
    shape: tuple[int, ...]
    dtype: str
    fused: tuple[str, ...]
    refused: tuple[str, ...]
    way: str
    times: int = 1
    milliseconds: dict[str, float] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        head = f"{self.row:28} {self.dtype:9} {str(self.shape):22} {self.implementation}"
        lines = [head if self.times == 1 else f"{head}  x {self.times} parts of the batch"]
        lines += [f"    + {text}" for text in self.fused]
        lines += [f"    - {text}" for text in self.refused]
        if self.milliseconds:
            times = ", ".join(f"{way} {ms:.3f} ms" for way, ms in self.milliseconds.items())
            lines.append(f"    measured: {times}")
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Report:
    """A compiled program: its steps and memory; ``str`` formats it.

    Attributes
    ----------
    name : str
        Name of the function.
    parts : tuple of Part
        In execution order.
    n_recorded : int
        Number of steps before fusion.
    arena_bytes : int
        Memory for intermediate values of a call.
    constant_bytes : int
        Memory of values computed from constants, over all programs of the function.
    captured : tuple of str
        What the function reads besides its arguments, with the constants that were compiled in.
        Another value compiles another program.
    """

    name: str
    parts: tuple[Part, ...]
    n_recorded: int
    arena_bytes: int
    constant_bytes: int
    captured: tuple[str, ...] = ()

    @property
    def n_steps(self) -> int:
        """Number of steps that a call submits."""
        return sum(part.times for part in self.parts)

    @property
    def n_reorders(self) -> int:
        """Number of remaining copies."""
        return sum(part.times for part in self.parts if part.row == "reorder")

    @property
    def slow(self) -> tuple[Part, ...]:
        """Steps for which oneDNN has only its reference implementation."""
        return tuple(p for p in self.parts if _is_reference(p.implementation))

    def __str__(self) -> str:
        head = (
            f"{self.name}: {self.n_steps} steps of {self.n_recorded} recorded, "
            f"{self.n_reorders} reorders, arena {self.arena_bytes:,} bytes, constants "
            f"{self.constant_bytes:,} bytes"
        )
        read = [f"captured: {', '.join(self.captured)}"] if self.captured else []
        return "\n".join([head, *map(str, self.parts), *read])


def _is_reference(name: str) -> bool:
    return "ref" in name.replace("+", ":").split(":")


def report(
    name: str,
    graph: Graph,
    n_recorded: int,
    executable: Any,
    constants: int,
    captured: Sequence[str] = (),
) -> Report:
    """Return the report of a lowered function."""
    parts = tuple(_part(node) for node in graph.nodes if node.part[0] == 0)
    arena = sum(program.arena_bytes for program in executable.programs)
    return Report(name, parts, n_recorded, arena, constants, tuple(captured))


def _part(node: Node) -> Part:
    output = next(iter(node.outputs.values()))
    return Part(
        row=node.row,
        implementation=_step_name(node) if node.pd is None else _implementation(node.pd),
        shape=tuple(output.shape),
        dtype=output.dtype,
        fused=tuple(node.fused),
        refused=tuple(node.refused),
        way=node.row if node.function is not None else "primitive",
        times=node.part[1],
        milliseconds=dict(node.times),
    )


def _implementation(pd: _core.PrimitiveDesc) -> str:
    # As in profiles.
    return pd.impl_info if host_copy(pd) is None else "host"


def _step_name(node: Node) -> str:
    if node.function is None:
        if node.primitive is None:
            return "memset"
        return "host" if node.primitive.is_host else "opencl"
    function = getattr(node.function, "func", node.function)
    return getattr(function, "__qualname__", type(function).__name__)


def shapes_in(key: Any) -> list[str]:
    """Return descriptions of the arrays in a key."""
    if not isinstance(key, tuple):
        return []
    if len(key) == 3 and all(_is_shape(k) for k in key[:2]):
        return [f"{key[2]}{list(key[0])}"]
    return [text for part in key for text in shapes_in(part)]


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(n, int) for n in value)

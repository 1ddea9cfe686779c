# SPDX-License-Identifier: Apache-2.0
"""A graph as benchdnn's JSON describes it: operations by number, tensors by number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sycl_dnn.graph import OPERATIONS
from sycl_dnn.graph.table import Operation
from sycl_dnn.verify.graph import checks
from sycl_dnn.verify.graph.checks import Broken

ROWS: dict[str, Operation] = {row.kind: row for row in OPERATIONS.values()}


@dataclass
class TensorText:
    """A logical tensor; ``strides`` is None where oneDNN or the case leaves them open."""

    id: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    property: str = "undef"


@dataclass
class OpText:
    """An operation; tensors by number, attributes as Python values."""

    id: int
    name: str
    kind: str
    attrs: dict[str, Any]
    inputs: list[int]
    outputs: list[int]

    @property
    def row(self) -> Operation:
        """The row of the table of operations."""
        return ROWS[self.kind]

    def ports(self) -> Iterator[tuple[str, Any]]:
        """Iterate over (name of the row's input, number), a list of them where it takes many."""
        rest = list(self.inputs)
        for port in self.row.inputs:
            if port.many:
                yield port.name, rest
                return
            if rest:
                yield port.name, rest.pop(0)

    def attributes(self) -> dict[str, Any]:
        """Return all attributes that have a value, defaults included."""
        defaults = {a.name: a.default for a in self.row.attributes if a.default is not None}
        return defaults | self.attrs

    def fail(self, message: str) -> Broken:
        """Return the error that says which rule this operation breaks."""
        return Broken(f"op {self.id} ({self.kind}): {message}")


@dataclass
class Document:
    """A graph: operations in an order in which they can run."""

    ops: list[OpText]
    tensors: dict[int, TensorText]
    fpmath: str = "strict"
    fpmath_to_int: bool = False
    name: str = ""

    def producers(self) -> dict[int, OpText]:
        """Return the operation that writes each tensor."""
        return {number: op for op in self.ops for number in op.outputs}

    def readers(self) -> dict[int, list[OpText]]:
        """Return the operations that read each tensor."""
        found: dict[int, list[OpText]] = {number: [] for number in self.tensors}
        for op in self.ops:
            for number in op.inputs:
                found[number].append(op)
        return found

    def inputs(self) -> list[int]:
        """Return the tensors that no operation writes, in the order of their first reader."""
        made = self.producers()
        read = dict.fromkeys(n for op in self.ops for n in op.inputs)
        return [number for number in read if number not in made]

    def results(self) -> list[int]:
        """Return the tensors that only an ``End`` or nothing reads."""
        readers = self.readers()
        made = [number for op in self.ops for number in op.outputs]
        return [n for n in made if all(op.kind == "End" for op in readers[n])]


def check_ports(op: OpText) -> None:
    """Raise unless an operation has as many tensors as its kind takes and gives."""
    row = op.row
    least = sum(not port.optional for port in row.inputs)
    most = len(row.inputs) if not any(port.many for port in row.inputs) else checks.MAX_LIST
    if not least <= len(op.inputs) <= most and op.kind != "Wildcard":
        raise op.fail(f"inputs must be {least} to {most} tensors, got {len(op.inputs)}")
    if len(op.outputs) > len(row.outputs) and op.kind != "Wildcard":
        raise op.fail(f"outputs must be at most {len(row.outputs)}, got {len(op.outputs)}")
    if row.outputs and not op.outputs:
        raise op.fail("outputs must not be empty")

# SPDX-License-Identifier: Apache-2.0
"""Post-ops that oneDNN 3.13 takes and computes wrongly, found by comparing with NumPy.

Each rule gets the result's layout and, for each post-op, None for an element-wise one or the
layout of its operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn._core import MemoryDesc
from sycl_dnn.compiler.frames import in_order
from sycl_dnn.dispatch import layout

Operands = Sequence[MemoryDesc | None]


def _wide(operand: MemoryDesc) -> list[int]:
    return [i for i, n in enumerate(operand.dims) if n > 1]


def _last_axis_elsewhere(dst: MemoryDesc, operands: Operands) -> bool:
    """Tell an operand along the last axis of a result that has another axis innermost."""
    is_innermost = in_order(dst)[-1] == dst.ndims - 1
    found = any(d is not None and _wide(d) == [dst.ndims - 1] for d in operands)
    return found and not is_innermost


def _lone_positions(dst: MemoryDesc, operands: Operands) -> bool:
    """Tell an operand along the channels of (N, C, 1...)."""
    if dst.ndims < 3 or any(n > 1 for n in dst.dims[2:]):
        return False
    return any(d is not None and _wide(d) == [1] for d in operands)


def _two_rows(dst: MemoryDesc, operands: Operands) -> bool:
    """Tell two operands along the last axis behind an element-wise post-op."""
    first = next((i for i, d in enumerate(operands) if d is None), len(operands))
    rows = [d for d in operands[first:] if d is not None and _wide(d) == [dst.ndims - 1]]
    return len(rows) > 1


def _full_by_rows(dst: MemoryDesc, operands: Operands) -> bool:
    """Tell an operand of the result's shape where channels are not innermost."""
    found = any(d is not None and d.dims == dst.dims for d in operands)
    return found and not layout.is_channels_last(dst)


_RULES: dict[str, tuple[Callable[[MemoryDesc, Operands], bool], ...]] = {
    "binary": (_last_axis_elsewhere, _lone_positions, _two_rows),
    "pooling_forward": (_full_by_rows,),
}


def is_wrong(row: str, dst: MemoryDesc, post_ops: Any) -> bool:
    """Whether oneDNN would compute a primitive with these post-ops wrongly."""
    operands = []
    for i in range(len(post_ops)):
        name, args = post_ops[i]
        operands.append(args[1] if name == "append_binary" else None)
    return any(rule(dst, operands) for rule in _RULES.get(row, ()))

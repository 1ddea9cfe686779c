# SPDX-License-Identifier: Apache-2.0
"""Known faults of oneDNN 3.13, so that a wrong number which has a name is listed under it.

Each entry names the row of the table in docs/onednn_in_python.md that describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sycl_dnn.verify.call import Call


@dataclass(frozen=True)
class Fault:
    """A wrong result that is known.

    row : primitive
    meets : (call, implementation) -> whether the case is one of these
    outputs : what may be wrong
    title : how docs/onednn_in_python.md calls it
    """

    row: str
    meets: Callable[[Call, str], bool]
    outputs: tuple[str, ...]
    title: str


FAULTS: tuple[Fault, ...] = ()


def find(call: Call, impl: str, outputs: Sequence[str]) -> str:
    """Return the title of the known fault that explains wrong ``outputs``; "" for none."""
    for fault in FAULTS:
        if call.row == fault.row and set(outputs) <= set(fault.outputs) and fault.meets(call, impl):
            return f"known fault, docs/onednn_in_python.md: {fault.title}"
    return ""

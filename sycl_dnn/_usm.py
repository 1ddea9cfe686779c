# SPDX-License-Identifier: Apache-2.0
"""Allocations in USM whose refusal is an OutOfMemory."""

from __future__ import annotations

from typing import Any

import dpctl.memory

from sycl_dnn.errors import OutOfMemory

#: By name, device before shared before host: the order in which dpnp decides for a result.
KINDS = {
    "device": dpctl.memory.MemoryUSMDevice,
    "shared": dpctl.memory.MemoryUSMShared,
    "host": dpctl.memory.MemoryUSMHost,
}


def allocated(kind: Any, nbytes: int, queue: Any, purpose: str) -> Any:
    """Return a dpctl.memory object of the class ``kind`` with ``nbytes`` bytes, at least one.

    Raises
    ------
    OutOfMemory
        The device has no such memory; the text begins with ``purpose``.
    """
    try:
        return kind(max(nbytes, 1), queue=queue)
    except (MemoryError, OverflowError, dpctl.memory.USMAllocationError) as error:
        name = next(n for n, known in KINDS.items() if known is kind)
        raise OutOfMemory(f"{purpose}: no {nbytes} bytes of {name} memory") from error

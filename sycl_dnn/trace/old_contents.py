# SPDX-License-Identifier: Apache-2.0
"""The contents of an argument before a call assigns to it, for later readers.

Another value of a buffer changes neither views of the old one nor what a reverse pass reads.
"""

from __future__ import annotations

from typing import Any

from sycl_dnn.trace.steps import Entry
from sycl_dnn.trace.values import Storage, Tensor


def set_apart(trace: Any, argument: Tensor, are_views_old: bool) -> None:
    """Make the tape, and views of an argument if so asked, refer to a copy of its contents.

    The steps so far read the argument itself, and so does what represents all of it. A copy that
    nothing reads is dropped.
    """
    storage = argument.storage
    alive = [view() for view in storage.views or ()] if are_views_old else []
    views = [v for v in alive if v is not None and v.storage is storage and not _like(v, argument)]
    entries = [e for e in trace.tape if e.row != "view" and _reads(e, storage)]
    if not views and not entries:
        return
    old = Storage(storage.desc)
    for step in trace.steps if views else ():
        if any(t.storage is storage for t in step.inputs.values()):
            step.inputs = _over(storage, storage, step.inputs)
    for entry in entries:
        entry.inputs, entry.outputs, entry.args = (
            _over(storage, old, tensors) for tensors in (entry.inputs, entry.outputs, entry.args)
        )
    for view in views:
        view.storage = old
    copy = next(iter(_over(storage, old, {"": argument}).values()))
    trace.steps.append(trace.copy_step(argument, copy))


def _like(view: Tensor, argument: Tensor) -> bool:
    """Whether a tensor represents all of an argument."""
    return (view.shape, view.desc, view.offset) == (argument.shape, argument.desc, argument.offset)


def _reads(entry: Entry, storage: Storage) -> bool:
    """Whether a reverse pass over an entry may read a storage."""
    groups = (entry.inputs, entry.outputs, entry.args)
    return any(t.storage is storage for tensors in groups for t in tensors.values())


def _over(storage: Storage, other: Storage, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors in which new ones over ``other`` replace those over ``storage``."""
    return {
        name: Tensor(t.trace, other, t.desc, t.dtype, t.shape, t.offset, t.strides)
        if t.storage is storage
        else t
        for name, t in tensors.items()
    }

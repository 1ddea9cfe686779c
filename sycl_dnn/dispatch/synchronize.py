# SPDX-License-Identifier: Apache-2.0
"""Wait until everything on a queue is done, from any number of threads."""

from __future__ import annotations

from typing import Any

import dpctl
from dpctl.utils import SequentialOrderManager

from sycl_dnn.device import default_queue
from sycl_dnn.dispatch.places import place_of

__all__ = ["synchronize"]


def synchronize(queue: dpctl.SyclQueue | None = None) -> None:
    """Wait until all work on a queue is done: that of this package and that of dpnp.

    Reading a result with dpnp waits by itself. This waits for each submission by its own event,
    those of streams that are not ordered too, and ends at Ctrl-C.

    Parameters
    ----------
    queue : dpctl.SyclQueue, optional
        ``default_queue()`` if left away.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C, in the main thread; the work goes on.
    RuntimeError
        The process was forked from one that had used a device.
    TypeError
        ``queue`` is something else.
    """
    queue = default_queue() if queue is None else queue
    if not isinstance(queue, dpctl.SyclQueue):
        raise TypeError(f"synchronize: queue must be a dpctl.SyclQueue, got {type(queue).__name__}")
    events: Any = SequentialOrderManager[queue].submitted_events
    place_of(queue)[1].wait(events)

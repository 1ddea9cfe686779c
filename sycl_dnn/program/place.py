# SPDX-License-Identifier: Apache-2.0
"""Engines and streams of queues, and ``synchronize``."""

from __future__ import annotations

import os
from typing import Any

import dpctl
from dpctl.utils import SequentialOrderManager

from sycl_dnn._core import Communicator, Engine, Stream
from sycl_dnn.device import default_queue

_MAX_PLACES = 64
_by_queue: dict[Any, tuple[Place, Stream]] = {}
_places: dict[Engine, Place] = {}
_of_parent: list[Any] = []


class Place:
    """A device and context, to which plans belong. Compared by identity."""

    __slots__ = ("engine",)

    def __init__(self, engine: Engine) -> None:
        self.engine = engine


def place_of(queue: Any) -> tuple[Place, Stream]:
    """Return the place of a queue and a stream that is ordered with dpnp's work."""
    entry = _by_queue.get(queue)
    return _remember(queue) if entry is None else entry


def _remember(queue: Any) -> tuple[Place, Stream]:
    engine = Engine(queue)
    place = _places.setdefault(engine, Place(engine))
    if len(_by_queue) >= _MAX_PLACES:
        _by_queue.clear()
    _by_queue[queue] = entry = (place, Stream(engine, queue, ordered=True))
    return entry


def _forget() -> None:
    """Drop engines after a fork without destroying the parent's; new ones are refused."""
    global _by_queue
    _of_parent.append(_by_queue)
    _by_queue = {}


os.register_at_fork(after_in_child=_forget)


# --- synchronize


def synchronize(queue: dpctl.SyclQueue | None = None) -> None:
    """Wait for all work on a queue, submitted by this package or dpnp.

    Reading a result with dpnp waits implicitly. This function waits for the event of each
    submission, including those of unordered streams, and can be interrupted by Ctrl-C.

    Parameters
    ----------
    queue : dpctl.SyclQueue, optional
        ``default_queue()`` by default.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C, in the main thread; the work continues.
    RuntimeError
        The process was forked after its parent used a device, or a collective has failed.
    TypeError
        ``queue`` is not a queue.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> y = F.matmul(F.ones(64, 64), F.ones(64, 64))  # returns before it is computed
    >>> sycl_dnn.synchronize()
    """
    queue = default_queue() if queue is None else queue
    if not isinstance(queue, dpctl.SyclQueue):
        raise TypeError(f"synchronize: queue must be a dpctl.SyclQueue, got {type(queue).__name__}")
    events: Any = SequentialOrderManager[queue].submitted_events
    place_of(queue)[1].wait(events)
    Communicator.raise_failure()

# SPDX-License-Identifier: Apache-2.0
"""Engines and ordered streams of the queues that calls come on."""

from __future__ import annotations

import os
from typing import Any

from sycl_dnn._core import Engine, Stream

_MOST = 64
_found: dict[Any, tuple[Place, Stream]] = {}
_places: dict[Engine, Place] = {}
_of_parent: list[Any] = []


class Place:
    """A device and context; plans belong to one. Compared by identity."""

    __slots__ = ("engine",)

    def __init__(self, engine: Engine) -> None:
        self.engine = engine


def place_of(queue: Any) -> tuple[Place, Stream]:
    """Return the place of a queue and a stream on it that keeps dpnp's order."""
    found = _found.get(queue)
    return _remember(queue) if found is None else found


def _remember(queue: Any) -> tuple[Place, Stream]:
    engine = Engine(queue)
    place = _places.setdefault(engine, Place(engine))
    if len(_found) >= _MOST:
        _found.clear()
    _found[queue] = found = (place, Stream(engine, queue, ordered=True))
    return found


def _forget() -> None:
    """Let a forked process ask for engines, which is refused; destroy nothing of its parent's."""
    global _found
    _of_parent.append(_found)
    _found = {}


os.register_at_fork(after_in_child=_forget)

# SPDX-License-Identifier: Apache-2.0
"""Python's garbage collector, paused while a function is compiled or traced for a gradient."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator

_lock = threading.Lock()
#: Number of compilations in progress, and whether the collector was enabled before the first.
_depth, _was_enabled = 0, False


@contextlib.contextmanager
def paused_collection() -> Iterator[None]:
    """Defer garbage collection while thousands of nodes are created, nearly all without cycles.

    The collector would visit them dozens of times, and all objects of the process one time in
    three, which takes up to half as long as the compilation. A collector that is disabled stays
    disabled.
    """
    global _depth, _was_enabled
    with _lock:
        if not _depth:
            _was_enabled = gc.isenabled()
            gc.disable()
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if not _depth and _was_enabled:
                gc.enable()


def _forget() -> None:
    """Enable the collector in a child that was forked during a compilation of another thread."""
    global _lock, _depth
    _lock = threading.Lock()
    if _depth and _was_enabled:
        gc.enable()
    _depth = 0


os.register_at_fork(after_in_child=_forget)

# SPDX-License-Identifier: Apache-2.0
"""The same work in several threads at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def in_a_thread(work: Callable[[], Any]) -> Any:
    """Return the result of ``work()`` in another thread."""
    results: list[Any] = []
    in_threads(1, lambda _: results.append(work()))
    return results[0]


def in_threads(n: int, work: Callable[[int], Any]) -> None:
    """Call ``work(0)`` to ``work(n - 1)``, each in a separate thread, and wait for all.

    Raises the error of one of them, if any.
    """
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]

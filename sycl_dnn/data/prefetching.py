# SPDX-License-Identifier: Apache-2.0
"""``Prefetcher``: a thread that copies batches to the device ahead of their use."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import dpctl

import sycl_dnn
from sycl_dnn.data.transfer import to_queue

#: Seconds that process exit waits for a copying thread.
_PATIENCE = 10.0


class _Shared:
    """State shared by the thread and the reader; neither keeps the other alive."""

    def __init__(self, size: int) -> None:
        self.changed = threading.Condition()
        self.ready: deque[Any] = deque()
        self.size = size
        self.is_stopped = False
        self.is_done = False
        self.error: BaseException | None = None

    def stop(self) -> None:
        with self.changed:
            self.is_stopped = True
            self.ready.clear()
            self.changed.notify_all()

    def put(self, batch: Any) -> bool:
        """Hand over a batch; return whether to continue."""
        with self.changed:
            self.changed.wait_for(lambda: self.is_stopped or len(self.ready) < self.size)
            if not self.is_stopped:
                self.ready.append(batch)
                self.changed.notify_all()
            return not self.is_stopped

    def end(self, error: BaseException | None) -> None:
        with self.changed:
            self.is_done, self.error = True, error
            self.changed.notify_all()


def _copies(source: Iterator[Any], shared: _Shared, queue: Any) -> None:
    """Run the thread; it holds no reference to the reader."""
    try:
        while not shared.is_stopped:
            try:
                batch = next(source)
            except StopIteration:
                break
            if not shared.put(to_queue(batch, queue)):
                break
            del batch
    except BaseException as error:  # noqa: BLE001 - the reader raises it
        shared.end(error)
    else:
        shared.end(None)


_running: weakref.WeakSet[_Batches] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """End the threads before the runtimes that they use are torn down."""
    for batches in list(_running):
        batches.close()


class _Batches(Iterator[Any]):
    """One pass over the source iterable."""

    def __init__(self, source: Iterable[Any], size: int, queue: Any) -> None:
        self._shared = shared = _Shared(size)
        self._thread = threading.Thread(
            target=_copies, args=(iter(source), shared, queue), daemon=True,
            name="sycl_dnn.data.Prefetcher",
        )  # fmt: skip
        self._finalizer = weakref.finalize(self, shared.stop)
        _running.add(self)
        self._thread.start()

    def __next__(self) -> Any:
        shared = self._shared
        with shared.changed:
            shared.changed.wait_for(lambda: shared.ready or shared.is_done or shared.is_stopped)
            if shared.ready:
                batch = shared.ready.popleft()
                shared.changed.notify_all()
                return batch
            error, shared.error = shared.error, None
        if error is not None:
            raise error
        raise StopIteration

    def close(self) -> None:
        """End the thread once its current batch is done; remaining batches are discarded."""
        self._shared.stop()
        if self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE)

    def __enter__(self) -> _Batches:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Prefetcher:
    """The batches of an iterable, copied to a device ahead of their use.

    A thread reads the iterable, copies the arrays of each batch to the queue and keeps ``size``
    batches ready. Copies do not wait for other work on the queue. Each ``iter()`` starts a new pass
    with its own thread, which ends with the pass or when the iterator is dropped or closed
    (``close()``, ``with``).

    Parameters
    ----------
    batches : iterable of trees
        Trees of NumPy arrays, torch tensors (a ``torch.utils.data.DataLoader``), dpnp arrays or
        ``Array``; other objects are passed through. The iterable runs in the thread, and may reuse
        its memory after each batch.
    size : int
        Number of batches kept ready in addition to the one in use.
    device : dpctl.SyclQueue, optional
        ``sycl_dnn.default_queue()`` by default.

    Raises
    ------
    ValueError
        ``size`` is less than 1.
    TypeError
        ``batches`` is not iterable, or ``device`` is not a queue.

    Notes
    -----
    Exceptions of the iterable are raised by ``next()``, after the preceding batches. Several
    threads may share one iterator; each batch goes to one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sycl_dnn import data
    >>> batches = [{"x": np.full((2, 3), i, "f4"), "name": str(i)} for i in range(3)]
    >>> for batch in data.Prefetcher(batches):
    ...     print(batch["name"], type(batch["x"]).__module__.split(".")[0], float(batch["x"].sum()))
    0 dpnp 0.0
    1 dpnp 6.0
    2 dpnp 12.0
    """

    def __init__(self, batches: Iterable[Any], size: int = 2, *, device: Any = None) -> None:
        if not hasattr(batches, "__iter__") and not hasattr(batches, "__getitem__"):
            kind = type(batches).__name__
            raise TypeError(f"Prefetcher: batches must be iterable, got {kind}")
        if size < 1:
            raise ValueError(f"Prefetcher: size must be at least 1, got {size}")
        if device is not None and not isinstance(device, dpctl.SyclQueue):
            raise TypeError(
                f"Prefetcher: device must be a dpctl.SyclQueue, got {type(device).__name__}"
            )
        self.batches, self.size = batches, size
        self.device = sycl_dnn.default_queue() if device is None else device

    def __iter__(self) -> _Batches:
        return _Batches(self.batches, self.size, self.device)

    def __len__(self) -> int:
        return len(self.batches)  # type: ignore[arg-type]

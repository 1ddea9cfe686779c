# SPDX-License-Identifier: Apache-2.0
"""Device work that blocks until a gate is opened."""

import threading

from dpctl.utils import SequentialOrderManager


class _Held:
    """The device's last reference to it is released when the gate opens."""

    def __init__(self, gate):
        self.gate = gate

    def __del__(self):
        self.gate.opened.wait()


class Gate:
    """A host task on a queue that waits for ``open``; dpnp and ordered streams come after it."""

    def __init__(self, queue):
        self.opened = threading.Event()
        self.event = queue._submit_keep_args_alive((_Held(self),), [])
        SequentialOrderManager[queue].add_event_pair(self.event, self.event)

    def open(self):
        """Unblock the device."""
        self.opened.set()

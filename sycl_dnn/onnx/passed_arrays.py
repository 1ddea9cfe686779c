# SPDX-License-Identifier: Apache-2.0
"""NumPy arguments of a call as device arrays, in memory that earlier calls have used.

New pages take up to 20 times longer than the copy.
"""

from __future__ import annotations

import ctypes
from typing import Any

import dpctl
import numpy as np
from dpctl.memory import MemoryUSMDevice
from dpctl.utils import SequentialOrderManager

from sycl_dnn._dpnp import address
from sycl_dnn.onnx.evaluation import to_device
from sycl_dnn.program.place import place_of
from sycl_dnn.trace import allocation

_COMPLETE = dpctl.event_status_type.complete


def passed(value: np.ndarray, queue: Any) -> Any:
    """Copy an argument to a queue; only for a call, since its memory counts as a result's."""
    if not _is_copied_by_host(value, queue):
        return to_device(value, queue)
    memory = allocation.pool_of(queue).take(MemoryUSMDevice, value.nbytes)
    ctypes.memmove(address(memory), value.ctypes.data, value.nbytes)
    return allocation.wrap(allocation.usm_ndarray(value.shape, dtype=value.dtype, buffer=memory))


def _is_copied_by_host(value: np.ndarray, queue: Any) -> bool:
    """Whether the CPU may write to memory of the queue's pool now: unfinished work may use it."""
    is_plain = value.dtype == np.float32 or value.dtype.kind in "biu"
    if not (is_plain and value.size and value.flags.c_contiguous and value.dtype.isnative):
        return False
    if not queue.sycl_device.is_cpu:
        return False
    place_of(queue)[1].let_go()
    events = SequentialOrderManager[queue].submitted_events
    return all(event.execution_status is _COMPLETE for event in events)

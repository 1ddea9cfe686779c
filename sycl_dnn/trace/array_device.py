# SPDX-License-Identifier: Apache-2.0
"""The device of an array, as dpnp's functions accept it, with the attributes of torch's."""

from __future__ import annotations

from typing import Any

import dpnp.tensor


class ArrayDevice(dpnp.tensor.Device):  # type: ignore[misc]
    """dpnp's device of an array, which also has ``type`` and ``index`` as ``torch.device``."""

    @property
    def type(self) -> str:
        """``"cpu"``, or ``"xpu"`` as torch names Intel's GPUs."""
        return "cpu" if self.sycl_device.is_cpu else "xpu"

    @property
    def index(self) -> int | None:
        """The number of a GPU; None for a CPU, as in torch."""
        return None if self.sycl_device.is_cpu else self.sycl_device.get_device_id()


def device_on(queue: Any) -> ArrayDevice:
    """Return the device of arrays on a queue."""
    return ArrayDevice.create_device(queue)  # type: ignore[no-any-return]

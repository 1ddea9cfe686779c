# SPDX-License-Identifier: Apache-2.0
"""Choose the device: a GPU if there is one, else the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import dpctl
from dpctl._sycl_queue_manager import get_device_cached_queue

from sycl_dnn import _runtime
from sycl_dnn.errors import NoDeviceError

__all__ = ["default_queue", "usable_devices"]

_LIST = (
    "import sycl_dnn, dpctl, json; "
    "print(json.dumps([d.filter_string for d in dpctl.get_devices()]))"
)


def usable_devices(kind: str) -> list[dpctl.SyclDevice]:
    """Return the devices of ``kind`` (``"gpu"`` or ``"cpu"``) that oneDNN has an engine for.

    That is Intel GPUs, and the CPU through OpenCL; Level Zero comes before OpenCL.
    """
    found = [d for d in dpctl.get_devices(device_type=kind) if "Intel" in d.vendor or kind == "cpu"]
    return sorted(found, key=lambda d: d.backend != dpctl.backend_type.level_zero)


def default_queue() -> dpctl.SyclQueue:
    """Return the queue of the first GPU that oneDNN can use, else of the CPU.

    It is the queue that dpnp itself uses for arrays on that device. ``ONEAPI_DEVICE_SELECTOR``
    restricts the choice as everywhere in SYCL.

    Raises
    ------
    NoDeviceError
        There is no such device; the message says what was looked at and what to type next.
    """
    for kind in ("gpu", "cpu"):
        devices = usable_devices(kind)
        if devices:
            return get_device_cached_queue(devices[0])
    raise NoDeviceError(explain_absence())


def _devices_of_new_process() -> list[str]:
    """Return the filter strings that a fresh process with this environment lists."""
    helper = subprocess.run([sys.executable, "-c", _LIST], capture_output=True, timeout=60)
    return json.loads(helper.stdout) if helper.returncode == 0 else []


def explain_absence() -> str:
    """Return what was looked at in vain, why, and the next command to type."""
    listed = [f"{d.filter_string} ({d.name})" for d in dpctl.get_devices()]
    text = ["no SYCL device that oneDNN can use (an Intel GPU or the CPU)"]
    text.append(f"dpctl lists: {', '.join(listed) or 'nothing'}")
    names = ("ONEAPI_DEVICE_SELECTOR", "OCL_ICD_FILENAMES")
    text += [f"{name}={os.environ[name]}" for name in names if name in os.environ]
    return "\n  ".join([*text, _next_step()])


def _next_step() -> str:
    if _devices_of_new_process():
        return (
            "a new process does see a device: in this one, devices were listed before sycl_dnn "
            "was imported, and drivers are looked for only then. Import sycl_dnn first."
        )
    if "ONEAPI_DEVICE_SELECTOR" in os.environ:
        return "ONEAPI_DEVICE_SELECTOR may exclude the device; type: unset ONEAPI_DEVICE_SELECTOR"
    if _runtime.driver_in_wheel() is None:
        return "the CPU driver is not installed; type: pip install intel-opencl-rt"
    return "type: python -m sycl_dnn"

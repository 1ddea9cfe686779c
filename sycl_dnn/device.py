# SPDX-License-Identifier: Apache-2.0
"""Device selection: ``default_queue``."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dpctl

from sycl_dnn import _runtime
from sycl_dnn._warn import warn
from sycl_dnn.errors import NoDeviceError

__all__ = ["default_queue", "explain_absence", "usable_devices"]

_SELECTOR = "ONEAPI_DEVICE_SELECTOR"
_DRIVERS = "OCL_ICD_FILENAMES"
NO_COMPILER = (
    "the OpenCL driver for GPUs (libigdrcl.so) is not registered: oneDNN compiles most kernels "
    "with it, for Level Zero too, and fails without; install intel-opencl-icd"
)
_LIST = (
    "import json, sycl_dnn.device as d; "
    "print(json.dumps([x.filter_string for k in ('gpu', 'cpu') for x in d.usable_devices(k)]))"
)


def usable_devices(kind: str) -> list[dpctl.SyclDevice]:
    """Return the devices of ``kind`` (``"gpu"`` or ``"cpu"``) for which oneDNN has an engine.

    These are Intel GPUs, and the CPU through OpenCL; Level Zero precedes OpenCL.
    """
    devices = dpctl.get_devices(device_type=kind)
    devices = [d for d in devices if "Intel" in d.vendor or kind == "cpu"]
    if lacks_compiler(devices):
        warn(NO_COMPILER)
    return sorted(devices, key=lambda d: d.backend != dpctl.backend_type.level_zero)


def lacks_compiler(devices: Iterable[dpctl.SyclDevice]) -> bool:
    """Whether a GPU is used through Level Zero without the driver that oneDNN compiles with."""
    through_level_zero = any(d.backend == dpctl.backend_type.level_zero for d in devices)
    return through_level_zero and not _runtime.has_gpu_compiler()


def is_simulated(kind: str) -> bool:
    """Whether devices of this kind do not execute in this environment."""
    return kind == "gpu" and _runtime.is_simulating()


def executes_on_cpu(device: dpctl.SyclDevice) -> bool:
    """Whether this is the GPU of tests/executing_gpu.sh: values are correct, times meaningless."""
    return device.is_gpu and device.name.endswith("(executed by the CPU)")


def default_queue(device: Any = None) -> dpctl.SyclQueue:
    """Return the queue of the first GPU that oneDNN can use, or else of the CPU.

    dpnp uses the same queue for arrays on that device. ``ONEAPI_DEVICE_SELECTOR`` restricts the
    choice, as everywhere in SYCL.

    Parameters
    ----------
    device : str, dpctl.SyclDevice, or the ``device`` of an array, optional
        A filter string such as ``"cpu"`` or ``"level_zero:gpu:1"``. That of an array names its
        queue, too.

    Returns
    -------
    dpctl.SyclQueue
        The same queue in each call for a device; out-of-order, like dpnp's queues.

    Raises
    ------
    NoDeviceError
        The device does not exist; the message says what was checked and which command to run.
    TypeError
        ``device`` is something else.

    Examples
    --------
    >>> import dpnp, sycl_dnn
    >>> queue = sycl_dnn.default_queue()
    >>> dpnp.ones(2, sycl_queue=queue).sycl_queue == queue
    True
    """
    return _first_queue() if device is None else _queue_on(device)


@functools.cache  # the devices of a process do not change
def _first_queue() -> dpctl.SyclQueue:
    for kind in ("gpu", "cpu"):
        devices = usable_devices(kind)
        if devices:
            return dpctl.get_device_cached_queue(devices[0])
    raise NoDeviceError(explain_absence())


def _queue_on(device: Any) -> dpctl.SyclQueue:
    queue = getattr(device, "sycl_queue", device)
    if isinstance(queue, dpctl.SyclQueue):
        return queue
    if not isinstance(device, (str, dpctl.SyclDevice)):
        raise TypeError(
            "device must be a filter string, a dpctl.SyclDevice, a dpctl.SyclQueue or the device "
            f"of an array, got {type(device).__name__}"
        )
    try:
        return dpctl.get_device_cached_queue(str(device) if isinstance(device, str) else device)
    except (dpctl.SyclQueueCreationError, dpctl.SyclDeviceCreationError, ValueError) as error:
        available = ", ".join(d.filter_string for d in dpctl.get_devices()) or "none"
        raise NoDeviceError(f"device must be one of {available}, got {device!r}") from error


def _devices_of_new_process(without: str = "") -> list[str]:
    """Return the usable devices of a new process whose environment lacks one variable."""
    environment = {name: value for name, value in os.environ.items() if name != without}
    paths = (str(Path(__file__).resolve().parents[1]), environment.get("PYTHONPATH"))
    environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    command = [sys.executable, "-c", _LIST]
    try:
        helper = subprocess.run(command, capture_output=True, timeout=60, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return json.loads(helper.stdout.splitlines()[-1]) if helper.returncode == 0 else []


def explain_absence() -> str:
    """Explain which devices were checked, why they are unusable, and which command to run."""
    listed = [f"{d.filter_string} ({d.name})" for d in dpctl.get_devices()]
    text = ["no SYCL device that oneDNN can use (an Intel GPU or the CPU)"]
    text.append(f"dpctl lists: {', '.join(listed) or 'nothing'}")
    text += [f"{name}={os.environ[name]}" for name in (_SELECTOR, _DRIVERS) if name in os.environ]
    why, command = next_step()
    return "\n  ".join([*text, *([why] if why else []), *([f"type: {command}"] if command else [])])


def next_step() -> tuple[str, str]:
    """Return why this process sees no usable device, and the next command to type."""
    driver = _runtime.driver_in_wheel()
    if driver is None:
        return "the CPU driver is not installed", "pip install intel-opencl-rt"
    if not _runtime.driver_registered():
        return f"{_DRIVERS} was changed since sycl_dnn put {driver} there", ""
    if _devices_of_new_process():
        # A different result: drivers were searched for before they were registered.
        return (
            "devices were listed in this process before sycl_dnn was imported, and drivers are "
            "looked for only then; import sycl_dnn first"
        ), ""
    hidden = _devices_of_new_process(without=_SELECTOR) if _SELECTOR in os.environ else []
    if hidden:
        return f"{_SELECTOR} leaves out {', '.join(hidden)}", f"unset {_SELECTOR}"
    return "", "python -m sycl_dnn"

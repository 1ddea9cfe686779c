# SPDX-License-Identifier: Apache-2.0
"""Make the devices of the pip wheels visible, without listing them.

The wheels ship Intel's OpenCL CPU driver but register it nowhere. OCL_ICD_FILENAMES is read when
devices are listed for the first time in the process, so it is set when the package is imported.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
from pathlib import Path

_VENDORS = Path("/etc/OpenCL/vendors")
_DRIVER = "libintelocl.so"
#: The wheel's libOpenCL and CPU driver need these and have no run path to find them.
_PRELOADED = ("libintlc.so.5", "libimf.so", "libirng.so", "libsvml.so")

#: What ``prepare`` did, one sentence each, for ``python -m sycl_dnn``.
fixes: list[str] = []


def distribution_file(distribution: str, name: str) -> Path | None:
    """Return where an installed distribution has the file called ``name``; None without it."""
    try:
        files = importlib.metadata.files(distribution) or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == name:
            path = Path(str(file.locate())).resolve()
            return path if path.exists() else None
    return None


def driver_in_wheel() -> Path | None:
    """Return the CPU driver that pip installed with oneDNN; None if it is not there."""
    return distribution_file("intel-opencl-rt", _DRIVER)


def driver_registered() -> bool:
    """Whether OCL_ICD_FILENAMES or the system already names a CPU driver."""
    if _DRIVER in os.environ.get("OCL_ICD_FILENAMES", ""):
        return True
    return any(_DRIVER in icd.read_text(errors="replace") for icd in _VENDORS.glob("*.icd"))


def _register_driver() -> None:
    driver = None if driver_registered() else driver_in_wheel()
    if driver is None:
        return
    given = [p for p in os.environ.get("OCL_ICD_FILENAMES", "").split(os.pathsep) if p]
    os.environ["OCL_ICD_FILENAMES"] = os.pathsep.join([*given, str(driver)])
    fixes.append(f"registered the CPU driver of the wheels (OCL_ICD_FILENAMES += {driver})")


def _preload() -> None:
    loaded = []
    for name in _PRELOADED:
        path = distribution_file("intel-cmplr-lib-rt", name)
        if path is not None:
            ctypes.CDLL(str(path))
            loaded.append(name)
    if loaded:
        fixes.append(f"preloaded {', '.join(loaded)} for the CPU driver")


def prepare() -> None:
    """Register the CPU driver and preload its libraries. Lists no device; safe to repeat."""
    if fixes:
        return
    # dpnp sets the same at its import; oneDNN's CPU primitives run in this pool.
    os.environ.setdefault("SYCL_QUEUE_THREAD_POOL_SIZE", "6")
    _register_driver()
    _preload()

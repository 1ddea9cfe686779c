# SPDX-License-Identifier: Apache-2.0
"""Find out why a machine's Intel GPU is not among the SYCL devices: from its files alone."""

from __future__ import annotations

import os
from pathlib import Path

_INTEL, _DISPLAY = "0x8086", "0x03"
#: Debian has the first (22.43, GPUs up to 2022, no Level Zero); Intel's repository has both.
_INSTALL = "apt-get install intel-opencl-icd"
_NEWER = "packages intel-opencl-icd and libze-intel-gpu1 of https://dgpu-docs.intel.com"


def advice(root: Path = Path("/")) -> tuple[str, str]:
    """Return why SYCL lists no Intel GPU and the next command to type.

    Parameters
    ----------
    root : the file system to look at: ``sys/bus/pci``, ``dev/dri`` and the drivers' files
    """
    if not _intel_gpus(root) and not (root / "dev/dxg").exists():
        return f"no Intel GPU: none on the PCI bus (one would need {_NEWER})", ""
    nodes = [*(root / "dev/dri").glob("renderD*"), *(root / "dev").glob("dxg")]
    drivers = _gpu_drivers(root)
    if not nodes:
        why = "no Intel GPU: no /dev/dri/renderD* (in a container: docker run --device /dev/dri)"
        return why, "modprobe i915 || modprobe xe"
    if not any(os.access(node, os.R_OK | os.W_OK) for node in nodes):
        why = f"no Intel GPU: this user may not open {nodes[0]} (log in again after the command)"
        return why, "sudo usermod -aG render $USER"
    if not drivers:
        return f"no Intel GPU: driver missing (for new GPUs and Level Zero: {_NEWER})", _INSTALL
    if "ONEAPI_DEVICE_SELECTOR" in os.environ:
        why = "no Intel GPU: ONEAPI_DEVICE_SELECTOR may leave it out"
        return why, "unset ONEAPI_DEVICE_SELECTOR"
    why = f"no Intel GPU: the driver does not take it ({drivers[0]}; newer: {_NEWER})"
    return why, "apt-get install --only-upgrade intel-opencl-icd libze-intel-gpu1"


def _intel_gpus(root: Path) -> list[Path]:
    """Return the PCI devices that are Intel's and drive a display or compute."""
    found = []
    for pci in (root / "sys/bus/pci/devices").glob("*"):
        try:
            vendor, kind = ((pci / name).read_text().strip() for name in ("vendor", "class"))
        except OSError:
            continue
        if vendor == _INTEL and kind.startswith(_DISPLAY):
            found.append(pci)
    return found


def _gpu_drivers(root: Path) -> list[Path]:
    names = ("intel-opencl/libigdrcl.so", "libze_intel_gpu.so.1")
    folders = [root / "usr/lib", root / "usr/lib64", *(root / "usr/lib").glob("*-linux-gnu")]
    return [folder / name for folder in folders for name in names if (folder / name).exists()]

# SPDX-License-Identifier: Apache-2.0
"""How much a device's caches hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 10, "M": 20, "G": 30}


def cache_bytes(device: Any, folder: Path = _CACHES) -> int:
    """Return the size of the device's largest cache in bytes.

    Parameters
    ----------
    device : dpctl.SyclDevice
    folder : where Linux describes the CPU's caches
    """
    sizes = [device.global_mem_cache_size]
    for file in folder.glob("index*/size") if device.is_cpu else ():
        text = file.read_text().strip()
        sizes.append(int(text[:-1]) << _UNITS[text[-1]] if text[-1] in _UNITS else int(text))
    return max(sizes)

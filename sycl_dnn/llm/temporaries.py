# SPDX-License-Identifier: Apache-2.0
"""Arrays on the way from a file to a device, whose memory returns to the system at once."""

from __future__ import annotations

import math
import mmap
from pathlib import Path
from typing import Any

import numpy as np


def temporary(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a NumPy array of zeros in pages of its own.

    The C library would keep much of what it freed, up to half of the weights beside them.
    """
    dtype, size = np.dtype(dtype), math.prod(shape)
    memory = mmap.mmap(-1, max(size * dtype.itemsize, 1))
    return np.frombuffer(memory, dtype, size).reshape(shape)


def read_array(path: Path, start: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """Read an array from a file.

    It is not mapped: mapped pages would stay in memory beside the converted array.

    Raises
    ------
    ValueError
        The file has become shorter.
    """
    result = temporary(shape, dtype)
    with path.open("rb") as file:
        file.seek(start)
        if file.readinto(result.reshape(-1).view(np.uint8)) != result.nbytes:
            raise ValueError(f"llm: {path} ends within a tensor")
    return result

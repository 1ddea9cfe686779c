# SPDX-License-Identifier: Apache-2.0
"""What methods and operators may write over a value: its shape, and numbers that its dtype has."""

from __future__ import annotations

from typing import Any

from sycl_dnn.onednn import dtypes


def check_written(x: Any, label: str, result: Any) -> None:
    """Check what a method or an operator, the label, writes over a value.

    Raises ValueError if the result has another shape, and TypeError if it has numbers of a kind
    that the dtype of ``x`` lacks.
    """
    if tuple(result.shape) != tuple(x.shape):
        raise ValueError(f"{label}: the result must have shape {x.shape}, got {result.shape}")
    if _kind(result) > _kind(x):
        raise TypeError(f"{label}: the result must have dtype {x.dtype}, got {result.dtype}")


def _kind(x: Any) -> int:
    """Return the place of a dtype among bools, integers, floating-point and complex numbers."""
    name = str(x.dtype)
    if name == "bool":
        return 0
    return 3 if dtypes.is_complex(name) else 1 + dtypes.is_float(name)

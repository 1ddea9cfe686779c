# SPDX-License-Identifier: Apache-2.0
"""Whether an engine has arithmetic of a dtype."""

from __future__ import annotations

import functools
from typing import Any

from sycl_dnn import _core
from sycl_dnn.dispatch import layout
from sycl_dnn.errors import Unimplemented

__all__ = ["multiplies"]


@functools.lru_cache(64)
def multiplies(engine: Any, dtype: str) -> bool:
    """Return whether an engine multiplies matrices of a dtype.

    A CPU without AVX-512 mostly has no bfloat16, and few have float16.

    Parameters
    ----------
    engine : Engine
    dtype : str
        A floating-point dtype.
    """
    desc = layout.row_major((16, 16), dtype)
    try:
        _core.matmul(engine, src=desc, weights=desc, dst=desc)
    except Unimplemented:
        return False
    return True

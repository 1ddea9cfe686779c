# SPDX-License-Identifier: Apache-2.0
"""The functions that operators and methods of arrays stand for: those of sycl_dnn.functional.

That layer is built upon this one, so it is asked for a function only when one is called.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from sycl_dnn import functional

    return getattr(functional, name)

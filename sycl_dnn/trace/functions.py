# SPDX-License-Identifier: Apache-2.0
"""The functions that operators and methods of arrays call: those of ``sycl_dnn.functional``.

That layer is built on this one; it registers itself here when it is imported.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

_layer: ModuleType | None = None
_operators: ModuleType | None = None


def provide(layer: ModuleType, operators: ModuleType | None = None) -> None:
    """Use the functions of ``layer`` from now on, and those of ``operators`` that it lacks."""
    global _layer, _operators
    _layer, _operators = layer, operators


def is_public(name: str) -> bool:
    """Whether ``sycl_dnn.functional`` has a function of this name."""
    return hasattr(_layer, name)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if _layer is None:
        raise RuntimeError(
            f"{name}: import sycl_dnn.functional before operators of arrays are used"
        )
    return getattr(_layer if hasattr(_layer, name) else _operators, name)

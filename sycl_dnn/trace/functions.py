# SPDX-License-Identifier: Apache-2.0
"""The functions that operators and methods of arrays call: those of ``sycl_dnn.functional``.

That layer is built on this one; it registers itself here when it is imported.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

_layer: ModuleType | None = None
_others: tuple[ModuleType, ...] = ()
_methods: dict[str, Any] = {}


def provide(layer: ModuleType, *others: ModuleType) -> None:
    """Use the functions of ``layer`` from now on, and other modules' for those that it lacks."""
    global _layer, _others
    _layer, _others = layer, others


def public_name(name: str) -> str | None:
    """Return the name of a function in ``sycl_dnn.functional`` or its modules; None without one."""
    if callable(getattr(_layer, name, None)):
        return name
    parts = [part for part in ("fft", "linalg") if hasattr(getattr(_layer, part, None), name)]
    return f"{parts[0]}.{name}" if parts else None


def add_methods(methods: dict[str, Any]) -> None:
    """Add methods of torch's to arrays in modules: functions of an array, by name."""
    _methods.update(methods)


def method(name: str) -> Any:
    """Return the function for a method of torch's; None if there is none."""
    function = _methods.get(name)
    return getattr(_layer, name, None) if function is None else function


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if _layer is None:
        raise RuntimeError(
            f"{name}: import sycl_dnn.functional before operators of arrays are used"
        )
    for module in (_layer, *_others):
        function = getattr(module, name, None)
        if function is not None:
            globals()[name] = function  # later reads do not call this function
            return function
    return getattr(_layer, name)

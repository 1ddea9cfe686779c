# SPDX-License-Identifier: Apache-2.0
"""Functions of torch itself, imported when they are called."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def of_torch(name: str, *more: Any, module: str = "torch", **options: Any) -> Callable[..., Any]:
    """Return a function of torch by its name, with ``options`` over those of the call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, *more, **kwargs | options)

    return call

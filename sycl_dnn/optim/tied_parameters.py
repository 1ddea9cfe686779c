# SPDX-License-Identifier: Apache-2.0
"""``check_untied``: parameters that several modules of a tree share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sycl_dnn.nn import Module
from sycl_dnn.trace.module_arrays import plain


def check_untied(name: str, params: Any) -> None:
    """Raise ValueError if two modules share an array: the update would untie them."""
    owners: dict[int, str] = {}
    for path, module in _modules_of(params, Module):
        for own, array in module.named_parameters(trainable=True):
            path_here = f"{path}.{own}"
            other = owners.setdefault(id(plain(array)), path_here)
            if other != path_here:
                raise ValueError(
                    f"{name}: params has one array as {other} and as {path_here}, which would "
                    "part; put the modules that share it in one, such as a nn.ModuleDict"
                )


def _modules_of(params: Any, kind: type, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the outermost modules of a tree with their paths."""
    if isinstance(params, kind):
        yield path, params
        return
    items: Iterable[Any] = params.items() if isinstance(params, dict) else ()
    items = enumerate(params) if isinstance(params, (tuple, list)) else items
    for key, value in items:
        yield from _modules_of(value, kind, f"{path}.{key}" if path else str(key))

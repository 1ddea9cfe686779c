# SPDX-License-Identifier: Apache-2.0
"""The modules that import statements inside a function read: relative ones, parts, submodules."""

from __future__ import annotations

import contextlib
import importlib
import types
from collections.abc import Iterator, Mapping
from importlib.util import resolve_name
from typing import Any

from sycl_dnn.call.code_facts import CodeFacts, is_library

#: An import as its bytecode has it: level, module, names after ``import`` (None without ``from``).
Import = tuple[int, str, "tuple[str, ...] | None"]


def modules_of(facts: CodeFacts, scope: Mapping[str, Any]) -> Iterator[types.ModuleType]:
    """Yield the modules that are not a library's, and that load.

    Parameters
    ----------
    facts : CodeFacts
    scope : mapping
        The globals of the function: relative imports start at its package.
    """
    for statement in sorted(facts.imports, key=repr):
        wanted = statement[2]
        name = _absolute(statement, scope)
        if wanted is None:  # ``import a.b`` makes ``a`` readable
            parts = name.split(".")
            for i in range(len(parts)):
                yield from _module(".".join(parts[: i + 1]))
            continue
        for module in _module(name):
            yield module
            yield from _submodules(module, wanted)


def _absolute(statement: Import, scope: Mapping[str, Any]) -> str:
    level, name, _ = statement
    if not level:
        return name
    package = scope.get("__package__")
    if package is None:
        package = str(scope.get("__name__", ""))
        package = package if "__path__" in scope else package.rpartition(".")[0]
    try:
        return resolve_name("." * level + name, package)
    except ImportError:
        return ""


def _module(name: str) -> Iterator[types.ModuleType]:
    """Yield the module of a name; nothing for a library's, and for one that does not load."""
    if name and not is_library(name):
        with contextlib.suppress(Exception):  # the function would raise it
            yield importlib.import_module(name)


def _submodules(module: types.ModuleType, wanted: tuple[str, ...]) -> Iterator[types.ModuleType]:
    for name in wanted:
        # An attribute comes first, and to import a module of the same name would replace it.
        if name not in vars(module) and hasattr(module, "__path__"):
            yield from _module(f"{module.__name__}.{name}")
        elif isinstance(vars(module).get(name), types.ModuleType):
            yield vars(module)[name]

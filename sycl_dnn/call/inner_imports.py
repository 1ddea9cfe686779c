# SPDX-License-Identifier: Apache-2.0
"""The modules that import statements inside a function read: relative ones, parts, submodules."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator, Mapping
from importlib.util import resolve_name
from typing import Any

from sycl_dnn.call.code_facts import CodeFacts, is_library, varies

#: An import as its bytecode has it: level, module, names after ``import`` (None without ``from``).
Import = tuple[int, str, "tuple[str, ...] | None"]


class Varies(Exception):
    """What a function imports may differ from call to call; contains why."""


def modules_of(facts: CodeFacts, scope: Mapping[str, Any]) -> Iterator[types.ModuleType]:
    """Yield the modules that are not a library's.

    Parameters
    ----------
    facts : CodeFacts
    scope : mapping
        The globals of the function: relative imports start at its package.

    Raises
    ------
    Varies
        A module varies, or cannot be imported.
    """
    for statement in sorted(facts.imports, key=repr):
        wanted = statement[2]
        name = _absolute(statement, scope)
        if wanted is None:  # ``import a.b`` makes ``a`` readable
            parts = name.split(".")
            for i in range(len(parts)):
                yield from _module(".".join(parts[: i + 1]), facts)
            continue
        for module in _module(name, facts, *wanted):
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
        raise Varies(f"it imports {'.' * level}{name}, which is in no package") from None


def _module(name: str, facts: CodeFacts, *wanted: str) -> Iterator[types.ModuleType]:
    """Yield the module of a name; nothing for a library's."""
    parts = (*wanted, *facts.names) if is_library(name) else ()
    if any(varies(n) for n in (name, *(f"{name}.{part}" for part in parts))):
        raise Varies(f"it imports {name}")
    if not is_library(name):
        try:
            yield importlib.import_module(name)
        except Exception:  # the function does not reach the statement, or raises the same
            raise Varies(f"it imports {name}, which does not load") from None


def _submodules(module: types.ModuleType, wanted: tuple[str, ...]) -> Iterator[types.ModuleType]:
    for name in wanted:
        # An attribute comes first, and to import a module of the same name would replace it.
        if name not in vars(module) and hasattr(module, "__path__"):
            try:
                yield importlib.import_module(f"{module.__name__}.{name}")
            except Exception:
                raise Varies(f"it imports {name} of {module.__name__}") from None
        elif isinstance(vars(module).get(name), types.ModuleType):
            yield vars(module)[name]

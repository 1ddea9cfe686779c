# SPDX-License-Identifier: Apache-2.0
"""Names that a code object reads from outside: globals, attributes, imports."""

from __future__ import annotations

import contextlib
import dis
import functools
import os
import re
import sys
import types
import weakref
from collections.abc import Mapping
from importlib.util import resolve_name
from typing import Any

from sycl_dnn import tree

#: Names of functions that look up attributes by computed names.
_BY_NAME = frozenset(
    (
        "__dict__", "__getattribute__", "attrgetter", "dir", "getattr", "getmembers", "hasattr",
        "methodcaller", "setattr", "vars",
    )
)  # fmt: skip
#: Names of functions that read variables by names in strings.
_BY_TEXT = frozenset(("eval", "exec", "globals"))
#: Names of functions that import modules by names in strings.
_IMPORTING = frozenset(("__import__", "import_module"))
#: Stands for the names of all attributes.
ANY = "*"
_LIBRARIES = frozenset(sys.stdlib_module_names) - {"__main__", "this"} | {"sycl_dnn"}
_IGNORED = ("CACHE", "EXTENDED_ARG", "PRECALL")
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


class CodeFacts:
    """Names that a code object and those nested in it read from outside.

    ``chains``: a global's name with the attributes that are read of it at once: ``("F", "relu")``.
    ``names``: names of all attributes; `ANY` among them if names may be computed.
    """

    def __init__(self, code: types.CodeType) -> None:
        self.chains: set[tuple[str, ...]] = set()
        self.names: set[str] = set()
        #: Import statements: level, module, names after ``from ... import``.
        self._imports: set[tuple[int, str, tuple[str, ...]]] = set()
        self._add(code)

    def _add(self, code: types.CodeType) -> None:
        self.names.update(code.co_names)
        if not _BY_NAME.isdisjoint(code.co_names):
            self.names |= {ANY, *(v for v in code.co_consts if isinstance(v, str))}
        if not _BY_TEXT.isdisjoint(code.co_names):
            texts = [v for v in code.co_consts if isinstance(v, str)]
            self.chains.update((word,) for text in texts for word in re.findall(r"\w+", text))
            self.names.add(ANY)
        if not _IMPORTING.isdisjoint(code.co_names):
            self._imports |= {(0, v, ()) for v in code.co_consts if isinstance(v, str) and v}
        instructions = [i for i in dis.get_instructions(code) if i.opname not in _IGNORED]
        for number, instruction in enumerate(instructions):
            if instruction.opname in _GLOBALS:
                self._chain(instruction.argval, instructions[number + 1 :])
            elif instruction.opname == "IMPORT_NAME":
                level, names = (i.argval for i in instructions[number - 2 : number])
                self._imports.add((level, instruction.argval, names or ()))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add(constant)

    def _chain(self, name: str, following: list[Any]) -> None:
        chain = [name]
        for instruction in following:
            if instruction.opname not in _ATTRIBUTES:
                break
            chain.append(instruction.argval)
        self.chains.add(tuple(chain))

    def imported(self, scope: Mapping[str, Any]) -> set[str]:
        """Return the names of modules that import statements may read.

        ``scope``: the globals of the function: relative imports start at its package.
        """
        modules = set()
        for level, module, names in self._imports:
            with contextlib.suppress(ImportError):
                name = resolve_name("." * level + module, scope.get("__package__") or "")
                modules |= {name.partition(".")[0], name, *(f"{name}.{n}" for n in names)}
        return modules


_facts: weakref.WeakKeyDictionary[types.CodeType, CodeFacts] = weakref.WeakKeyDictionary()


def facts_of(code: types.CodeType) -> CodeFacts:
    """Return the facts of a code object; cached."""
    facts = _facts.get(code)
    if facts is None:
        facts = _facts[code] = CodeFacts(code)
    return facts


def is_library(module: Any) -> bool:
    """Whether a module of this name is not the user's: its functions are not inspected.

    Those are Python's own, this package's, and installed ones, which have a record beside them.
    """
    if not isinstance(module, str):
        return False
    top = module.partition(".")[0]
    return top in _LIBRARIES or _is_installed(sys.modules.get(top))


def _is_installed(module: types.ModuleType | None) -> bool:
    place = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    if not isinstance(place, str):
        return False
    folder = os.path.dirname(place)
    if hasattr(module, "__path__"):  # a package: its folder is in that of the distribution
        folder = os.path.dirname(folder) if getattr(module, "__file__", None) else folder
    return _has_distributions(folder)


@functools.cache
def _has_distributions(folder: str) -> bool:
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(folder))
    except OSError:
        return False


def is_read_whole(kind: type) -> bool:
    """Whether all attributes of instances count: code that is not inspected may read them."""
    if hasattr(kind, "__dataclass_fields__") or kind in tree._rules:
        return True
    return any(is_library(k.__module__) for k in kind.__mro__ if k is not object)

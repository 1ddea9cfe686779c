# SPDX-License-Identifier: Apache-2.0
"""Calls of imported modules as programs with constant weights.

A program whose weights are constants packs them for oneDNN once and folds scales into them. Writes
to the weights would go unnoticed, so only modules with unshared arrays are compiled this way: those
of importers, until something hands out an array (an attribute, an iterator, a state dict, a
transform). If a module replaces an array, it is compiled again.
"""

from __future__ import annotations

import weakref
from typing import Any

from sycl_dnn.compiler.decorator import compile
from sycl_dnn.nn import module_tree
from sycl_dnn.trace.torch_methods import in_torch_manner

#: Maximum number of programs per module; then its weights become arguments.
_MAX_PROGRAMS = 4


def content_of(module: Any) -> bytes | None:
    """Return a key of a module's programs, except for the weights; None if its class has none."""
    program_text = vars(type(module)).get("program_text")
    text = None if program_text is None else program_text(module)
    return None if text is None else text + repr(module_tree.walked(module)[1].names).encode()


class _Forward:
    """A module's ``forward``; its class declares that calls need not compare the module."""

    guarded_by_identity = True

    def __init__(self, module: Any) -> None:
        self._module: Any = weakref.ref(module)
        self.__name__ = type(module).__name__

    def content(self) -> bytes | None:
        """Return a key of the program, except for the weights; None if the class has none."""
        return content_of(self._module())

    def leaves(self) -> list[Any]:
        """Return the weights."""
        return module_tree.walked(self._module())[0]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with in_torch_manner():
            return self._module().forward(*args, **kwargs)


class _Folded:
    """The program of a module, with the arrays and form it was compiled for."""

    def __init__(self) -> None:
        self.count: Any = None
        self.leaves: list[Any] = []
        self.form: Any = None
        self.program: Any = None
        self.n_compiled = 0

    def update(self, module: Any) -> None:
        """Compile again if the arrays or the form of the module changed."""
        leaves, form = module_tree.walked(module)
        is_same = len(leaves) == len(self.leaves) and all(
            a is b for a, b in zip(leaves, self.leaves, strict=True)
        )
        if not is_same or form != self.form:
            self.leaves, self.form = leaves, form
            self.program = compile(_Forward(module))
            self.n_compiled += 1


_folded: weakref.WeakKeyDictionary[Any, _Folded] = weakref.WeakKeyDictionary()


def owns_arrays(module: Any) -> None:
    """Declare that only the module refers to its arrays."""
    for part in module_tree.registered_modules(module):
        part.__dict__.pop("_lent", None)
    _folded[module] = _Folded()


def program_of(module: Any) -> Any:
    """Return a compiled ``forward`` with the weights as constants; None if they may change."""
    folded = _folded.get(module) if _folded else None
    if folded is None or module.training:
        return None
    count = module_tree.changes()
    if folded.count != count:
        parts = list(module_tree.registered_modules(module))
        if any("_lent" in part.__dict__ for part in parts) or not module_tree.is_lasting(module):
            del _folded[module]
            return None
        if any(part.training for part in parts):
            return None
        folded.update(module)
        if folded.n_compiled > _MAX_PROGRAMS:
            del _folded[module]
            return None
        folded.count = count
    return folded.program

# SPDX-License-Identifier: Apache-2.0
"""Calls of imported modules as programs in which their weights are constants.

A program that knows the weights packs them for oneDNN once and folds scales into them. Whatever a
program has read must not be written later without notice. So this is for modules whose arrays
nobody else has: those of importers, until something hands out an array (an attribute, an iterator,
a state dict, a transform). Arrays that a module replaces are noticed, and compiled anew.
"""

from __future__ import annotations

import weakref
from typing import Any

from sycl_dnn.compiler.decorator import compile
from sycl_dnn.nn import module_tree
from sycl_dnn.trace.torch_methods import in_torch_manner

#: How often the weights of a module may be replaced before calls pass them as arguments.
_MOST = 4


class _Forward:
    """A module's ``forward``; its class declares that calls need not compare the module."""

    guarded_by_identity = True

    def __init__(self, module: Any) -> None:
        self._module: Any = weakref.ref(module)
        self.__name__ = type(module).__name__

    def content(self) -> bytes | None:
        """Return what determines the program of the module but its weights; None if unknown."""
        module = self._module()
        own = vars(type(module)).get("program_text")
        names = module_tree.walked(module)[1].names
        return None if own is None else own(module) + repr(names).encode()

    def leaves(self) -> list[Any]:
        """Return the weights."""
        return module_tree.walked(self._module())[0]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with in_torch_manner():
            return self._module().forward(*args, **kwargs)


class _Folded:
    """The program of a module, and what it was compiled for."""

    def __init__(self) -> None:
        self.count: Any = None
        self.leaves: list[Any] = []
        self.form: Any = None
        self.program: Any = None
        self.n_made = 0

    def update(self, module: Any) -> None:
        """Make another program if the module has other arrays or another form."""
        leaves, form = module_tree.walked(module)
        is_same = len(leaves) == len(self.leaves) and all(
            a is b for a, b in zip(leaves, self.leaves, strict=True)
        )
        if not is_same or form != self.form:
            self.leaves, self.form = leaves, form
            self.program = compile(_Forward(module))
            self.n_made += 1


_folded: weakref.WeakKeyDictionary[Any, _Folded] = weakref.WeakKeyDictionary()


def owns_arrays(module: Any) -> None:
    """Declare that nothing but the module has its arrays yet."""
    for part in module_tree.registered_modules(module):
        part.__dict__.pop("_lent", None)
    _folded[module] = _Folded()


def program_of(module: Any) -> Any:
    """Return a compiled ``forward`` with the weights as constants; None if they may change."""
    known = _folded.get(module) if _folded else None
    if known is None or module.training:
        return None
    count = module_tree.changes()
    if known.count != count:
        parts = list(module_tree.registered_modules(module))
        if any("_lent" in part.__dict__ for part in parts) or not module_tree.is_lasting(module):
            del _folded[module]
            return None
        if any(part.training for part in parts):
            return None
        known.update(module)
        if known.n_made > _MOST:
            del _folded[module]
            return None
        known.count = count
    return known.program

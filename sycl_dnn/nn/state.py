# SPDX-License-Identifier: Apache-2.0
"""Named access to a module's parameters, buffers and submodules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dpnp

from sycl_dnn.nn import buffer_writes, bypassed, module_tree
from sycl_dnn.nn.placement import Placement
from sycl_dnn.nn.state_dicts import StateDicts
from sycl_dnn.trace.module_arrays import handed
from sycl_dnn.trace.torch_methods import is_torch


class ModuleState(StateDicts, Placement):
    """The part of ``Module`` that enumerates its contents."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _frozen: frozenset[str]
    _transient: frozenset[str]

    def _handed(self, name: str, value: Any) -> Any:
        """Return an array of this module with torch's methods, the same object each time."""
        if is_torch():
            bypassed.check(self, name, value)
            return buffer_writes.marked(self, name, value)
        lent = module_tree.lends(self)
        if type(value) is not dpnp.ndarray:
            return value
        handle = lent.get(name)
        if getattr(handle, "plain", None) is not value:
            handle = handed(value)
            module_tree.lend(self, name, handle)
        return handle

    def _array(self, name: str) -> Any:
        """Return the parameter or buffer of a name as it is kept; None if there is none."""
        return self._parameters.get(name, self._buffers.get(name))

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield this module and all submodules with their paths, each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """Yield this module and all submodules, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yield the direct submodules with their names."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """Yield the direct submodules."""
        return (module for _, module in self.named_children())

    def _named(
        self, group: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any, Any]]:
        """Yield the path, array and owner of each entry."""
        seen = set()
        named_modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in named_modules if recurse else [(prefix, self)]:
            for name, value in getattr(module, group).items():
                array = module._handed(name, value)
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{path}.{name}" if path else name), array, (module, name)

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True, *,
        trainable: bool = False,
    ) -> Iterator[tuple[str, Any]]:  # fmt: skip
        """Yield the parameters with their names; with ``trainable``, skip frozen ones."""
        frozen = {
            id(module._parameters.get(name))
            for module in (self.modules() if trainable else ())
            for name in module._frozen
        }
        for path, value, (module, name) in self._named(
            "_parameters", prefix, recurse, remove_duplicate
        ):
            if id(module._parameters[name]) not in frozen:
                yield path, value

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Yield the parameters."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield the buffers with their names."""
        for path, value, _ in self._named("_buffers", prefix, recurse, remove_duplicate):
            yield path, value

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """Yield the buffers."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Any:
        """Return the submodule at a path.

        Raises
        ------
        AttributeError
            It does not exist; the message names the path.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if name not in module._modules:
                kind = type(module).__name__
                raise AttributeError(f"{target}: {kind} has no module '{name}'")
            module = module._modules[name]
        return module

    def get_parameter(self, target: str) -> Any:
        """Return the parameter at a path."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if name not in owner._parameters:
            raise AttributeError(f"{target}: {type(owner).__name__} has no parameter '{name}'")
        return owner._handed(name, owner._parameters[name])

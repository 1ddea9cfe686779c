# SPDX-License-Identifier: Apache-2.0
"""Containers of modules and of parameters, as in ``torch.nn``."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sycl_dnn.nn.module import Module
from sycl_dnn.nn.parameter import Parameter


class _Sequence(Module):
    """Modules indexed by position."""

    def _place(self, index: Any) -> str:
        n = len(self._modules)
        index = operator.index(index)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range")
        return list(self._modules)[index]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __setitem__(self, index: int, module: Module) -> None:
        self.register_module(self._place(index), module)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)
        removed = names[index] if isinstance(index, slice) else [self._place(index)]
        remaining = [m for n, m in self._modules.items() if n not in removed]
        self._renumber(remaining)

    def _renumber(self, modules: Iterable[Module]) -> None:
        for name in list(self._modules):
            delattr(self, name)
        for number, module in enumerate(modules):
            self.register_module(str(number), module)

    def append(self, module: Module) -> Any:
        """Append a module."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Append modules."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before an index."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self


class Sequential(_Sequence):
    """Modules in sequence, as ``torch.nn.Sequential``.

    Parameters
    ----------
    *args : Module, or one OrderedDict of them

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> net(F.ones(3, 4)).shape, net[0].weight.shape, len(net[:2])
    ((3, 2), (8, 4), 2)
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        single = len(args) == 1 and isinstance(args[0], (dict, OrderedDict))
        named = args[0].items() if single else ((str(i), m) for i, m in enumerate(args))
        for name, module in named:
            self.register_module(name, module)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._place(index)]

    def forward(self, input: Any) -> Any:
        """Apply the modules in order."""
        for module in self:
            input = module(input)
        return input


class ModuleList(_Sequence):
    """A list of modules, as ``torch.nn.ModuleList``.

    Parameters
    ----------
    modules : iterable of Module, optional
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._place(index)]

    def __repr__(self) -> str:
        lines, first = [], 0
        for text, equal in itertools.groupby(map(repr, self)):
            last = first + len(list(equal)) - 1
            text = text.replace("\n", "\n  ")
            is_one = first == last
            lines.append(f"({first}): {text}" if is_one else
                         f"({first}-{last}): {last - first + 1} x {text}")  # fmt: skip
            first = last + 1
        inner = "".join(f"\n  {line}" for line in lines)
        return f"{self._get_name()}({inner}\n)" if lines else f"{self._get_name()}()"

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])


class _Named(Module):
    """A container whose items have names."""

    def _items(self) -> dict[str, Any]:
        return self._modules

    def __getitem__(self, key: str) -> Any:
        return self._items()[key]

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[str]:
        return iter(self._items())

    def __contains__(self, key: str) -> bool:
        return key in self._items()

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._items().keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return pairs of names and contents."""
        return self._items().items()

    def values(self) -> Iterable[Any]:
        """Return the contents."""
        return self._items().values()


class ModuleDict(_Named):
    """Modules by name, as ``torch.nn.ModuleDict``.

    Parameters
    ----------
    modules : mapping or iterable of pairs, optional
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __setitem__(self, key: str, module: Module) -> None:
        self.register_module(key, module)

    def __delitem__(self, key: str) -> None:
        delattr(self, key)

    def pop(self, key: str) -> Any:
        """Remove and return a module."""
        module = self._modules[key]
        del self[key]
        return module

    def update(self, modules: Any) -> None:
        """Add modules, replacing those with the same names."""
        pairs = modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules
        for name, module in pairs:
            self.register_module(name, module)


class _Parameters(Module):
    """A container whose items are parameters, or containers of them."""

    def _register(self, name: str, value: Any) -> None:
        """Add an item: a parameter, an array, which becomes one, or a module."""
        if isinstance(value, Module):
            self.register_module(name, value)
        else:
            parameter = value if isinstance(value, Parameter) else Parameter(value)
            self.register_parameter(name, parameter)

    def _items(self) -> dict[str, Any]:
        """Return all items by name, parameters first."""
        return {**self._parameters, **self._modules}

    def __len__(self) -> int:
        return len(self._items())


class ParameterList(_Parameters):
    """A list of parameters, as ``torch.nn.ParameterList``.

    Parameters
    ----------
    values : iterable of Parameter, array or ParameterList, optional
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        for value in values or ():
            self.append(value)

    def append(self, value: Any) -> ParameterList:
        """Append a parameter, or a container of parameters."""
        self._register(str(len(self)), value)
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Append parameters."""
        for value in values:
            self.append(value)
        return self

    def __iter__(self) -> Iterator[Any]:
        items = self._items()
        return iter([items[str(number)] for number in range(len(items))])

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]


class ParameterDict(_Parameters, _Named):
    """Parameters by name, as ``torch.nn.ParameterDict``.

    Parameters
    ----------
    parameters : mapping of str to Parameter, array or ParameterDict, optional
    """

    def __init__(self, parameters: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        for name, value in (parameters or {}).items():
            self[name] = value

    def __setitem__(self, key: str, value: Any) -> None:
        self._register(key, value)


class DataParallel(Module):
    """A module under the name ``module``, run on the device of its arrays.

    Parameters
    ----------
    module : Module
    device_ids, output_device, dim : optional
        Ignored: there is one device. ``sycl_dnn.distributed.DataParallel`` trains on several.

    Notes
    -----
    Source: ``torch.nn.DataParallel``, as torch runs it without GPUs. Names in the state dict begin
    with ``module.``.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)

# SPDX-License-Identifier: Apache-2.0
"""What a module holds, by name: parameters, buffers, modules, state dicts, dtype and queue."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import dpctl
import dpnp
import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.nn import module_tree
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import handed
from sycl_dnn.trace.torch_methods import is_torch, of_module


class IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` did not find, and what it had no use for."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class ModuleState:
    """The part of ``Module`` that reads and writes its arrays by name."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _frozen: frozenset[str]
    _transient: frozenset[str]

    def _handed(self, name: str, value: Any) -> Any:
        """Return an array of this module with torch's methods, the same object each time."""
        if type(value) is not dpnp.ndarray or is_torch():
            return of_module(value) if is_torch() else value
        lent = self.__dict__.setdefault("_lent", {})
        found = lent.get(name)
        if getattr(found, "plain", None) is not value:
            found = lent[name] = handed(value)
            found.owners[id(self), name] = weakref.ref(self)
        return found

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
        """Yield the modules that are attributes, with their names."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """Yield the modules that are attributes."""
        return (module for _, module in self.named_children())

    def _named(
        self, group: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any, Any]]:
        """Yield path, array and owner."""
        seen = set()
        found = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in found if recurse else [(prefix, self)]:
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
        """Yield the parameters with their names; with ``trainable`` those that are not frozen."""
        for path, value, (module, name) in self._named(
            "_parameters", prefix, recurse, remove_duplicate
        ):
            if not trainable or name not in module._frozen:
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
        """Return the module of a path.

        Raises
        ------
        AttributeError
            It does not exist; the error names the path.
        """
        found: Any = self
        for name in target.split(".") if target else ():
            if name not in found._modules:
                kind = type(found).__name__
                raise AttributeError(f"{target}: {kind} has no module '{name}'")
            found = found._modules[name]
        return found

    def get_parameter(self, target: str) -> Any:
        """Return the parameter of a path."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if name not in owner._parameters:
            raise AttributeError(f"{target}: {type(owner).__name__} has no parameter '{name}'")
        return owner._handed(name, owner._parameters[name])

    # State dicts.

    def _saved(self, name: str, value: Any) -> Any:
        """Return what a state dict has for an array of this module itself."""
        return value

    def _slots(self) -> Iterator[tuple[str, Any, dict[str, Any], str]]:
        """Yield path, module, group and name of each array that a state dict has."""
        for path, module in self.named_modules(remove_duplicate=False):
            prefix = f"{path}." if path else ""
            names = [n for n in module._buffers if n not in module._transient]
            for group, chosen in ((module._parameters, list(module._parameters)),
                                  (module._buffers, names)):  # fmt: skip
                for name in chosen:
                    if group[name] is not None:
                        yield prefix + name, module, group, name

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Any]:
        """Return parameters and persistent buffers by torch's names.

        Returns
        -------
        OrderedDict of str to array
            The arrays themselves, not copies.

        Examples
        --------
        >>> from sycl_dnn import nn
        >>> {k: v.shape for k, v in nn.Conv2d(3, 8, 3).state_dict().items()}
        {'weight': (8, 3, 3, 3), 'bias': (8,)}
        """
        return OrderedDict(
            (prefix + path, module._saved(name, group[name]))
            for path, module, group, name in self._slots()
        )

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Load the arrays of a state dict: a module's, torch's, or a file's.

        Parameters
        ----------
        state_dict : mapping of str to array
            dpnp arrays, ``Array``, NumPy arrays or torch tensors. They are copied to the queue of
            the module, in the dtype of its parameter.
        strict : bool
            Whether the names must be exactly those of the module.
        assign : bool
            Whether dtypes become those of ``state_dict``.

        Returns
        -------
        IncompatibleKeys
            ``missing_keys``, ``unexpected_keys``.

        Raises
        ------
        RuntimeError
            Names (with ``strict``) or shapes differ; the error lists all of them. Nothing is
            loaded.
        """
        slots = {path: (module, group, name) for path, module, group, name in self._slots()}
        missing = [path for path in slots if path not in state_dict]
        unexpected = [path for path in state_dict if path not in slots]
        problems = []
        if strict and unexpected:
            problems.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}.")
        if strict and missing:
            problems.append(f"Missing key(s) in state_dict: {_quoted(missing)}.")
        for path, (_, group, name) in slots.items():
            if path in missing:
                continue
            given, wanted = tuple(state_dict[path].shape), group[name].shape
            if given != wanted:
                problems.append(
                    f"size mismatch for {path}: copying a param with shape {given} from "
                    f"checkpoint, the shape in current model is {wanted}."
                )
        if problems:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(problems)
            )
        # They stay alive until the end, so that ids belong to different arrays.
        olds = {path: group[name] for path, (_, group, name) in slots.items()}
        # Of several names of one array the last counts, as if each was copied in turn.
        last = {id(old): path for path, old in olds.items() if path in state_dict}
        made = {n: _copied(state_dict[path], olds[path], assign) for n, path in last.items()}
        for path, (_, group, name) in slots.items():
            group[name] = made.get(id(olds[path]), olds[path])
        module_tree.form_changed()
        return IncompatibleKeys(missing, unexpected)

    def to(self, *args: Any, dtype: Any = None, device: Any = None) -> Any:
        """Convert floating-point arrays to a dtype, or copy all arrays to a queue, in place.

        Parameters
        ----------
        *args
            A dtype (``"bfloat16"``, ``dpnp.float32``), a ``dpctl.SyclQueue``, or an array for its
            dtype and queue.
        dtype, device
            The same as keywords.

        Returns
        -------
        Module
            This module.

        Raises
        ------
        TypeError
            An argument is none of these, or the dtype is not floating-point.
        """
        for value in args:
            if isinstance(value, (dpctl.SyclQueue, dpctl.SyclDevice)):
                device = value
            elif nested_arguments.is_array(value):
                dtype, device = value.dtype, value.sycl_queue
            else:
                dtype = value
        name = None if dtype is None else _float_name(dtype)
        if isinstance(device, dpctl.SyclDevice):
            device = dpctl.SyclQueue(device)
        if device is not None and not isinstance(device, dpctl.SyclQueue):
            raise TypeError(f"to: device must be a dpctl.SyclQueue, got {type(device).__name__}")
        leaves, _ = module_tree.flatten(self)
        module_tree.replace(self, [_moved(leaf, name, device) for leaf in leaves])
        return self

    def float(self) -> Any:
        """Convert floating-point arrays to float32."""
        return self.to(dtype="float32")

    def double(self) -> Any:
        """Convert floating-point arrays to float64."""
        return self.to(dtype="float64")

    def half(self) -> Any:
        """Convert floating-point arrays to float16."""
        return self.to(dtype="float16")

    def bfloat16(self) -> Any:
        """Convert floating-point arrays to bfloat16."""
        return self.to(dtype="bfloat16")

    def _queue(self) -> Any:
        """Return the queue of the arrays; None if there are none."""
        found = itertools.chain(self.parameters(), self.buffers())
        return next((value.sycl_queue for value in found), None)


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _float_name(dtype: Any) -> str:
    name = str(dtype) if isinstance(dtype, str) else np.dtype(dtype).name
    if not dtypes.is_float(name):
        raise TypeError(f"to: dtype must be floating-point, got {name}")
    return name


def _moved(array: Any, dtype: str | None, queue: Any) -> Any:
    if dtype is not None and dtypes.is_float(str(array.dtype)) and str(array.dtype) != dtype:
        array = F.astype(array, dtype)
    if queue is not None and array.sycl_queue != queue:
        array = _to_queue(array, queue)
    return array


def _to_queue(array: Any, queue: Any) -> Any:
    if isinstance(array, dpnp.ndarray):
        return dpnp.asarray(array, sycl_queue=queue)
    return type(array)(dpnp.asarray(array.data, sycl_queue=queue), array.dtype)


def _copied(given: Any, old: Any, assign: bool) -> Any:
    """Return a copy of a value on the queue of an array, in its dtype."""
    queue, dtype = old.sycl_queue, str(old.dtype)
    if nested_arguments.is_array(given):
        made = given.copy() if given.sycl_queue == queue else _to_queue(given, queue)
    else:
        if hasattr(given, "detach"):
            given = given.detach().cpu().contiguous()
        if not isinstance(given, np.ndarray) and not str(given.dtype).endswith("bfloat16"):
            given = np.asarray(given)
        kwargs = {"sycl_queue": queue}
        made = F.asarray(given, **kwargs)
        made = made.copy()
    return made if assign or str(made.dtype) == dtype else F.astype(made, dtype)

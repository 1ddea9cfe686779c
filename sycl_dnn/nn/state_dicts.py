# SPDX-License-Identifier: Apache-2.0
"""Saving and loading of state dicts, module by module, with torch's extension points."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.nn import lent_arrays, module_tree
from sycl_dnn.nn.placement import to_queue
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import plain
from sycl_dnn.trace.torch_methods import is_torch

_EXTRA = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """The missing and unexpected keys of ``load_state_dict``."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class StateHandle:
    """Removes a state-dict hook."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks, self._hook = hooks, hook

    def remove(self) -> None:
        """Remove the hook; further calls do nothing."""
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)


class StateDicts:
    """The part of ``Module`` that writes and loads state dicts.

    ``_save_to_state_dict``, ``_load_from_state_dict``, ``get_extra_state``, ``set_extra_state`` and
    the hooks of every submodule are called in torch's order.
    """

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _transient: frozenset[str]
    _handed: Callable[[str, Any], Any]
    _version = 1

    def get_extra_state(self) -> Any:
        """Return state to save in addition to the arrays; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__}: get_extra_state is not defined")

    def set_extra_state(self, state: Any) -> None:
        """Restore the state that ``get_extra_state`` returned."""
        raise NotImplementedError(f"{type(self).__name__}: set_extra_state is not defined")

    def _own_slots(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the dict and key of each array of this module itself that is saved."""
        for name, value in self._parameters.items():
            if value is not None:
                yield self._parameters, name
        for name, value in self._buffers.items():
            if value is not None and name not in self._transient:
                yield self._buffers, name

    def _has_extra(self) -> bool:
        return type(self).get_extra_state is not StateDicts.get_extra_state

    # Hooks.

    def _add_state_hook(self, kind: str, hook: Callable[..., Any]) -> StateHandle:
        hooks = self.__dict__.setdefault("_state_hooks", {}).setdefault(kind, [])
        hooks.append(hook)
        return StateHandle(hooks, hook)

    def _state_hooks_of(self, kind: str) -> list[Callable[..., Any]]:
        return list(self.__dict__.get("_state_hooks", {}).get(kind, ()))

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> StateHandle:
        """Run ``hook(module, prefix, keep_vars)`` before ``state_dict``."""
        return self._add_state_hook("before saving", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> StateHandle:
        """Run ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict``."""
        return self._add_state_hook("after saving", hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> StateHandle:
        """Run ``hook(module, state_dict, prefix, ...)`` before this module is loaded."""
        return self._add_state_hook("before loading", hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> StateHandle:
        chosen = hook if with_module else lambda module, *args: hook(*args)
        return self._add_state_hook("before loading", chosen)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> StateHandle:
        """Run ``hook(module, incompatible_keys)`` after this module is loaded."""
        return self._add_state_hook("after loading", hook)

    # Saving.

    def _saved(self, name: str, value: Any) -> Any:
        """Return the state-dict entry for an array of this module itself."""
        return value

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write the arrays of this module itself."""
        module_tree.lends(self)
        for group, name in self._own_slots():
            value = self._saved(name, group[name])
            destination[prefix + name] = value if is_torch() else self._handed(name, value)
        if self._has_extra():
            destination[f"{prefix}{_EXTRA}"] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Return the parameters and persistent buffers under torch's names.

        Parameters
        ----------
        *args
            The other arguments by position, as in old torch code.
        destination : dict, optional
            The dict to add entries to; a new ``OrderedDict`` by default.
        prefix : str
            Prepended to every name.
        keep_vars : bool
            Has no effect: the arrays are the module's own in either case.

        Returns
        -------
        OrderedDict of str to array
            The arrays themselves, not copies, with torch's additional methods as attributes of the
            module: ``copy_``, ``numel``, ``float``.

        Examples
        --------
        >>> from sycl_dnn import nn
        >>> {k: v.shape for k, v in nn.Conv2d(3, 8, 3).state_dict().items()}
        {'weight': (8, 3, 3, 3), 'bias': (8,)}
        """
        positional = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        destination = positional.get("destination", destination)
        prefix, keep_vars = positional.get("prefix", prefix), positional.get("keep_vars", keep_vars)
        destination = OrderedDict() if destination is None else destination
        for hook in self._state_hooks_of("before saving"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_hooks_of("after saving"):
            result = hook(self, destination, prefix, {"version": self._version})
            destination = destination if result is None else result
        return destination

    # Loading.

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Load the arrays of this module itself; record missing, unexpected and mismatched ones."""
        for hook in self._state_hooks_of("before loading"):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                 error_msgs)  # fmt: skip
        own_names = set()
        for group, name in list(self._own_slots()):
            path = prefix + name
            own_names.add(name)
            if path not in state_dict:
                missing_keys.append(path)
                continue
            loaded_shape, shape = tuple(state_dict[path].shape), group[name].shape
            if loaded_shape == shape:
                assign = bool(local_metadata.get("assign_to_params_buffers", False))
                group[name] = _copied(plain(state_dict[path]), group[name], assign)
            else:
                error_msgs.append(
                    f"size mismatch for {path}: copying a param with shape {loaded_shape} from "
                    f"checkpoint, the shape in current model is {shape}."
                )
        if self._has_extra() and prefix + _EXTRA in state_dict:
            own_names.add(_EXTRA)
            self.set_extra_state(state_dict[prefix + _EXTRA])
        elif self._has_extra():
            missing_keys.append(prefix + _EXTRA)
        if strict:
            unexpected_keys += self._unexpected(state_dict, prefix, own_names)

    def _unexpected(self, state_dict: Any, prefix: str, own_names: set[str]) -> list[str]:
        """Return the names that neither this module nor a submodule has."""
        unexpected = []
        for path in state_dict:
            if path.startswith(prefix):
                first, dot, _ = path[len(prefix) :].partition(".")
                if first not in (self._modules if dot else own_names):
                    unexpected.append(path)
        return unexpected

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Load a state dict: a module's, torch's, or one read from a file.

        Parameters
        ----------
        state_dict : mapping of str to array
            dpnp arrays, ``Array``, NumPy arrays or torch tensors. They are copied to the queue of
            the module and cast to the dtype of the parameter.
        strict : bool
            Whether the names must match the module's exactly.
        assign : bool
            Whether to adopt the dtypes of ``state_dict``.

        Returns
        -------
        IncompatibleKeys
            ``missing_keys``, ``unexpected_keys``.

        Raises
        ------
        RuntimeError
            Names (with ``strict``) or shapes differ; the message lists all of them, and nothing is
            loaded.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        with lent_arrays.replacing(self):
            result = self._loaded(state_dict, strict, assign)
        module_tree.form_changed()
        return result

    def _loaded(self, state_dict: Any, strict: bool, assign: bool) -> IncompatibleKeys:
        snapshot = _Before(self)
        result, problems = IncompatibleKeys([], []), list[str]()
        entries = OrderedDict(state_dict)
        metadata = getattr(state_dict, "_metadata", {})
        try:
            _load(self, entries, "", metadata, assign, result, problems)
            if strict and result.unexpected_keys:
                keys = _quoted(result.unexpected_keys)
                problems.insert(0, f"Unexpected key(s) in state_dict: {keys}.")
            if strict and result.missing_keys:
                keys = _quoted(result.missing_keys)
                problems.insert(
                    bool(result.unexpected_keys), f"Missing key(s) in state_dict: {keys}."
                )
            if problems:
                kind, lines = type(self).__name__, "\n\t".join(problems)
                raise RuntimeError(f"Error(s) in loading state_dict for {kind}:\n\t{lines}")
        except BaseException:
            snapshot.restore()
            raise
        snapshot.tie()
        return result


def _load(
    module: Any, entries: Any, prefix: str, metadata: Any, assign: bool, keys: IncompatibleKeys,
    problems: list[str],
) -> None:  # fmt: skip
    local = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    module._load_from_state_dict(
        entries, prefix, local, True, keys.missing_keys, keys.unexpected_keys, problems
    )
    for name, child in module._modules.items():
        if child is not None:
            inner = f"{prefix}{name}."
            part = OrderedDict((k, v) for k, v in entries.items() if k.startswith(inner))
            _load(child, part, inner, metadata, assign, keys, problems)
    mine = IncompatibleKeys(
        *([path for path in paths if path.startswith(prefix)] for paths in keys)
    )
    for hook in module._state_hooks_of("after loading"):
        hook(module, keys if not prefix else mine)


class _Before:
    """The arrays of a module tree before loading."""

    def __init__(self, root: Any) -> None:
        self._groups = [
            (group, dict(group))
            for module in module_tree.registered_modules(root)
            for group in (module._parameters, module._buffers)
        ]

    def restore(self) -> None:
        """Undo the loading."""
        for group, old in self._groups:
            group.clear()
            group.update(old)

    def tie(self) -> None:
        """Give all names of a tied array the value loaded last, as sequential copies would."""
        new = {}
        for group, old in self._groups:
            for name, value in old.items():
                if value is not None and group.get(name, value) is not value:
                    new[id(value)] = group[name]
        for group, old in self._groups:
            for name, value in old.items():
                if value is not None and name in group and id(value) in new:
                    group[name] = new[id(value)]


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _copied(value: Any, old: Any, assign: bool) -> Any:
    """Copy a value to the queue and dtype of an array."""
    queue, dtype = old.sycl_queue, str(old.dtype)
    if nested_arguments.is_array(value):
        copy = value.copy() if value.sycl_queue == queue else to_queue(value, queue)
    else:
        if hasattr(value, "detach"):
            value = value.detach().cpu().contiguous()
        if not isinstance(value, np.ndarray) and not str(value.dtype).endswith("bfloat16"):
            value = np.asarray(value)
        kwargs = {"sycl_queue": queue}
        copy = F.asarray(value, **kwargs)
        copy = copy.copy()
    return copy if assign or str(copy.dtype) == dtype else F.astype(copy, dtype)

# SPDX-License-Identifier: Apache-2.0
"""Modules as trees: the arrays in order, and a hashable form of everything else."""

from __future__ import annotations

import copy
import enum
import functools
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn import tree
from sycl_dnn._core import new_modules
from sycl_dnn.call import arguments
from sycl_dnn.nn import bypassed, held_objects
from sycl_dnn.nn.container_contents import PLAIN, add_attributes, attributes_of, content_of, copied
from sycl_dnn.nn.container_contents import is_fixed as _is_fixed
from sycl_dnn.nn.module_form import Copies, Form, Maker, Node
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import ModuleArray
from sycl_dnn.trace.values import Tensor

#: Attributes that every module has; all others are hyper-parameters.
OWN = frozenset(
    (
        "_parameters", "_buffers", "_modules", "_frozen", "_transient", "_is_traced", "_lent",
        "_returned", "_state_hooks", "_written",
    )
)  # fmt: skip
_BUILTIN = (tuple, list, dict, OrderedDict, defaultdict, deque)
_FIXED = (np.dtype, np.generic)


class _Epoch:
    """Counts changes to the form of any module; cached forms are valid for one count."""

    count = 0
    #: Number of modules that have handed out arrays, which others may write from then on.
    n_lending = 0


def form_changed() -> None:
    """Invalidate the cached forms of modules."""
    _Epoch.count += 1


def changes() -> tuple[int, int]:
    """Return counters that change whenever a module replaces or starts to lend arrays."""
    return _Epoch.count, _Epoch.n_lending


def lends(module: Any) -> dict[str, Any]:
    """Mark a module's arrays as shared; return those lent as attributes, by name."""
    attrs = module.__dict__
    result: dict[str, Any] | None = attrs.get("_lent")
    if result is None:
        result = attrs["_lent"] = {}
        _Epoch.n_lending += 1
    return result


def lend(module: Any, name: str, array: ModuleArray) -> None:
    """Record that an array is the value of a module's attribute."""
    lends(module)[name] = array
    array.owners[id(module), name] = weakref.ref(module)


class _CachedForm(NamedTuple):
    epoch: int
    form: Form
    #: The location of each leaf: a dict and its key.
    places: list[tuple[dict[str, Any], str]]
    #: Lists, dicts and objects of numbers and strings, with their contents at the time.
    contents: Sequence[tuple[Any, list[Any]]] = ()


_cached_forms: weakref.WeakKeyDictionary[Any, _CachedForm] = weakref.WeakKeyDictionary()


class _Walk:
    """One traversal of a module."""

    def __init__(self, root: Any) -> None:
        self.tokens: list[Any] = []
        self.names: list[str] = []
        self.constants: list[bool] = []
        #: Parameters frozen under one of their names are frozen under all, as in torch.
        self._frozen: set[int] = set()
        self.leaves: list[Any] = []
        self.places: list[tuple[dict[str, Any], str]] = []
        self.nodes: list[Any] = []
        self.held: list[Any] = []
        self.held_leaves: set[int] = set()
        #: Leaves that are states of compiled functions.
        self.states: set[int] = set()
        #: Whether the form remains valid until an attribute is set or a container changes.
        self.is_lasting = True
        #: Whether a forward assigns attributes.
        self.is_written = False
        #: Whether there are objects that cannot be decomposed.
        self.is_opaque = False
        self.contents: list[tuple[Any, list[Any]]] = []
        self._plain: set[int] = set()
        self._numbers: dict[int, int] = {}
        self._nodes: dict[int, int] = {}
        self._classes: set[type] = set()
        self._objects: dict[int, int] = {}
        self._makers: dict[int, Maker] = {}
        self._alive: list[Any] = []
        self.root = root
        self._ids: dict[int, bool] | None = None
        self._node(root, "", False)
        self.is_copy = self.is_opaque and bypassed.is_copy(root)
        for number in self._frozen:
            self.constants[number] = True

    def _leaf(self, owner: dict[str, Any], name: str, path: str, is_constant: bool) -> int:
        value = owner[name]
        index = self._numbers.get(id(value))
        if index is None:
            index = self._numbers[id(value)] = len(self.leaves)
            self.leaves.append(value)
            self.names.append(path)
            self.constants.append(is_constant)
            self.places.append((owner, name))
        elif not is_constant and self.constants[index]:
            self.constants[index] = False
            self.names[index], self.places[index] = path, (owner, name)
        return index

    def _node(self, module: Any, path: str, is_constant: bool) -> int:
        existing = self._nodes.get(id(module))
        if existing is not None:
            if not is_constant:
                self._registered(module, path)
            return existing
        index = self._nodes[id(module)] = len(self.nodes)
        self.nodes.append(None)
        kind, attrs = type(module), module.__dict__
        self._code(kind)
        parameters = {
            n: None if v is None else
            self._leaf(attrs["_parameters"], n, f"{path}.{n}", is_constant or n in attrs["_frozen"])
            for n, v in attrs["_parameters"].items()
        }  # fmt: skip
        buffers = {
            n: None if v is None else self._leaf(attrs["_buffers"], n, f"{path}.{n}", True)
            for n, v in attrs["_buffers"].items()
        }
        fixed, makers, tokens = self._attributes(attrs, path)
        modules = {
            n: None if v is None else self._node(v, f"{path}.{n}", is_constant)
            for n, v in attrs["_modules"].items()
        }
        frozen, transient = frozenset(attrs["_frozen"]), frozenset(attrs["_transient"])
        self._frozen.update(k for n in frozen if (k := parameters.get(n)) is not None)
        self.nodes[index] = Node(
            kind, fixed, makers, parameters, buffers, modules, frozen, transient
        )
        groups = [tuple(g.items()) for g in (parameters, buffers, modules)]
        self.tokens.append((index, kind, frozenset(tokens), *groups, frozen))
        return index

    def _attributes(
        self, attrs: dict[str, Any], path: str
    ) -> tuple[dict[str, Any], dict[str, Maker], list[Any]]:
        """Return the fixed attributes of a module, the makers of others, and all identities."""
        fixed: dict[str, Any] = {}
        fixed |= {name: attrs[name] for name in ("_state_hooks", "_written") if name in attrs}
        fixed["_returned"] = dict.fromkeys(attrs.get("_returned", ()))
        makers: dict[str, Maker] = {}
        tokens = []
        for name, value in attrs.items():
            if name in OWN:
                continue
            is_state = attrs.get("_written", {}).get(name)
            encode = self._encoded if is_state is None else self._written
            token, maker = encode(attrs, name, value, f"{path}.{name}")
            tokens.append((name, token))
            if maker is None:
                fixed[name] = value
            else:
                makers[name] = maker
        return fixed, makers, tokens

    def _written(self, owner: Any, name: str, value: Any, path: str) -> tuple[Any, Maker | None]:
        """Encode an attribute that a forward assigns: not part of the form, but guarded.

        The states of compiled functions are leaves, as are values inside of a trace.
        """
        self.is_lasting, self.is_written = False, True
        is_leaf = owner["_written"][name] or isinstance(value, Tensor)
        if is_leaf or held_objects.reaches(value, self._member_ids(), path, {}):
            before = len(self.leaves)
            result = self._encoded(owner, name, value, path)
            self.states.update(range(before, len(self.leaves)))
            return result
        self.held.append(value)
        return "written", lambda copies: copied(value)

    def _registered(self, module: Any, path: str) -> None:
        """Mark parameters as trainable that were first reached through a plain attribute."""
        attrs = module.__dict__
        for name, value in attrs["_parameters"].items():
            number = -1 if value is None else self._numbers[id(value)]
            if name not in attrs["_frozen"] and number >= 0 and self.constants[number]:
                self.constants[number] = False
                self.names[number] = f"{path}.{name}"
        for name, child in attrs["_modules"].items():
            if child is not None:
                self._registered(child, f"{path}.{name}")

    def _code(self, kind: type) -> None:
        if kind not in self._classes:
            self._classes.add(kind)
            methods = held_objects.methods_of(kind)
            # With the methods, guards read the attributes of the class that their code names.
            self.held += [kind, *methods] if methods else []
            self.is_opaque |= held_objects.leads_to_modules(kind)

    def _encoded(self, owner: Any, name: str, value: Any, path: str) -> tuple[Any, Maker | None]:
        """Return the identity of a hyper-parameter, and its maker if it is built from leaves."""
        kind = type(value)
        if isinstance(value, PLAIN):
            return (kind, str(value) if kind is slice else value), None
        if kind is float:
            return (kind, value.hex()), None
        if isinstance(value, ModuleArray):
            attribute = held_objects.attribute_of(value, self._member_ids(), path)
            array = value.plain if attribute is None else attribute
            return self._held_leaf({name: array}, name, path)
        if isinstance(value, Tensor) or nested_arguments.is_array(value):
            return self._held_leaf(owner, name, path)
        if isinstance(value, enum.Enum):
            return (kind, value.name), None
        if isinstance(value, _FIXED):
            return (kind, value), None
        if held_objects.is_module(value):
            index = self._node(value, path, True)
            return ("node", index), lambda copies: copies.modules[index]
        if isinstance(value, np.ndarray):
            self.is_lasting, self.is_opaque = False, self.is_opaque or value.dtype.hasobject
            return (kind, value.dtype.str, value.shape, value.tobytes()), None
        if isinstance(value, type) or arguments.operation_of(value) is not None:
            self.is_opaque |= isinstance(value, type) and held_objects.leads_to_modules(value)
            return value, None
        if isinstance(value, (set, frozenset)):
            self.is_lasting &= kind is frozenset
            maker = None if kind is frozenset else lambda copies: copy.copy(value)
            return self._object(value, path) or ((kind, frozenset(value)), maker)
        if isinstance(value, deque):
            self.is_lasting = False
            result = self._object(value, path)
            if result is None:
                self.held.append(value)
            return result or ((kind, value.maxlen), lambda copies: copy.copy(value))
        node = tree.opened(value) if held_objects.referent_of(value) is value else None
        if node is not None:
            return self._container(value, node, path)
        result = self._object(value, path)
        if result is not None:
            return result
        if not isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
            self.is_lasting = False
        self.held.append(value)
        self.is_opaque |= held_objects.is_opaque(value)
        return arguments.key_of(value), None

    def _held_leaf(self, owner: Any, name: str, path: str) -> tuple[Any, Maker]:
        number = self._leaf(owner, name, path, True)
        self.held_leaves.add(number)
        return ("leaf", number), lambda copies: copies.attribute(number)

    def _item(self, value: Any, path: str) -> tuple[Any, Maker | None]:
        return self._encoded({"item": value}, "item", value, path)

    def _object(self, value: Any, path: str) -> tuple[Any, Maker] | None:
        """Encode a callable or object; None if it refers to no registered module."""
        index = self._objects.get(id(value))
        if index is not None:
            makers = self._makers
            return ("object", index), lambda copies: makers[index](copies)
        parts = held_objects.parts_of(value)
        if parts is None:
            return None
        member_ids = self._member_ids()
        reaches = functools.partial(held_objects.reaches, ids=member_ids, path=path)
        reached = [i for i, v in enumerate(parts.children) if reaches(v, seen={})]
        if not reached:
            return None
        self.is_lasting = False
        index = self._objects[id(value)] = len(self._objects)
        self._alive.append(value)  # so that its id remains unique
        encoded = {i: self._item(parts.children[i], path) for i in reached}
        self.held += parts.guarded(encoded)
        if isinstance(value, types.MethodType):
            self.held += held_objects.methods_of(type(value.__self__), value.__func__.__name__)

        def maker(copies: Copies) -> Any:
            if index not in copies.objects:
                child_makers = {i: functools.partial(_rebuilt, parts.children[i], m, copies)
                        for i, (_, m) in encoded.items()}  # fmt: skip
                parts.build(child_makers, functools.partial(copies.objects.__setitem__, index))
            return copies.objects[index]

        self._makers[index] = maker
        return (parts.kind, tuple((i, token) for i, (token, _) in encoded.items())), maker

    def _member_ids(self) -> dict[int, bool]:
        if self._ids is None:
            self._ids = ids_of(self.root)
        return self._ids

    def _container(self, value: Any, node: Any, path: str) -> tuple[Any, Maker | None]:
        children = list(node.children)
        self.is_opaque |= not all(isinstance(key, PLAIN) for key in node.order)
        steps = zip(children, node.steps(), strict=True)
        encoded = [self._item(v, path + step) for v, step in steps]
        attributes = [] if node.kind in _BUILTIN else attributes_of(value, node)
        attribute_tokens = [(n, self._item(v, f"{path}.{n}")[0]) for n, v in attributes]
        pairs = zip(children, encoded, strict=True)
        if not attributes and all(m is None or id(v) in self._plain for v, (_, m) in pairs):
            self._plain.add(id(value))
            if not _is_fixed(node.kind):
                self.contents.append((value, content_of(node)))
        else:
            self.is_lasting = False
        tokens = (*(t for t, _ in encoded), *attribute_tokens)
        token = (node.kind, node.order or node.aux, tokens)

        def maker(copies: Copies) -> Any:
            copy = node.rebuilt(
                [v if m is None else m(copies) for v, (_, m) in zip(children, encoded, strict=True)]
            )
            add_attributes(copy, value, attributes)
            return copy

        # A copy gets its own list, so that changes to one do not affect the other.
        is_shared = node.kind is tuple and not any(m for _, m in encoded)
        return token, None if is_shared or self._is_configuration(value, node) else maker

    def _is_configuration(self, value: Any, node: Any) -> bool:
        """Whether a value is an array-free object of a user's class, which copies share."""
        if node.kind in _BUILTIN:
            return False
        member_ids = self._member_ids()
        leads = any(held_objects.reaches(v, member_ids, "", {}) for v in node.children)
        return not leads and not any(
            nested_arguments.is_array(v) or isinstance(v, Tensor) for v in tree.leaves(value)
        )


def _rebuilt(value: Any, maker: Maker | None, copies: Copies) -> Any:
    return value if maker is None else maker(copies)


def registered_modules(root: Any) -> Iterator[Any]:
    """Yield a module and its registered submodules, each once, in state-dict order."""
    stack, seen = [root], set()
    while stack:
        module = stack.pop()
        if module is not None and id(module) not in seen:
            seen.add(id(module))
            yield module
            stack += reversed(module.__dict__["_modules"].values())


def ids_of(root: Any) -> dict[int, bool]:
    """Return the ids of a tree's modules, parameters (True) and buffers."""
    ids: dict[int, bool] = {}
    for module in registered_modules(root):
        ids[id(module)] = False
        ids |= {id(v): False for v in module.__dict__["_buffers"].values() if v is not None}
        ids |= {id(v): True for v in module.__dict__["_parameters"].values() if v is not None}
    return ids


def flatten(module: Any) -> tuple[list[Any], Form]:
    """Return the arrays of a module, each once, and its form."""
    lends(module)
    return walked(module)


def is_lasting(module: Any) -> bool:
    """Whether ``changes`` detects every change to the form of a module."""
    walked(module)
    cached = _cached_forms.get(module)
    return cached is not None and not cached.contents


def walked(module: Any) -> tuple[list[Any], Form]:
    """Do the same as ``flatten``, for callers that do not expose the arrays to writes."""
    cached = _cached_forms.get(module)
    if (
        cached is not None
        and cached.epoch == _Epoch.count
        and all(content_of(tree.opened(value)) == contents for value, contents in cached.contents)
    ):
        cached.form.root = weakref.ref(module)
        return [owner[name] for owner, name in cached.places], cached.form
    walk = _Walk(module)
    form = Form(walk)
    if walk.is_lasting:
        _cached_forms[module] = _CachedForm(_Epoch.count, form, walk.places, walk.contents)
    return walk.leaves, form


def unflatten(form: Form, leaves: Iterable[Any]) -> Any:
    """Build a module of a form from arrays or traced values."""
    leaf_values = list(leaves)
    is_traced = any(isinstance(v, Tensor) for v in leaf_values)
    if is_traced:
        bypassed.note(form, leaf_values)
    modules = new_modules(form.nodes, leaf_values, is_traced)
    bypassed.copied(form, modules[0], is_traced)
    if form.is_simple:
        places = [(modules[i].__dict__[group], name) for i, group, name in form.places]
        _cached_forms[modules[0]] = _CachedForm(_Epoch.count, form, places)
    else:
        _make_attributes(form, Copies(leaf_values, modules, form.attributes))
    return modules[0]


def _make_attributes(form: Form, copies: Copies) -> None:
    """Give the modules of a new tree their hyper-parameters that are built from leaves."""
    for module, node in zip(copies.modules, form.nodes, strict=True):
        module.__dict__.update({name: maker(copies) for name, maker in node.makers.items()})
    if copies.lent:
        _record_lent(form, copies)


def _record_lent(form: Form, copies: Copies) -> None:
    """Record which attributes the arrays that lists and objects hold are."""
    for module, node in zip(copies.modules, form.nodes, strict=True):
        for name, number in (*node.parameters.items(), *node.buffers.items()):
            if number in copies.lent:
                lend(module, name, copies.lent[number])


def replaced(value: Any, swap: Callable[[Any], Any]) -> Any:
    """Return a module or nested arguments with every array replaced by ``swap(array)``."""
    if not held_objects.is_module(value):
        return nested_arguments.replaced(value, swap)
    leaves, form = walked(value)
    return unflatten(form, [swap(v) if nested_arguments.is_array(v) else v for v in leaves])


def register(kind: type) -> None:
    """Register a module class as a tree."""
    tree.register(
        kind, flatten, unflatten, steps=lambda form: form.names,
        constants=lambda form: form.constants, held=lambda form: form.held,
    )  # fmt: skip

# SPDX-License-Identifier: Apache-2.0
"""Decomposition of functions and objects through which a module's attributes reach modules.

A closure, partial, bound method, weak reference or instance of a user's class can refer to a
registered module. A copy of the tree needs its own version, which refers to the copy.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sycl_dnn import tree
from sycl_dnn.call import arguments, code_facts
from sycl_dnn.call.custom_gradients import custom_vjp
from sycl_dnn.compiler.compiled_function import Compiled, CompiledMethod
from sycl_dnn.object_attributes import slots_of
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import ModuleArray
from sycl_dnn.trace.values import Tensor

#: Functions that create a copy's children, by index; other children are shared.
Makers = Mapping[int, Callable[[], Any]]
#: ``build(makers, keep)`` returns a copy; it passes the copy to ``keep`` before it builds children
#: that refer to it.
Build = Callable[[Makers, Callable[[Any], None]], Any]

_PROXIES = (weakref.ProxyType, weakref.CallableProxyType)
#: Classes of Python's library whose instances are what their attributes are.
_OPEN = (types.SimpleNamespace, UserDict, UserList, ChainMap)
_CACHED = type(functools.cache(len))


class Parts(NamedTuple):
    """A callable or object, decomposed one level deep."""

    #: Its identity apart from the children.
    kind: Any
    children: Sequence[Any]
    build: Build
    #: Objects that guards compare besides the children; None: the children that are not copied.
    held: Sequence[Any] | None = None

    def guarded(self, copied: Collection[int]) -> list[Any]:
        """Return the objects that guards must compare."""
        if self.held is None:
            return [self.build({i: lambda: None for i in copied}, lambda copy: None)]
        return [*self.held, *(v for i, v in enumerate(self.children) if i not in copied)]


def _of(kind: Any, children: Sequence[Any], make: Callable[..., Any], *held: Any) -> Parts:
    """Return the parts of an object that ``make(*children)`` rebuilds."""

    def build(makers: Makers, keep: Callable[[Any], None]) -> Any:
        copy = make(*[makers[i]() if i in makers else v for i, v in enumerate(children)])
        keep(copy)
        return copy

    return Parts(kind, children, build, held)


def parts_of(value: Any) -> Parts | None:
    """Decompose a callable or object; None if it refers to nothing."""
    kind = type(value)
    if isinstance(value, types.FunctionType):
        return _function(value)
    if isinstance(value, types.MethodType):
        function = value.__func__
        return _of((kind, function), (value.__self__,), lambda own: kind(function, own),
                   function)  # fmt: skip
    if isinstance(value, Compiled):
        return _of((kind, value.form), (value.subject,), value.of, value.form)
    if isinstance(value, CompiledMethod):
        name = value.__name__
        return _of((kind, name), (value.__self__,), lambda own: getattr(own, name))
    if isinstance(value, custom_vjp):
        return _of(kind, (value.function, value.rule), value.of)
    if isinstance(value, _CACHED):
        options = value.cache_parameters()
        return _of((kind, *options.values()), (value.__wrapped__,), functools.lru_cache(**options))
    if isinstance(value, functools.partial):
        children = (value.func, value.args, value.keywords)
        return _of(kind, children, lambda f, args, kwargs: kind(f, *args, **kwargs))
    if kind in _PROXIES:
        return _of(kind, (referent_of(value),), weakref.proxy)
    if isinstance(value, weakref.ref):
        return _of(kind, (value(),), kind)
    if isinstance(value, (set, frozenset)):
        return _of((kind, len(value)), tuple(value), lambda *items: kind(items))
    if isinstance(value, deque):
        return _of(
            (kind, len(value), value.maxlen), tuple(value),
            lambda *items: kind(items, value.maxlen),
        )  # fmt: skip
    return _instance(value)


def is_module(value: Any) -> bool:
    """Whether a value is a module; False for weak proxies of one."""
    # Functions that ``functools.wraps`` made of a module have its attributes.
    attrs = getattr(value, "__dict__", ())
    return "_parameters" in attrs and hasattr(type(value), "named_parameters")


def referent_of(proxy: Any) -> Any:
    """Return the object that a weak proxy refers to."""
    return proxy.__repr__.__self__ if type(proxy) in _PROXIES else proxy


def _function(function: types.FunctionType) -> Parts | None:
    cells = function.__closure__ or ()
    filled = [i for i, cell in enumerate(cells) if _is_filled(cell)]
    defaults, keyword_defaults = function.__defaults__ or (), function.__kwdefaults__ or {}
    children = [*(cells[i].cell_contents for i in filled), *defaults, *keyword_defaults.values()]
    if not children:
        return None

    def build(makers: Makers, keep: Callable[[Any], None]) -> Any:
        own = list(cells)  # cells that are not copied are shared, with later assignments
        for number, index in enumerate(filled):
            own[index] = types.CellType() if number in makers else own[index]
        copy = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, None, tuple(own) or None
        )
        functools.update_wrapper(copy, function)
        copy.__dict__.pop("__wrapped__", None)
        copy.__dict__.update(function.__dict__)
        keep(copy)
        for number, index in enumerate(filled):
            if number in makers:
                own[index].cell_contents = makers[number]()
        default_values = [
            makers[i]() if i in makers else v
            for i, v in enumerate(children[len(filled) :], len(filled))
        ]
        copy.__defaults__ = tuple(default_values[: len(defaults)]) or None
        copy.__kwdefaults__ = (
            dict(zip(keyword_defaults, default_values[len(defaults) :], strict=True)) or None
        )
        return copy

    return Parts((types.FunctionType, function.__code__), children, build)


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _instance(value: Any) -> Parts | None:
    """Decompose an instance of a user's class, or of an open one, into its attributes."""
    kind = type(value)
    is_open = isinstance(value, _OPEN)
    if not is_open and (code_facts.is_library(kind.__module__) or kind.__module__ == "builtins"):
        return None
    new = types.SimpleNamespace.__new__ if isinstance(value, _OPEN[0]) else object.__new__
    slots = [s for owner in kind.__mro__ for s in slots_of(owner) if hasattr(value, s)]
    names = [*slots, *getattr(value, "__dict__", ())]
    if not names or isinstance(value, type):
        return None
    children = [getattr(value, s) for s in slots] + list(getattr(value, "__dict__", {}).values())

    def build(makers: Makers, keep: Callable[[Any], None]) -> Any:
        copy = new(kind)
        keep(copy)
        for number, name in enumerate(names):
            child = makers[number]() if number in makers else children[number]
            if number < len(slots):
                object.__setattr__(copy, name, child)
            else:
                copy.__dict__[name] = child
        return copy

    return Parts((kind, tuple(names)), children, build)


def reaches(value: Any, ids: Mapping[int, bool], path: str, seen: dict[int, Any]) -> bool:
    """Whether a value refers to an object whose id is in ``ids``, as ``ids_of`` returns them.

    Raises TypeError if it refers to the array of a parameter that is no attribute, or to one of
    other modules.
    """
    value = referent_of(value)
    if isinstance(value, ModuleArray):
        return attribute_of(value, ids, path) is not None
    if id(value) in ids:
        if ids[id(value)] and nested_arguments.is_array(value):
            raise TypeError(
                f"{path.lstrip('.')}: a callable must hold modules, not the arrays of their "
                "parameters, which load_state_dict and optimizers replace; let it read the "
                f"attribute of the module, got one that holds a parameter of shape {value.shape}"
            )
        return True
    if id(value) in seen or _is_simple(value):
        return False
    seen[id(value)] = value  # kept alive, so that its id is unique
    if is_module(value):
        attrs = value.__dict__
        children = [v for n, v in attrs.items() if n not in ("_parameters", "_buffers", "_lent")]
        if any(id(v) in ids for v in attrs["_parameters"].values() if v is not None):
            return True
    else:
        node = tree.opened(value)
        parts = parts_of(value) if node is None else node
        children = [] if parts is None else list(parts.children)
    # Every child must be checked for parameters, so no short circuit.
    flags = [reaches(child, ids, path, seen) for child in children]
    return any(flags)


def is_opaque(value: Any, depth: int = 3) -> bool:
    """Whether a value may refer to modules that ``parts_of`` does not find."""
    if _is_simple(value) or isinstance(value, (float, complex)):
        return False
    if not isinstance(value, types.FunctionType) or not depth:
        return True
    cells = [c.cell_contents for c in value.__closure__ or () if _is_filled(c)]
    defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
    return any(is_opaque(v, depth - 1) for v in (*cells, *defaults, *value.__dict__.values()))


def _is_simple(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, (bool, int, float, str, bytes, type, types.ModuleType, Tensor))
        or nested_arguments.is_array(value)
        or arguments.operation_of(value) is not None
    )


def attribute_of(value: ModuleArray, ids: Mapping[int, bool], path: str) -> Any:
    """Return the parameter or buffer that an array belongs to in some modules; None if none.

    Raises TypeError if it is a parameter of other modules, which no gradient would reach.
    """
    for (_, name), owner in value.owners.items():
        module = owner()
        if module is not None and id(module) in ids and module._array(name) is not None:
            return module._array(name)
    if id(value.plain) in ids:
        return value.plain
    if value.is_parameter:
        raise TypeError(
            f"{path.lstrip('.')} must hold parameters of the module and its submodules only; "
            "register the other module, or assign the parameter to an attribute, got one of "
            f"another module, of shape {value.shape}"
        )
    return None


def leads_to_modules(kind: type) -> bool:
    """Whether attributes of a user's class are modules, which copies of a module share."""
    owners = [c for c in kind.__mro__ if not code_facts.is_library(c.__module__)]
    return any(is_module(v) for owner in owners for v in vars(owner).values())


def methods_of(kind: type, first: str = "forward") -> list[Any]:
    """Return a method of a user's class and the methods that it calls by name."""
    pending, methods, names = [first], [], {first}
    while pending:
        name = pending.pop()
        for owner in kind.__mro__:
            content = vars(owner).get(name)
            if code_facts.is_library(owner.__module__) or not isinstance(
                content, types.FunctionType
            ):
                continue
            methods.append(content)
            new = {n for n in code_facts.facts_of(content.__code__).names if hasattr(kind, n)}
            pending += sorted(new - names)
            names |= new
    return methods

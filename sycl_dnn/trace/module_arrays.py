# SPDX-License-Identifier: Apache-2.0
"""Arrays as torch code sees them while a module is built, and as modules return them.

They are always dpnp arrays with torch's additional methods (``dim``, ``numel``, ``float``,
``normal_``), and so are the results of their methods and operators. Where names mean different
things in the two (``transpose``, ``max``, ``std``), and for operators, torch's meaning applies
while one of the ``BUILDERS`` of a module runs, and dpnp's otherwise.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import dpnp
import numpy as np

from sycl_dnn import _torch_habits
from sycl_dnn._dpnp import Lacking, array_of_class, asnumpy, bits_as, replace_array
from sycl_dnn.trace import array_writes, functions, indexing, policy
from sycl_dnn.trace.array import array_method
from sycl_dnn.trace.array_device import device_on
from sycl_dnn.trace.torch_methods import (
    FACTS,
    NUMPY_WORDS,
    SWITCHED,
    Size,
    depths,
    has_torch_methods,
    in_torch_words,
    is_building,
    viewed,
)
from sycl_dnn.trace.trace_state import running_trace

#: Methods of modules that create or change weights, in whose bodies arrays have torch's methods.
BUILDERS = ("__init__", "eval", "reset_parameters", "train")


def is_in_builder() -> bool:
    """Whether one of ``BUILDERS`` runs in this thread."""
    return threading.get_ident() in depths


def set_tensor_methods(enabled: bool = True) -> None:
    """Set, for the whole process, whether arrays have torch's methods everywhere.

    Results of functions, modules and transforms then have the methods and operators that they have
    inside modules: ``x.view(-1)``, ``x.transpose(0, 1)``, ``x.max(1)``, ``x.std()`` mean what they
    mean in torch, also in functions that ``grad`` and ``compile`` trace. Arrays that dpnp itself
    returns keep dpnp's.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn.nn import torch_names as torch
    >>> torch.set_tensor_methods()
    >>> values, indices = torch.tensor([[1.0, 3.0], [2.0, 0.0]]).max(1)
    >>> values.tolist(), indices.tolist()
    ([3.0, 2.0], [1, 0])
    >>> sycl_dnn.grad(lambda x: x.view(2).pow(2).sum())(torch.ones(2, 1)).tolist()
    [[2.0], [2.0]]
    >>> torch.set_tensor_methods(False)
    """
    policy.set_torch_methods(enabled)
    depths[None] = 1


@contextlib.contextmanager
def building() -> Iterator[None]:
    """Give new arrays torch's methods inside a ``with`` block."""
    thread = threading.get_ident()
    before = depths.get(thread, 0)
    depths[thread] = before + 1
    try:
        yield
    finally:
        if before:
            depths[thread] = before
        else:
            del depths[thread]


def built(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of a module so that arrays have torch's methods in its body."""

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        with building():
            return method(self, *args, **kwargs)

    return wrapper


def in_manner(value: Any) -> Any:
    """Return a result as the running code expects it: with torch's methods in ``BUILDERS``."""
    return with_methods(value) if is_building() else value


def with_methods(value: Any) -> Any:
    """Return a result whose arrays have torch's additional methods."""
    if type(value) is dpnp.ndarray:
        return handed(value)
    if isinstance(value, (tuple, list)):
        items = map(with_methods, value)
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if type(value) is dict:
        return {key: with_methods(item) for key, item in value.items()}
    return value


# By the address of the array that each represents and keeps alive.
_handed: weakref.WeakValueDictionary[int, ModuleArray] = weakref.WeakValueDictionary()


def handed(array: Any) -> Any:
    """Return a dpnp array with torch's methods, the same object as long as it is alive."""
    if type(array) is not dpnp.ndarray:
        return array
    array_of_torch = _handed.get(id(array))
    if array_of_torch is None:
        array_of_torch = _handed[id(array)] = represented(array)
    return array_of_torch


def represented(array: Any) -> ModuleArray:
    """Return a new array with torch's methods over a dpnp array, which no module has handed out."""
    array_of_torch = array_of_class(ModuleArray, array.get_array())
    array_of_torch.plain, array_of_torch.owners = array, {}
    return array_of_torch  # type: ignore[no-any-return]


def is_handed(array: Any) -> bool:
    """Whether a dpnp array is represented by one with torch's methods."""
    return id(array) in _handed


def plain(value: Any) -> Any:
    """Return the array that one with torch's methods represents; all else unchanged."""
    return value.plain if type(value) is ModuleArray else value


def without_methods(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arguments with the arrays that those with torch's methods represent."""
    return tuple(map(plain, args)) if any(type(v) is ModuleArray for v in args) else args


def _traced(array: Any) -> Any:
    """Return the object whose methods apply: the tensor of an array while a forward is traced.

    Outside of one, an ``Array`` that has replaced a dpnp array, else None.
    """
    trace = running_trace() if has_torch_methods() else None
    if trace is not None:
        return trace.capture(array.plain)
    return None if type(array.plain) is dpnp.ndarray else array.plain


def _has(tensor: Any, array: Any, name: str) -> bool:
    """Whether ``_traced`` has the attribute; an ``Array`` has fewer than traced tensors."""
    return tensor is not None and (tensor is not array.plain or hasattr(type(tensor), name))


def _or_traced(name: str) -> Callable[[Any], Any]:
    """Return a decorator of a method: the tensor's of this name if ``_traced`` returns one."""

    def decorated(method: Any) -> Any:
        @functools.wraps(method)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            tensor = _traced(self)
            if _has(tensor, self, name):
                result = getattr(tensor, name)(*args, **kwargs)
                return self if result is self.plain else result
            return method(self, *args, **kwargs)

        return wrapper

    return decorated


def _as_torch(name: str) -> Any:
    """Return a method that is torch's in ``BUILDERS``, unless called with NumPy's keywords."""

    @_or_traced(name)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs = in_torch_words(kwargs)
        if not is_building() or not NUMPY_WORDS.isdisjoint(kwargs):
            result = getattr(dpnp.ndarray, name)(self.plain, *map(plain, args), **kwargs)
            if result is None:  # dpnp sorts in place
                array_writes.note(self.plain)
            return with_methods(result)
        function = SWITCHED.get(name) or functions.method(name)
        return with_methods(function(self, *args, **kwargs))

    method.__name__ = name
    method.__doc__ = f"As ``Tensor.{name}`` of torch in ``__init__`` of modules, else as dpnp's."
    return method


def _as_dpnp(name: str) -> Any:
    """Return a method that is dpnp's, whose result has torch's methods."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = tuple(map(plain, args)), {n: plain(v) for n, v in kwargs.items()}
        return with_methods(getattr(dpnp.ndarray, name)(self.plain, *args, **kwargs))

    method.__name__ = name
    method.__doc__ = "As dpnp's."
    return method


def _of_either(name: str) -> Any:
    """Return dpnp's method, or the method of an ``Array`` that has replaced the array."""
    method = getattr(dpnp.ndarray, name)
    return lambda self, *args: (
        method(self, *args)
        if type(self.plain) is dpnp.ndarray
        else getattr(self.plain, name)(*args)
    )


def _of_values(name: str) -> Any:
    """Return a method of an array's values in NumPy; an ``Array`` has its own."""

    def method(self: Any, *args: Any) -> Any:
        if type(self.plain) is not dpnp.ndarray:
            return getattr(self.plain, name)(*args)
        values = asnumpy(self.plain)
        return values if name == "asnumpy" else getattr(values, name)(*args)

    return method


def _writing(name: str) -> Any:
    """Return a method that is dpnp's and writes to the array."""
    written = getattr(dpnp.ndarray, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return written(self, *args, **kwargs)
        finally:
            array_writes.note(self.plain)

    method.__name__, method.__doc__ = name, "As dpnp's."
    return method


def _attribute(name: str, doc: str) -> Any:
    """Return a property that is dpnp's; while a forward is traced, the tensor's."""

    def value(self: Any) -> Any:
        tensor = _traced(self)
        return (
            getattr(tensor, name) if tensor is not None else with_methods(getattr(self.plain, name))
        )

    return property(value, doc=doc)


def _operator(name: str, function: str, *, is_reflected: bool = False) -> Any:
    operator = getattr(dpnp.ndarray, name)

    @_or_traced(name)
    def method(self: Any, other: Any) -> Any:
        if is_building():
            operands = (other, self) if is_reflected else (self, other)
            return with_methods(getattr(functions, function)(*operands))
        return with_methods(operator(self.plain, plain(other)))

    method.__name__ = name
    method.__doc__ = f"As ``sycl_dnn.functional.{function}`` in ``__init__``, else as dpnp's."
    return method


#: Functions of Python's operators, by their names without underscores.
_OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "pow": "pow", "matmul": "matmul", "truediv": "div",
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip

_LISTS = (list, range, tuple, np.ndarray)
#: Attributes of dpnp's arrays that are arrays, with their descriptions.
_ATTRIBUTES = {
    "T": "The array with its axes reversed.", "mT": "Matrices with their axes exchanged.",
    "imag": "The imaginary parts, as dpnp's.", "real": "The real parts, as dpnp's.",
}  # fmt: skip


class ModuleArray(dpnp.ndarray):  # type: ignore[misc]
    """A dpnp array with torch's additional methods; modules keep the array that it represents."""

    #: The dpnp array over the same memory, or the ``Array`` that has replaced it.
    plain: Any
    #: The modules that returned it, with its name in each.
    owners: dict[tuple[int, str], weakref.ref[Any]]
    __hash__ = object.__hash__

    for _name in (*SWITCHED, "clip", "dot", "ravel", "round", "swapaxes", "take"):
        locals()[_name] = _as_torch(_name)
    for _name in ("__abs__", "astype", "copy"):
        locals()[_name] = _or_traced(_name)(_as_dpnp(_name))
    for _name in ("__divmod__", "__rdivmod__", "choose", "compress", "trace"):
        locals()[_name] = _as_dpnp(_name)
    for _name, _doc in _ATTRIBUTES.items():
        locals()[_name] = _attribute(_name, _doc)
    for _name, _function in _OPERATORS.items():
        locals()[f"__{_name}__"] = _operator(f"__{_name}__", _function)
        locals()[f"__r{_name}__"] = _operator(f"__r{_name}__", _function, is_reflected=True)
        locals()[f"__i{_name}__"] = _or_traced(f"__i{_name}__")(_writing(f"__i{_name}__"))
    for _name in ("fill", "partition", "put"):
        locals()[_name] = _or_traced(_name)(_writing(_name))
    for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
        locals()[f"__{_name}__"] = _operator(f"__{_name}__", _name)
    for _name in ("__array__", "__repr__", "__str__", "asnumpy", "item", "tolist"):
        locals()[_name] = (_of_either if _name.startswith("_") else _of_values)(_name)
    __neg__ = _or_traced("__neg__")(lambda self: with_methods(-self.plain))
    __invert__ = _or_traced("__invert__")(lambda self: with_methods(~self.plain))
    del _name, _doc, _function

    def get_array(self) -> Any:
        """As dpnp's; dpnp's functions start with it."""
        array = super().get_array()
        return array.refuse() if isinstance(array, Lacking) else array

    def _key(self, key: Any) -> Any:
        """Return a key as dpnp takes it: sequences, torch's indices or masks, as arrays."""
        items = key if isinstance(key, tuple) else (key,)
        if any(isinstance(item, _LISTS) for item in items):  # dpnp clips them
            indexing.check_numbers(self.shape, indexing.full_key(self.plain, key))
        return tuple(map(self._item, items)) if isinstance(key, tuple) else self._item(key)

    def _item(self, item: Any) -> Any:
        if not isinstance(item, _LISTS):
            return plain(item)
        indices = item if len(item) else np.empty(0, np.int64)
        return dpnp.asarray(indices, sycl_queue=self.sycl_queue)

    @_or_traced("__getitem__")
    def __getitem__(self, key: Any) -> Any:
        return with_methods(functions.items_of(self.plain, self._key(key)))

    @_or_traced("__setitem__")
    def __setitem__(self, key: Any, value: Any) -> None:
        functions.put_items(self.plain, plain(value), self._key(key))

    def __getattr__(self, name: str) -> Any:
        is_own = name.startswith("_") or name in ("plain", "owners")
        tensor = None if is_own else _traced(self)
        if _has(tensor, self, name):
            return getattr(tensor, name)
        if name in FACTS:
            return with_methods(FACTS[name](self))
        function = None if is_own else array_method(name)
        if function is None:
            raise _torch_habits.missing("array", f"'{type(self).__name__}' object", name)
        return lambda *args, **kwargs: with_methods(function(self, *args, **kwargs))

    def __reduce__(self) -> Any:
        return handed, (self.plain,)

    def __deepcopy__(self, memo: Any) -> Any:
        return with_methods(functions.copied(self.plain))

    @property
    def size(self) -> Any:
        """Number of elements; ``size()`` is the shape, as in torch."""
        return Size(self.plain.shape)

    @property
    def data(self) -> Any:
        """The array itself, as torch code expects; setting it writes into the array.

        Values of another shape or dtype replace it in the modules that have it.
        """
        return self

    @data.setter
    def data(self, value: Any) -> None:
        value = plain(value)
        if value is self.plain:
            return
        if not hasattr(value, "shape"):
            raise TypeError(f"data must be an array, got {type(value).__name__}")
        if value.shape == self.shape and value.dtype == self.dtype:
            array_writes.assign(self.plain, value)
            return
        owned = self.in_modules()
        if not owned:
            raise ValueError(
                f"data must have shape {self.shape} and dtype {self.dtype}, got {value.shape} and "
                f"{value.dtype}"
            )
        for module, name in owned:
            module._rebind(name, value)

    @property
    def grad(self) -> None:
        """None, since ``grad`` and ``vjp`` return gradients; it can be set to None."""
        return

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            raise AttributeError(
                "grad must be None: sycl_dnn.grad and value_and_grad return gradients, and "
                f"optimizers are given them, got {type(value).__name__}"
            )

    def represent(self, array: Any) -> None:
        """Represent another dpnp array: the one that replaced this one in its module."""
        if _handed.get(id(self.plain)) is self:
            del _handed[id(self.plain)]
        self.plain = array
        if type(array) is dpnp.ndarray:
            replace_array(self, array.get_array())
            _handed.setdefault(id(array), self)
        else:
            replace_array(self, Lacking(array))

    def in_modules(self) -> list[tuple[Any, str]]:
        """Return the modules that have the array, with its names."""
        owners = [(owner(), name) for (_, name), owner in self.owners.items()]
        return [(m, n) for m, n in owners if m is not None and m._array(n) is self.plain]

    def _trained(self) -> list[tuple[Any, str]]:
        """Return the modules that have the array as a parameter, with its names."""
        return [(module, name) for module, name in self.in_modules() if name in module._parameters]

    @property
    def is_parameter(self) -> bool:
        """Whether a module has it as a parameter."""
        return bool(self._trained())

    @property
    def requires_grad(self) -> bool:
        """Whether it is a parameter that is not frozen; setting it freezes it, or undoes that."""
        return any(name not in module._frozen for module, name in self._trained())

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        owned = self._trained()
        if not owned and value and not is_in_builder():
            raise RuntimeError(
                "requires_grad: only parameters of modules can be trained; make a nn.Parameter"
            )
        for module, name in owned:
            module._set_frozen(name, not value)

    def requires_grad_(self, requires_grad: bool = True) -> ModuleArray:
        """Set ``requires_grad``."""
        self.requires_grad = requires_grad
        return self

    @property
    def device(self) -> Any:
        """The device, with torch's ``type`` and ``index``."""
        return device_on(self.sycl_queue)

    @_or_traced("view")
    def view(self, *sizes: Any, **kwargs: Any) -> Any:
        """Return the elements in another shape; with a dtype as dpnp's method."""
        sizes = (kwargs.pop("size"),) if "size" in kwargs else sizes
        first = sizes[0] if sizes else None
        if isinstance(first, (int, tuple, list)):
            return with_methods(viewed(self, sizes))
        return with_methods(bits_as(self.plain, *sizes, **kwargs))

    @_or_traced("reshape")
    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """As dpnp's, or ``reshape(shape=...)`` as torch's."""
        return with_methods(self.plain.reshape(*kwargs.pop("shape", shape), **kwargs))

# SPDX-License-Identifier: Apache-2.0
"""What traced arrays refuse: their values and their memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class NeedsArrays(TypeError):
    """A traced function needs the values of an array, or writes to its memory."""


class NeedsTape(NeedsArrays):
    """A traced function asks for gradients of its earlier calls, which its trace lacks."""


def value_of(reader: str, tensor: Any, refusal: str) -> Any:
    """Return the array of a tensor, after computing the calls of its function so far.

    Raises NeedsArrays if the function is traced, not run, and the tensor depends on an array;
    ``refusal`` is the message.
    """
    trace = tensor.trace
    if hasattr(trace, "evaluated"):
        return trace.evaluated(tensor, reader)
    value = trace.independent_value(tensor) if hasattr(trace, "independent_value") else None
    if value is None:
        raise NeedsArrays(refusal)
    return value


VALUES = (
    "the values of an array are not known while a function is traced; functions given to plan "
    "and compile must not depend on them"
)
_SHAPE = (
    "the shape of the result depends on values, which are not known while a function is traced; "
    "use sycl_dnn.functional.where"
)
_MEMORY = "a traced array has no memory while a function is traced"
_WRITES = (
    "a traced array cannot be written to; use sycl_dnn.functional.where, sycl_dnn.functional.cat "
    "or a function that returns a new array"
)

#: Methods of arrays that need their values.
OF_VALUES = (
    "__array__", "__bool__", "__complex__", "__contains__", "__float__", "__index__", "__int__",
    "asnumpy", "item", "tolist",
)  # fmt: skip
#: Those that make a Python number of one element.
_SINGLE = frozenset(("__bool__", "__complex__", "__float__", "__index__", "__int__"))
#: Methods of dpnp's arrays that are refused, or computed if values are known, with the reason.
REFUSED = {
    "__array__": VALUES, "__bool__": VALUES, "__bytes__": VALUES, "__complex__": VALUES,
    "__contains__": VALUES, "__float__": VALUES, "__index__": VALUES, "__int__": VALUES,
    "asnumpy": VALUES, "item": VALUES, "tobytes": VALUES, "tofile": VALUES,
    "tolist": VALUES,
    "compress": _SHAPE, "put": _WRITES,
    "partition": f"{_WRITES}, as sycl_dnn.array_function with dpnp.partition",
    "sort": f"{_WRITES}, as sycl_dnn.array_function with dpnp.sort",
    "__dlpack__": _MEMORY, "__dlpack_device__": _MEMORY, "__reduce__": _MEMORY,
    "__reduce_ex__": _MEMORY, "to_device": f"{_MEMORY}, it runs where the arguments are",
    "choose": "use sycl_dnn.functional.where",
    "__array_namespace__": "the functions for traced arrays are those of sycl_dnn.functional",
}  # fmt: skip

#: Attributes of dpnp's arrays that are refused, with the reason.
NO_ATTRIBUTES = {
    "data": _MEMORY, "flags": _MEMORY, "flat": f"{_MEMORY}; use ravel()",
    "usm_type": _MEMORY, "__sycl_usm_array_interface__": _MEMORY, "__usm_ndarray__": _MEMORY,
    "_array_obj": _MEMORY,
}  # fmt: skip

#: Names of operations on values in their errors.
_SHOWN_TENSOR_METHODS = {
    "__array__": "conversion to NumPy", "__bool__": "bool()", "__bytes__": "bytes()",
    "__complex__": "complex()", "__contains__": "in", "__float__": "float()",
    "__index__": "use as an index", "__int__": "int()",
    "__reduce__": "pickling", "__reduce_ex__": "pickling", "__dlpack__": "__dlpack__()",
}  # fmt: skip


def refusal(name: str) -> str:
    """Return the message of a refused method."""
    return f"{_SHOWN_TENSOR_METHODS.get(name, f'{name}()')}: {REFUSED[name]}"


def method_of_values(name: str) -> Any:
    """Return a method of the values, for which the earlier calls are computed."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        value = value_of(name, self, refusal(name))
        if name in _SINGLE and self.ndim and self.size == 1:  # as torch; dpnp takes no axes
            value = value.reshape(())
        return getattr(value, name)(*args, **kwargs)

    method.__name__ = name
    method.__doc__ = "As of the array: what the function did so far is computed for it."
    method.is_refused = True  # type: ignore[attr-defined]
    return method


def refused_method(name: str) -> Any:
    """Return a method that raises TypeError with the reason."""
    text = refusal(name)
    error = NeedsArrays if REFUSED[name] in (VALUES, _SHAPE, _WRITES) else TypeError

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise error(text)

    method.__name__ = name
    method.__doc__ = "Refused: raises TypeError that says why."
    method.is_refused = True  # type: ignore[attr-defined]
    return method


def refused_attribute(name: str) -> Any:
    """Return a property that raises AttributeError with the reason."""

    def read(self: Any) -> Any:
        raise AttributeError(f"{name}: {NO_ATTRIBUTES[name]}")

    return property(read, doc="Refused: raises AttributeError that says why.")


def no_gradient(name: str) -> Callable[..., Any]:
    """Return the gradient rule of an operation without a gradient."""

    def rule(entry: Any, grads: Any) -> Any:
        raise NotImplementedError(f"vjp: {name} has no gradient")

    return rule

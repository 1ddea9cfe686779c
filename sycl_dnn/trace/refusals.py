# SPDX-License-Identifier: Apache-2.0
"""What traced arrays refuse: values, memory, functions of other libraries."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np


class NeedsArrays(TypeError):
    """A traced function needs the values of an array, or writes to its memory."""


class NeedsTape(NeedsArrays):
    """A traced function asks for gradients of its earlier calls, which its trace lacks."""


def value_of(reader: str, tensor: Any, refusal: str) -> Any:
    """Return the array of a tensor, after computing the calls of its function so far.

    Raises
    ------
    NeedsArrays
        The function is traced, not run, and the tensor depends on an array; ``refusal`` is the
        message.
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


# --- dpnp's and NumPy's functions on a traced array: an error that says what to call

#: dpnp's and NumPy's functions whose counterparts here have other names.
NAMES = {
    "absolute": "abs", "astype": "astype", "clip": "clamp", "concat": "cat", "concatenate": "cat",
    "divide": "div", "dot": "matmul", "equal": "eq", "expand_dims": "unsqueeze",
    "greater": "gt", "greater_equal": "ge", "inner": "matmul", "less": "lt", "less_equal": "le",
    "linalg_norm": "norm", "matrix_transpose": "transpose", "max": "amax", "min": "amin",
    "moveaxis": "permute", "multiply": "mul", "negative": "neg", "not_equal": "ne",
    "permute_dims": "permute", "power": "pow", "ravel": "flatten", "subtract": "sub",
    "swapaxes": "transpose", "transpose": "permute", "true_divide": "div", "truediv": "div",
}  # fmt: skip

#: Universal functions that correspond to Python's operators.
_OPERATORS = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "true_divide": operator.truediv, "power": operator.pow,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "divmod": divmod,
    "matmul": operator.matmul, "less": operator.lt, "less_equal": operator.le,
    "greater": operator.gt, "greater_equal": operator.ge, "equal": operator.eq,
    "not_equal": operator.ne, "bitwise_and": operator.and_, "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor, "left_shift": operator.lshift, "right_shift": operator.rshift,
}  # fmt: skip


def instead(name: str) -> str:
    """Return the function to call in place of another library's function of this name."""
    from sycl_dnn.trace import functions
    from sycl_dnn.trace.array_methods import ArrayMethods

    if name == "__getitem__":
        return "sycl_dnn.functional.index_select or take, or pass the array as an argument"
    if name == "__setitem__":
        return "sycl_dnn.functional.where or sycl_dnn.functional.cat, which make a new array"
    if name in _SIGNS:
        return f"the operator that makes a new array, as in a = a {_SIGNS[name]} b"
    plain = name.removeprefix("r")
    for candidate in (NAMES.get(name), name, NAMES.get(plain), plain):
        found = functions.public_name(candidate) if candidate else None
        if found:
            return f"sycl_dnn.functional.{found}"
    if name in vars(ArrayMethods) and not getattr(vars(ArrayMethods)[name], "is_refused", False):
        return f"the array's own method {name}"
    return "sycl_dnn.array_function, which runs functions of dpnp's while a function is traced"


#: dpnp's operators that write to their left operand.
_SIGNS = {
    "__iadd__": "+", "__isub__": "-", "__imul__": "*", "__itruediv__": "/", "__ipow__": "**",
    "__imatmul__": "@", "__ifloordiv__": "//", "__imod__": "%", "__iand__": "&",
    "__ior__": "|", "__ixor__": "^", "__ilshift__": "<<", "__irshift__": ">>",
}  # fmt: skip


_SHOWN_FOREIGN_FUNCTIONS = {"__setitem__": "assignment to elements of an array"} | {
    name: f"{sign}= on an array" for name, sign in _SIGNS.items()
}


def _refusal(library: str, name: str) -> TypeError:
    title = _SHOWN_FOREIGN_FUNCTIONS.get(name, f"{library}.{name}")
    return TypeError(f"{title} accepts no traced arrays; use {instead(name)}")


def function_name(frame: FrameType) -> str:
    """Return the name of the function that runs in a frame."""
    if frame.f_code.co_name == "__call__":
        called = frame.f_locals.get("self")
        return str(getattr(called, "name_", getattr(called, "__name__", "a function")))
    return frame.f_code.co_name


def _caller() -> str | None:
    """Return the name of the outermost function of dpnp that called us."""
    frame: FrameType | None = sys._getframe(2)
    outermost = None
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package != "dpnp":
            break
        outermost, frame = frame, frame.f_back
    return None if outermost is None else function_name(outermost)


class ForeignFunctions:
    """Refuses other libraries' functions by name; accepts NumPy's numbers as left operands."""

    __slots__ = ()

    def get_array(self) -> Any:
        """Raise TypeError: a traced array has no memory."""
        name = _caller()
        if name is not None:
            raise _refusal("dpnp", name)
        raise TypeError("get_array(): a traced array has no memory while a function is traced")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Compute with a NumPy number; raise TypeError for called functions."""
        function = _OPERATORS.get(ufunc.__name__)
        others = [v for v in inputs if isinstance(v, (np.generic, np.ndarray)) and not v.ndim]
        is_operator = method == "__call__" and not kwargs and len(inputs) == 2 and len(others) == 1
        if function is None or not is_operator:
            raise _refusal("numpy", ufunc.__name__)
        return function(*(v.item() if v is others[0] else v for v in inputs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Raise a TypeError that names the function to call."""
        raise _refusal("numpy", function.__name__)

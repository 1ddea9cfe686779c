# SPDX-License-Identifier: Apache-2.0
"""dpnp's and NumPy's functions on a traced array: an error that says what to call."""

from __future__ import annotations

import operator
import sys
from types import FrameType
from typing import Any

import numpy as np

from sycl_dnn.trace import functions
from sycl_dnn.trace.array_methods import ArrayMethods

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

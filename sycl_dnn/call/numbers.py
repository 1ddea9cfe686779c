# SPDX-License-Identifier: Apache-2.0
"""Python floats among the arguments of a user's function: values of each call, not of the plan.

While a function is traced a ``Number`` stands for each. Combined with numbers it is an expression
that each call evaluates; combined with arrays it becomes an argument of the program. Where the
function needs the value itself, ``Specialise`` starts the trace again with that number fixed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sycl_dnn.call import nesting
from sycl_dnn.dispatch import allocation, functions
from sycl_dnn.dispatch.tensor import Tensor

Values = Sequence[float]

#: Functions of the layer that take an array without axes wherever they take a number.
_TAKE_ARRAYS = frozenset(
    ("add", "sub", "mul", "div", "maximum", "minimum", "gt", "ge", "lt", "le", "eq", "ne")
)
_DYNAMIC = ("float32", "float64")


class Specialise(BaseException):
    """A function needs the values of these numbers; not an Exception, so nobody catches it."""

    def __init__(self, numbers: frozenset[int]) -> None:
        super().__init__("a traced function needs the value of a number")
        self.numbers = numbers


def _arithmetic(function: Callable[..., Any], name: str, *, is_reflected: bool = False) -> Any:
    def method(self: Number, other: Any) -> Any:
        if nesting.is_array(other) or isinstance(other, Tensor):
            operands = (other, self) if is_reflected else (self, other)
            return getattr(functions, name)(*operands)
        if isinstance(other, (bool, int, float, np.number)):
            return self._with(function, other, is_reflected)
        return NotImplemented

    return method


def _needs_value(name: str) -> Any:
    def method(self: Number, *args: Any) -> Any:
        raise Specialise(self._reads)

    method.__name__ = name
    return method


class Number:
    """A float of a call, while the function that takes it is traced."""

    __slots__ = ("_evaluate", "_reads", "trace")
    __array_ufunc__ = None

    def __init__(
        self, trace: Any, reads: frozenset[int], evaluate: Callable[[Values], float]
    ) -> None:
        self.trace = trace
        #: Numbers of the call that the value depends on.
        self._reads = reads
        self._evaluate = evaluate

    @classmethod
    def of_call(cls, trace: Any, number: int) -> Number:
        """Return what stands for a number of the call."""
        return cls(trace, frozenset((number,)), operator.itemgetter(number))

    # Functions that ask whether it is a float shall find one.
    __class__ = property(lambda self: float)  # type: ignore[assignment]

    def _with(self, function: Callable[..., Any], other: Any, is_reflected: bool) -> Number:
        mine = self._evaluate
        if type(other) is Number:
            theirs, reads = other._evaluate, self._reads | other._reads
        else:
            theirs, reads = (lambda values: other), self._reads
        left, right = (theirs, mine) if is_reflected else (mine, theirs)
        return Number(self.trace, reads, lambda values: function(left(values), right(values)))

    def _of(self, function: Callable[..., Any]) -> Number:
        mine = self._evaluate
        return Number(self.trace, self._reads, lambda values: function(mine(values)))

    def array(self, dtype: str) -> Tensor:
        """Return a traced array without axes that holds the value."""
        if dtype not in _DYNAMIC:
            raise Specialise(self._reads)
        index = len(self.trace.arguments)
        made = self.trace.argument((), dtype, ())
        self.trace.tail[index] = FromNumber(self._evaluate, dtype)
        return made

    __add__ = _arithmetic(operator.add, "add")
    __radd__ = _arithmetic(operator.add, "add", is_reflected=True)
    __sub__ = _arithmetic(operator.sub, "sub")
    __rsub__ = _arithmetic(operator.sub, "sub", is_reflected=True)
    __mul__ = _arithmetic(operator.mul, "mul")
    __rmul__ = _arithmetic(operator.mul, "mul", is_reflected=True)
    __truediv__ = _arithmetic(operator.truediv, "div")
    __rtruediv__ = _arithmetic(operator.truediv, "div", is_reflected=True)
    __pow__ = _arithmetic(operator.pow, "pow")
    __rpow__ = _arithmetic(operator.pow, "pow", is_reflected=True)

    def __neg__(self) -> Number:
        return self._of(operator.neg)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return self._of(abs)

    def __getattr__(self, name: str) -> Any:
        if hasattr(float, name):
            raise Specialise(self._reads)
        raise AttributeError(f"'float' object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"Number({sorted(self._reads)})"


_SPECIAL = (
    "__bool__", "__ceil__", "__complex__", "__divmod__", "__eq__", "__float__", "__floor__",
    "__floordiv__", "__format__", "__ge__", "__gt__", "__hash__", "__index__", "__int__", "__le__",
    "__lt__", "__mod__", "__ne__", "__rdivmod__", "__rfloordiv__", "__rmod__", "__round__",
    "__str__", "__trunc__",
)  # fmt: skip
for _name in _SPECIAL:
    setattr(Number, _name, _needs_value(_name))


class FromNumber:
    """An argument of a program that holds what an expression of a call's numbers gives."""

    __slots__ = ("_evaluate", "dtype")

    def __init__(self, evaluate: Callable[[Values], float], dtype: str) -> None:
        self._evaluate = evaluate
        self.dtype = np.dtype(dtype)

    def array(self, values: Values, queue: Any) -> Any:
        """Return a new array without axes; nobody else writes to it."""
        return allocation.scalar(self._evaluate(values), self.dtype, queue)


def in_arrays(name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Return the arguments of a function of the layer with arrays for numbers, where it may be."""
    numbers = [v for v in (*args, *kwargs.values()) if type(v) is Number]
    if not numbers or name not in _TAKE_ARRAYS:
        return args, kwargs
    alpha = kwargs.get("alpha")
    if type(alpha) is Number:
        first, second = args
        return in_arrays(name, (first, functions.mul(second, alpha)), {})
    kinds = [v.dtype for v in (*args, *kwargs.values()) if isinstance(v, Tensor)]
    kind = next((str(k) for k in kinds if str(k).startswith(("float", "bfloat"))), "float32")

    def swap(value: Any) -> Any:
        return value.array(kind) if type(value) is Number else value

    return [swap(v) for v in args], {n: swap(v) for n, v in kwargs.items()}

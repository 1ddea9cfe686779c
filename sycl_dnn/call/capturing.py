# SPDX-License-Identifier: Apache-2.0
"""Trace a user function: its captures and float arguments become arguments of the program.

While a function is traced a ``Number`` stands for each float. Combined with numbers it is an
expression that each call evaluates; combined with arrays it becomes an argument of the program.
Where the function needs the value itself, ``Specialise`` restarts the trace with that number fixed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sycl_dnn import tree
from sycl_dnn.trace import functions, nested_arguments
from sycl_dnn.trace.frozen import Seed
from sycl_dnn.trace.values import Tensor

Values = Sequence[float]

#: Functions of the layer that take an array without axes wherever they take a number.
_TAKE_ARRAYS = frozenset(
    ("add", "sub", "mul", "div", "maximum", "minimum", "gt", "ge", "lt", "le", "eq", "ne")
)
#: Functions that round only their result; comparisons round the number first, as in torch.
_ROUNDED_LAST = frozenset(("add", "sub", "mul", "div", "maximum", "minimum"))
_DYNAMIC = ("float32", "float64")
_NARROW = ("bfloat16", "float16")


class Specialise(BaseException):
    """A function needs the values of these numbers; not an Exception, so that it is not caught."""

    def __init__(self, numbers: frozenset[int]) -> None:
        super().__init__("a traced function needs the value of a number")
        self.numbers = numbers


def _arithmetic(function: Callable[..., Any], name: str, *, is_reflected: bool = False) -> Any:
    def method(self: Number, other: Any) -> Any:
        if nested_arguments.is_array(other) or isinstance(other, Tensor):
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

    __slots__ = ("_evaluate", "_reads", "key", "trace")
    __array_ufunc__ = None

    def __init__(
        self, trace: Any, reads: frozenset[int], evaluate: Callable[[Values], float], key: Any
    ) -> None:
        self.trace = trace
        #: Key of the expression.
        self.key = key
        #: Numbers of the call that the value depends on.
        self._reads = reads
        self._evaluate = evaluate

    @classmethod
    def of_call(cls, trace: Any, number: int) -> Number:
        """Return the representation of a number of the call."""
        return cls(trace, frozenset((number,)), operator.itemgetter(number), number)

    def on(self, trace: Any) -> Number:
        """Return the same expression for another trace."""
        return Number(trace, self._reads, self._evaluate, self.key)

    # Functions that check for a float must find one.
    __class__ = property(lambda self: float)  # type: ignore[assignment]

    def _with(self, function: Callable[..., Any], other: Any, is_reflected: bool) -> Number:
        evaluate = self._evaluate
        if type(other) is Number:
            value, reads, key = other._evaluate, self._reads | other._reads, other.key
        else:
            value, reads, key = (lambda values: other), self._reads, (type(other), repr(other))
        left, right = (value, evaluate) if is_reflected else (evaluate, value)
        keys = (key, self.key) if is_reflected else (self.key, key)
        return Number(
            self.trace, reads, lambda values: function(left(values), right(values)),
            (function, *keys),
        )  # fmt: skip

    def _of(self, function: Callable[..., Any]) -> Number:
        evaluate = self._evaluate
        return Number(
            self.trace, self._reads, lambda values: function(evaluate(values)), (function, self.key)
        )

    def array(self, dtype: str) -> Tensor:
        """Return a traced array without axes that holds the value."""
        if dtype not in _DYNAMIC:
            raise Specialise(self._reads)
        return self.trace.logged(_argument_of_number, self, dtype)

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


class FromNumber(Seed):
    """An argument of a program with the value of an expression of a call's numbers."""

    __slots__ = ("_evaluate",)

    def __init__(self, evaluate: Callable[[Values], float], dtype: str) -> None:
        super().__init__(0.0, np.dtype(dtype))
        self._evaluate = evaluate

    def drawn(self, numbers: Values = ()) -> Seed:
        """Return the value for a call whose numbers these are."""
        return Seed(self._evaluate(numbers), self.dtype)

    def bytes(self, numbers: Values = ()) -> bytes:
        """Return the value as the device reads it."""
        return np.array(self._evaluate(numbers), self.dtype).tobytes()


def _argument_of_number(number: Number, dtype: str) -> Tensor:
    return number.trace.capture(FromNumber(number._evaluate, dtype))  # type: ignore[no-any-return]


def in_arrays(name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Return the arguments of a function of the layer with arrays for numbers, where allowed."""
    numbers = [v for v in (*args, *kwargs.values()) if type(v) is Number]
    if not numbers or name not in _TAKE_ARRAYS:
        return args, kwargs
    alpha = kwargs.get("alpha")
    if type(alpha) is Number:
        first, second = args
        return in_arrays(name, (first, functions.mul(second, alpha)), {})
    kind = _dtype_beside(name, [*args, *kwargs.values()])

    def swap(value: Any) -> Any:
        return value.array(kind) if type(value) is Number else value

    return [swap(v) for v in args], {n: swap(v) for n, v in kwargs.items()}


def _dtype_beside(name: str, values: Sequence[Any]) -> str:
    """Return the dtype of an array for a number among the operands of a function."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    kinds = [str(v.dtype) for v in tensors]
    kind = next((k for k in kinds if k.startswith(("float", "bfloat"))), "float32")
    if kind in _NARROW and name in _ROUNDED_LAST and any(v.shape for v in tensors):
        return "float32"  # an array without axes changes no dtype, and arithmetic is in float32
    return kind


def takes_numbers(name: str, values: Sequence[Any]) -> bool:
    """Whether a function of these operands can take an array for each number."""
    return name in _TAKE_ARRAYS and _dtype_beside(name, values) in _DYNAMIC


def numbered(trace: Any, value: Any, static: frozenset[int]) -> Any:
    """Return nested arguments with a ``Number`` for each float that is not fixed.

    Floats are counted in the order in which ``UserCall`` notes them.
    """
    seen = [0]

    def swap(item: Any) -> Any:
        if type(item) is float or isinstance(item, np.floating):
            number = seen[0]
            seen[0] += 1
            return item if number in static else Number.of_call(trace, number)
        if isinstance(item, Tensor) or nested_arguments.is_array(item):
            return item
        node = tree.opened(item)
        if node is None or not node.children:
            return item
        return node.rebuilt([swap(v) for v in node.children])

    return swap(value)

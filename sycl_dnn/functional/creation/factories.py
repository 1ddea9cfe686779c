# SPDX-License-Identifier: Apache-2.0
"""Array factories: zeros, ones, full, eye, arange, linspace and ``*_like``."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import dpnp
import numpy as np
from dpctl.memory import USMAllocationError
from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn.call import torch_keywords
from sycl_dnn.call.operation import named, operation
from sycl_dnn.device import default_queue
from sycl_dnn.errors import OutOfMemory
from sycl_dnn.functional.arithmetic.convert import constant_call, converted
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.ir.node import Node, number
from sycl_dnn.kernels.expression import REGISTERS
from sycl_dnn.lower.complex_values import joined
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import EQ, LT, cast
from sycl_dnn.ops.arithmetic import where as select
from sycl_dnn.ops.creation import iota
from sycl_dnn.ops.shape import broadcast_to
from sycl_dnn.trace import allocation, policy
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array

#: Kernels count elements in 32 bits.
_MANY = 1 << 31
F = TypeVar("F", bound=Callable[..., Any])
#: By name: returns a traced array, ``definition(trace, *values)``.
_DEFINITIONS: dict[str, Callable[..., Tensor]] = {}
#: ``function(queue)`` returns a new array.
Maker = Callable[[Any], dpnp.ndarray]

_PLACE = """dtype : str or dtype, optional
    {dtype}; also bfloat16 and float8.
device : dpctl.SyclQueue, dpctl.SyclDevice or str, optional
    By default ``sycl_dnn.default_queue()``, or the queue of the function being traced.

Returns
-------
{returns}

Raises
------
{raises}
TypeError
    ``dtype`` is unknown.

Notes
-----
In a traced function, every call creates a new array. {notes}Source: ``torch.{name}``.
"""


def _by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """Accept torch's keywords, and ``size`` by name."""
    parameters = inspect.signature(function).parameters
    takes_sizes = "*size" in str(inspect.signature(function))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs = torch_keywords.renamed(function.__name__, parameters, args, kwargs)
        if takes_sizes and "size" in kwargs:
            if args:
                raise TypeError(f"{function.__name__}: size must be given once")
            args = (kwargs.pop("size"),)
        trace = running_trace()
        if trace is None:
            try:
                return function(*args, **kwargs)
            except USMAllocationError as error:
                raise OutOfMemory(f"{function.__name__}: no device memory for the array") from error
        return trace.logged(function, *args, **kwargs)

    return call


def documented(**words: str) -> Callable[..., Any]:
    """Return a decorator that completes the docstring of a factory with the shared text."""
    words = {"notes": "", "raises": "ValueError\n    A size is negative."} | words

    def attach(function: Callable[..., Any]) -> Any:
        text = (function.__doc__ or "").rstrip()
        lines = [line[4:] if line.startswith("    ") else line for line in text.splitlines()]
        function.__doc__ = "\n".join(lines) + "\n" + _PLACE.format(name=function.__name__, **words)
        return _by_name(function)

    return attach


def shape_of(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """Return a shape passed as one sequence or as separate integers."""
    sizes = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return tuple(checked_int(name, "size", n, 0) for n in sizes)


class _Creation:
    """A step that creates an array on the queue of the call."""

    takes_queue = True

    def __init__(self, make: Maker, name: str) -> None:
        self._make = make
        self.__qualname__ = name

    def __call__(self, queue: Any) -> dpnp.ndarray:
        return self._make(queue)


def check_place(name: str, trace: Any, device: Any) -> None:
    """Raise ExecutionPlacementError if ``device`` is not that of the traced function."""
    if device is not None and trace.has_queue and default_queue(device) != trace.queue:
        raise ExecutionPlacementError(
            f"{name}: device must be omitted while a function is traced, or be that of its arrays"
        )


def _definition(function: F) -> F:
    _DEFINITIONS[function.__name__] = function
    return function


@operation
def _created(place, definition, *values):
    return _DEFINITIONS[definition](place.trace, *values)


def place_of(name: str, shape: tuple[int, ...], queue: Any) -> dpnp.ndarray:
    """Return an array on the queue where one of this shape is created.

    Raises OutOfMemory if the device has less memory than elements.
    """
    count = math.prod(shape)
    if count >= _MANY and count > queue.sycl_device.global_mem_size:
        raise OutOfMemory(f"{name}: no device memory for the array")
    return allocation.place_on(queue)


def created(
    name: str, shape: tuple[int, ...], device: Any, definition: Callable[..., Tensor], *values: Any
) -> Any:
    """Create an array, or record its creation."""
    trace = running_trace()
    if trace is None:
        place = place_of(name, shape, default_queue(device))
        if not policy.current().debug_nans:
            return _created(place, definition.__name__, *values)
        with policy.using(debug_nans=False):  # the caller asks for NaN
            return _created(place, definition.__name__, *values)
    check_place(name, trace, device)
    return definition(trace, *values)


def recorded(name: str, trace: Any, shape: tuple[int, ...], dtype: str, make: Maker) -> Tensor:
    """Record that every call creates an array; ``make`` uses the wide dtype."""
    tensor = constant_call(trace, _Creation(make, name), [], shape, wide_of(dtype))
    return converted(tensor, dtype)


def _is_computed(dtype: str, shape: tuple[int, ...] = ()) -> bool:
    """Whether kernels can create arrays of a dtype and shape."""
    return dtype in REGISTERS and math.prod(shape) < _MANY


def _check_value(name: str, value: Any, dtype: str, argument: str = "fill_value") -> None:
    """Raise TypeError for a complex number in a real array, ValueError for one out of range."""
    if dtypes.is_complex(dtype):
        return
    if isinstance(value, complex):
        raise TypeError(f"{name}: {argument} must be real for dtype {dtype}, got {value}")
    if dtype in REGISTERS and not dtypes.is_float(dtype) and dtype != "bool":
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise ValueError(f"{name}: {argument} must fit dtype {dtype}, got {value}")


def _of_parts(definition: Callable[..., Tensor], dtype: str, *numbers: Any) -> Tensor:
    """Return complex numbers; ``definition`` accepts the parts of numbers, and their dtype."""
    part = dtypes.part_of(dtype)
    return joined(
        definition(*[n.real for n in numbers], part), definition(*[n.imag for n in numbers], part)
    )


@_definition
def filled_in(trace: Any, name: str, shape: tuple[int, ...], value: Any, dtype: str) -> Tensor:
    """Record a constant array of any dtype."""
    if dtypes.is_complex(dtype):
        return _of_parts(lambda v, part: filled_in(trace, name, shape, v, part), dtype, value)
    if _is_computed(dtype, shape):
        return computed(lambda number: broadcast_to(number, shape), filled(trace, value, (), dtype))
    wide = wide_of(dtype)
    return recorded(
        name, trace, shape, dtype,
        lambda queue: dpnp.full(shape, value, dtype=wide, sycl_queue=queue),
    )  # fmt: skip


def wide_of(dtype: str) -> str:
    """Return the dtype in which dpnp computes the values."""
    return "float32" if dtype in dtypes.CARRIED else dtype


def _filled(
    name: str, shape: tuple[int, ...], value: Any, dtype: Any, device: Any
) -> dpnp.ndarray | Array:
    dtype = dtypes.name_of(dtype)
    _check_value(name, value, dtype)
    return created(name, shape, device, filled_in, name, shape, value, dtype)


@documented(dtype="float32 by default", returns="array (*size)")
def zeros(*size: Any, dtype: Any = None, device: Any = None) -> dpnp.ndarray | Array:
    """Return an array of zeros.

    Parameters
    ----------
    *size : ints, or a sequence of int
        Also accepted by keyword: ``size=(2, 3)``.
    """
    return _filled("zeros", shape_of("zeros", size), 0, dtype or "float32", device)


@documented(dtype="float32 by default", returns="array (*size)")
def ones(*size: Any, dtype: Any = None, device: Any = None) -> dpnp.ndarray | Array:
    """Return an array of ones.

    Parameters
    ----------
    *size : ints, or a sequence of int
        Also accepted by keyword: ``size=(2, 3)``.
    """
    return _filled("ones", shape_of("ones", size), 1, dtype or "float32", device)


@documented(
    dtype="float32 by default", returns="array (*size)",
    notes="Filled with zeros, whereas torch\nleaves values undefined. ",
)  # fmt: skip
def empty(*size: Any, dtype: Any = None, device: Any = None) -> dpnp.ndarray | Array:
    """Return an uninitialized array.

    Parameters
    ----------
    *size : ints, or a sequence of int
        Also accepted by keyword: ``size=(2, 3)``.
    """
    return _filled("empty", shape_of("empty", size), 0, dtype or "float32", device)


@documented(dtype="float32 by default", returns="array (n, m)")
def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None
) -> dpnp.ndarray | Array:
    """Return a matrix with ones on the diagonal and zeros elsewhere.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int, optional
        Number of columns; ``n`` by default.
    """
    shape = shape_of("eye", (n, n if m is None else m))
    return created("eye", shape, device, _diagonal, shape, dtypes.name_of(dtype or "float32"))


@_definition
def _diagonal(trace: Any, shape: tuple[int, int], dtype: str) -> Tensor:
    kernel_dtype = dtype if _is_computed(dtype) else "float32"

    def definition(one: Node) -> Node:
        is_diagonal = EQ(iota(shape[0], 0, 2), iota(shape[1], 1, 2))
        return select(is_diagonal, one, number(0, kernel_dtype))

    return converted(computed(definition, filled(trace, 1, (), kernel_dtype)), dtype)


def _dtype_of(*numbers: Any) -> str:
    if all(isinstance(n, bool) for n in numbers):
        return "bool"
    if any(isinstance(n, complex) for n in numbers):
        return "complex64"
    return "float32" if any(isinstance(n, float) for n in numbers) else "int64"


@documented(dtype="By default that of the number: bool, int64 or float32", returns="array (*size)")
def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> dpnp.ndarray | Array:
    """Return an array filled with a value.

    Parameters
    ----------
    size : int or sequence of int
    fill_value : bool, int or float
    """
    if not isinstance(fill_value, (bool, int, float, complex)):
        kind = type(fill_value).__name__
        raise TypeError(f"full: fill_value must be a number, got {kind}")
    sizes = size if isinstance(size, (tuple, list)) else (size,)
    dtype = dtype or _dtype_of(fill_value)
    return _filled("full", shape_of("full", tuple(sizes)), fill_value, dtype, device)


@documented(
    dtype="By default int64, or float32 if a number is a float", returns="array (n,)",
    raises="ValueError\n    ``step`` is 0, or does not lead from ``start`` to ``end``.",
)  # fmt: skip
def arange(
    start: float, end: float | None = None, step: float = 1, *, dtype: Any = None,
    device: Any = None,
) -> dpnp.ndarray | Array:  # fmt: skip
    """Return the numbers from ``start`` to ``end``, excluding ``end``.

    Parameters
    ----------
    start : number
        A single argument is the end; the start is then 0.
    end : number
    step : number
    """
    start, end = (0, start) if end is None else (start, end)
    for argument, value in (("start", start), ("end", end), ("step", step)):
        if not isinstance(value, (int, float)):
            dtype = type(value).__name__
            raise TypeError(f"arange: {argument} must be a number, got {dtype}")
        if not math.isfinite(value):
            raise ValueError(f"arange: {argument} must be finite, got {value}")
    if not step or (end - start) * step < 0:
        raise ValueError(f"arange: step must lead from {start} to {end}, got {step}")
    dtype = dtypes.name_of(dtype or ("int64" if _dtype_of(start, end, step) != "float32"
                                    else "float32"))  # fmt: skip
    count = _count(start, end, step)
    if not (dtypes.is_float(dtype) or dtypes.is_complex(dtype)):  # cut off as torch does
        start, end, given, step = int(start), int(end), step, int(step)
        if dtype == "int64":
            if not step:
                raise ValueError(f"arange: step must be at least 1 in size for int64, got {given}")
            count = _count(start, end, step)
    return created("arange", (count,), device, _steps, count, start, step, dtype)


@_definition
def _steps(trace: Any, count: int, start: float, step: float, dtype: str) -> Tensor:
    kernel_dtype = dtype if _is_computed(dtype) else "float32"
    step_dtype = "int64" if isinstance(start + step, int) else dtypes.wide(kernel_dtype)
    values = computed(
        lambda first, each: cast(cast(iota(count), step_dtype) * each + first, kernel_dtype),
        filled(trace, start, (), step_dtype), filled(trace, step, (), step_dtype),
    )  # fmt: skip
    return converted(values, dtype)


def _count(start: float, end: float, step: float) -> int:
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        return len(range(start, end, step))
    return math.ceil((end - start) / step)


def _number(value: Any) -> Any:
    """Return the number of an array without axes; all else unchanged."""
    return value.item() if getattr(value, "shape", None) == () else value


@documented(
    dtype="float32 by default", returns="array (steps,)",
    raises="ValueError\n    ``steps`` is negative.",
)  # fmt: skip
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None
) -> dpnp.ndarray | Array:
    """Return evenly spaced numbers from ``start`` to ``end``, inclusive.

    Parameters
    ----------
    start, end : number, or array without axes
        The host waits for the values of arrays.
    steps : int
        Number of values.
    """
    count = checked_int("linspace", "steps", steps, 0)
    dtype = dtypes.name_of(dtype or "float32")
    start, end = map(_number, (start, end))
    for argument, value in (("start", start), ("end", end)):
        if not isinstance(value, (bool, int, float, complex, np.number)):
            kind = type(value).__name__
            raise TypeError(f"linspace: {argument} must be a number, got {kind}")
        _check_value("linspace", value, dtype, argument)
    return created("linspace", (count,), device, _from_both_ends, count, start, end, dtype)


@_definition
def _from_both_ends(trace: Any, count: int, start: Any, end: Any, dtype: str) -> Tensor:
    """Count the first half from ``start``, the second back from ``end``, as torch does."""
    if dtypes.is_complex(dtype):
        return _of_parts(
            lambda first, last, part: _from_both_ends(trace, count, first, last, part),
            dtype, start, end,
        )  # fmt: skip
    is_float = dtypes.is_float(dtype)
    if not is_float:  # integers between integers, computed as floats and cut off
        start, end = int(start), int(end)
    wide = dtypes.wide(dtype) if is_float else "float64"
    in_wide = np.dtype(wide).type
    step = (in_wide(end) - in_wide(start)) / in_wide(max(count - 1, 1))

    def definition(first: Node, last: Node, each: Node) -> Node:
        index = iota(count)
        up = first + cast(index, wide) * each
        down = last - cast(number(count - 1, "int32") - index, wide) * each
        is_first = LT(index, number(max(count // 2, 1), "int32"))
        return select(is_first, up, down)

    numbers = [filled(trace, float(v), (), wide) for v in (start, end, step)]
    return converted(computed(definition, *numbers), dtype)


# --- *_like

LIKE = """Return {what}, with the shape and on the queue of {whose}.

Parameters
----------
input : array of any shape and dtype
    Its values are not read.
{value}dtype : str or dtype, optional
    By default that of ``input``.

Returns
-------
array
    Row-major.

Raises
------
TypeError
    {error}.

Notes
-----
{notes}Source: ``torch.{name}``.
"""


def _text_of_like(name: str, content: str, value: str = "") -> str:
    error = "``dtype`` is unknown"
    return LIKE.format(name=name, what=content, whose="another", value=value, error=error, notes="")


def _like(name: str, x: Tensor, value: Any, dtype: Any) -> Tensor:
    dtype = str(x.dtype) if dtype is None else dtypes.name_of(dtype)
    _check_value(name, value, dtype)
    return filled_in(x.trace, name, x.shape, value, dtype)


def _likeness(name: str, content: str, value: float) -> Any:
    def call(input: Tensor, *, dtype: Any = None) -> Tensor:
        return _like(name, input, value, dtype)

    return operation(named(call, name, _text_of_like(name, f"an array of {content}")))


zeros_like = _likeness("zeros_like", "zeros", 0)
ones_like = _likeness("ones_like", "ones", 1)
empty_like = _likeness("empty_like", "zeros, where torch leaves values undefined", 0)


def _full_like(input: Tensor, fill_value: float, *, dtype: Any = None) -> Tensor:
    if not isinstance(fill_value, (bool, int, float, complex)):
        kind = type(fill_value).__name__
        raise TypeError(f"full_like: fill_value must be a number, got {kind}")
    return _like("full_like", input, fill_value, dtype)


_FILL_VALUE = "fill_value : bool, int or float\n"
_FULL_LIKE = _text_of_like("full_like", "an array of one number", _FILL_VALUE)
full_like = operation(named(_full_like, "full_like", _FULL_LIKE))

# SPDX-License-Identifier: Apache-2.0
"""The arguments of a call: their part of its key, and their arrays in order."""

from __future__ import annotations

import enum
import functools
import inspect
import types
from collections.abc import Sequence
from typing import Any

import dpnp
import numpy as np
from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn import tree
from sycl_dnn._core import ArrayTypes
from sycl_dnn.call.recorded_tensor import RecordedTensor, dtype_name
from sycl_dnn.onednn.memory import KINDS
from sycl_dnn.trace import allocation, nested_arguments
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.frozen import Frozen, Seed, argument_of
from sycl_dnn.trace.module_arrays import plain
from sycl_dnn.trace.nested_arguments import replaced
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.values import Tensor


def operation_of(function: Any) -> Any:
    """Return the operation of one of this package's functions; None for a user's function."""
    return getattr(function, "operation", None) if callable(function) else None


def body_of(function: Any) -> Any:
    """Return the function to trace: the body of a function of this package, others unchanged."""
    operation = operation_of(function)
    return function if operation is None else operation.body


def key_of(function: Any) -> Any:
    """Return the key of a callable's plans; guards check the rest."""
    operation = operation_of(function)
    if operation is not None:
        return operation
    kind = type(function)
    if kind is types.FunctionType:
        wrapped = function.__dict__.get("__wrapped__")
        return function.__code__ if wrapped is None else (function.__code__, key_of(wrapped))
    if kind is types.MethodType:
        return (kind, key_of(function.__func__))
    if kind is functools.partial:
        return (kind, key_of(function.func))
    if isinstance(function, (type, types.BuiltinFunctionType)):
        return function
    wrapped = getattr(function, "__wrapped__", None)
    return kind if wrapped is None else (kind, key_of(wrapped))


def name_of(function: Any, default: str = "") -> str:
    """Return the name of a function for errors and profiles."""
    return getattr(function, "__name__", default or type(function).__name__)


def kind_of(value: Any) -> str:
    """Return the name of a value's class for errors; other libraries' with their package."""
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    return kind.__qualname__ if package == "builtins" else f"{package}.{kind.__qualname__}"


# --- The arguments of a call: their parts of its key, and their arrays in order

#: The classes of arrays, for the extension.
ARRAY_TYPES = ArrayTypes(
    ndarray=dpnp.ndarray,
    usm_ndarray=allocation.usm_ndarray,
    carried=Array,
    frozen=Frozen,
    memory=list(KINDS.values()),
    recorded=RecordedTensor,
    seed=Seed,
    opened=tree.opened,
    dtype_name=dtype_name,
)
#: The names of arrays in annotations.
_ARRAYS = frozenset(("dpnp.ndarray", "ArrayLike", "Tensor", "Array"))
_PLAIN = frozenset((int, float, bool, str, type(None)))
_NO_ARRAY = "at least one argument must be a dpnp.ndarray"


def constant_key(value: Any) -> Any:
    """Return the key of a constant: -0.0 equals 0.0 and True equals 1 but they are different."""
    kind = value.__class__
    if kind is tuple:
        return tuple(map(constant_key, value))
    if isinstance(value, (float, complex, np.inexact, range)):
        return (kind, repr(value))
    return value if kind is str else (kind, value)


def container_key(node: tree.Opened) -> Any:
    """Return the key of a container: code that iterates over a dict sees the order of its keys."""
    return (node.kind, constant_key(node.order or node.aux))


class Collected:
    """The arrays and key parts of the arguments of one call."""

    __slots__ = ("arrays", "drawn", "frozen", "objects", "traced")
    #: Those of a ``UserCall``.
    numbers: Sequence[float] = ()
    others: Sequence[Any] = ()

    def __init__(self) -> None:
        #: usm_ndarrays (and the bytes of seeds), in order.
        self.arrays: list[Any] = []
        #: The same arrays as the caller passed them.
        self.objects: list[Any] = []
        self.frozen: dict[int, Any] | None = None
        self.traced = False
        #: The seeds that were drawn for the call, in order.
        self.drawn: list[Seed] = []

    def token(self, value: Any) -> Any:
        """Return the part of ``value`` that a plan depends on, and note its arrays."""
        kind = value.__class__
        if kind is dpnp.ndarray:
            array = value.get_array()
            self.arrays.append(array)
            self.objects.append(value)
            return (array.shape, array.strides, array.dtype)
        if kind in _PLAIN:
            return (kind, constant_key(value))
        return self._rare_token(value, kind)

    def _rare_token(self, value: Any, kind: type) -> Any:
        if kind is tuple or kind is list:
            return (kind, *[self.token(v) for v in value])
        if kind is Array:
            array = value.get_array()
            self._note(value, array)
            return (array.shape, array.strides, value.dtype)
        if kind is Frozen:
            return self._frozen_token(value)
        if isinstance(value, Tensor):
            self.traced = True
            return None
        if kind is Seed:
            self._note(value, value.bytes())
            return (Seed, value.dtype)
        if isinstance(value, dpnp.ndarray) or hasattr(value, "usm_data"):
            array = value.get_array() if hasattr(value, "get_array") else value
            self._note(plain(value), array)
            return (array.shape, array.strides, array.dtype)
        node = tree.opened(value)
        if node is not None:
            self._note_held(tree.held_by(node))
            return (container_key(node), *[self.token(v) for v in node.children])
        return self._parameter_token(value, kind)

    def _note_held(self, held: Any) -> None:
        """Collect arrays in a container's auxiliary data; functions of this package ignore them."""

    def _frozen_token(self, value: Frozen) -> Any:
        if self.frozen is None:
            self.frozen = {}
        self.frozen[len(self.arrays)] = value
        self._note(value, value._array)
        return value._token

    def _parameter_token(self, value: Any, kind: type) -> Any:
        if isinstance(value, np.ndarray) or hasattr(value, "__array_interface__"):
            if getattr(value, "ndim", 1):
                raise TypeError(
                    "arrays must be dpnp.ndarray, got numpy.ndarray; dpnp.asarray copies it to "
                    "the device"
                )
            return (kind, constant_key(value.item()))
        if hasattr(value, "__dlpack__"):
            raise TypeError(
                f"arrays must be dpnp.ndarray, got {kind_of(value)}; sycl_dnn.asarray copies it to "
                "the device"
            )
        try:
            hash(value)
        except TypeError:
            raise TypeError(f"cannot take an argument of type {kind.__name__}") from None
        return (kind, constant_key(value))

    def _note(self, value: Any, array: Any) -> None:
        self.arrays.append(array)
        self.objects.append(value)


class UserCall(Collected):
    """The same for a user's function: floats are values, objects are inspected.

    ``holds_frozen``: whether frozen arrays are constants of the plan, which then depends on their
    identity.
    """

    __slots__ = ("_holds_frozen", "numbers", "others")

    def __init__(self, holds_frozen: bool = False) -> None:
        self.arrays = []
        self.objects = []
        self.frozen = None
        self.traced = False
        self._holds_frozen = holds_frozen
        self.drawn = []
        #: Floats, in order; they are not part of the key.
        self.numbers: list[float] = []
        #: Callables and objects, in order, for the guards.
        self.others: list[Any] = []

    def token(self, value: Any) -> Any:
        """Return the part of ``value`` that a plan depends on; note arrays, numbers and objects."""
        kind = type(value)
        if kind is dpnp.ndarray:  # as below, without another call
            array = value.get_array()
            self.arrays.append(array)
            self.objects.append(value)
            return (array.shape, array.strides, array.dtype)
        if kind is float:
            self.numbers.append(value)
            return float
        return super().token(value)

    def _note_held(self, held: Any) -> None:
        self.others.extend(held)

    def _frozen_token(self, value: Frozen) -> Any:
        return held_token(value) if self._holds_frozen else super()._frozen_token(value)

    def _parameter_token(self, value: Any, kind: type) -> Any:
        if type(value) is not kind:  # a number of an outer trace
            self.traced = True
            return None
        if isinstance(value, np.floating):
            self.numbers.append(float(value))
            return float
        if is_inspected(value):
            self.others.append(value)
            return key_of(value)
        token = super()._parameter_token(value, kind)
        if isinstance(value, enum.Enum):
            self.others.append(value)  # its methods
        return token


def is_inspected(value: Any) -> bool:
    """Whether guards check an argument as they check captured objects."""
    if isinstance(value, (type, enum.Enum, np.dtype, np.generic, np.ndarray)):
        return False
    return callable(value) or hasattr(value, "__dict__") or bool(hasattr(value, "__slots__"))


def held_token(value: Any) -> Any:
    """Return the key of a constant argument: the identities of its arrays."""
    if nested_arguments.is_array(value):
        return ("held", id(value))
    node = tree.opened(value)
    if node is None:
        return Collected().token(value)
    return (container_key(node), *[held_token(v) for v in node.children])


def check_tensors(name: str, body: Any, args: Any, kwargs: Any) -> None:
    """Raise TypeError for a parameter that is annotated as an array but was given something else.

    Called only after a body has failed, since bodies do not check.
    """
    bound = inspect.signature(body).bind(*args, **kwargs).arguments
    for parameter, annotation in inspect.get_annotations(body).items():
        value = bound.get(parameter)
        kinds = {kind.strip() for kind in str(annotation).split("|")}
        optional = value is None and "None" in kinds
        if not kinds & _ARRAYS or parameter not in bound or optional or isinstance(value, Tensor):
            continue
        kind = kind_of(bound[parameter])
        raise TypeError(f"{name}: {parameter} must be a dpnp.ndarray or Array, got {kind}")


def _array_missing(parameter: str, annotation: str, value: Any) -> str | None:
    """Return the error message for a parameter annotated as an array with another value."""
    kinds = {kind.strip() for kind in annotation.split("|")}
    if annotation.startswith("Sequence[dpnp."):
        if not isinstance(value, (list, tuple)):
            return f"{parameter} must be a sequence of dpnp.ndarray, got {kind_of(value)}"
        if not value:
            return f"{parameter} must hold at least one dpnp.ndarray, got {value}"
        return f"{parameter}[0] must be a dpnp.ndarray, got {kind_of(value[0])}"
    is_number = "float" in kinds and isinstance(value, (int, float))
    if not kinds & _ARRAYS or (value is None and "None" in kinds) or is_number:
        return None
    return f"{parameter} must be a dpnp.ndarray, got {kind_of(value)}"


def without_array(name: str, body: Any, args: Any, kwargs: Any) -> TypeError:
    """Return the error of a call without arrays, naming the parameter that must be one."""
    annotations = inspect.get_annotations(body)
    try:
        inspect.signature(body).bind(*args, **kwargs)
    except TypeError as error:
        return TypeError(f"{name}: {error}")
    for parameter, value in by_name(body, args, kwargs).items():
        annotation = str(annotations.get(parameter.partition("[")[0], ""))
        wrong = _array_missing(parameter, annotation, value)
        if wrong is not None:
            return TypeError(f"{name}: {wrong}")
    return TypeError(f"{name}: {_NO_ARRAY}")


def by_name(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the arguments of a call by the names of parameters; numbered ones for ``*args``."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return {**{f"argument {i}": v for i, v in enumerate(args)}, **kwargs}
    by_parameter: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            by_parameter |= {f"{name}[{i}]": v for i, v in enumerate(value)}
        elif kind is inspect.Parameter.VAR_KEYWORD:
            by_parameter |= value
        else:
            by_parameter[name] = value
    return by_parameter


def tokens_by_name(function: Any, args: Any, kwargs: Any) -> dict[str, tuple[Any, bool]]:
    """Return the arguments of a call by name: their keys, and whether they are arrays."""
    tokens = {}
    for parameter, value in by_name(function, args, kwargs).items():
        call = UserCall()
        token = (call.token(value), tuple(v.hex() for v in call.numbers))
        tokens[parameter] = (token, bool(call.arrays))
    return tokens


def named(error: TypeError, name: str, function: Any, args: Any, kwargs: Any) -> TypeError:
    """Return an error about an argument with its name and the path to the leaf that is wrong."""
    for parameter, value in by_name(function, args, kwargs).items():
        for path, leaf in tree.paths(value):
            try:
                UserCall().token(leaf)
            except TypeError:
                kind = kind_of(leaf)
                hint = "; dpnp.asarray copies it to the device" if kind.startswith("numpy") else ""
                return TypeError(
                    f"{name}: {parameter}{path} must be a dpnp.ndarray, got {kind}{hint}"
                )
    return error


def shared_queue(arrays: list[Any], name: str) -> Any:
    """Return the queue that all arrays share.

    Raises TypeError if there is no array, and ExecutionPlacementError if the arrays belong to
    different queues.
    """
    queue = None
    for array in arrays:
        if array.__class__ is bytes:
            continue
        other = array.sycl_queue
        if queue is None:
            queue = other
        elif other is not queue and other != queue:
            first, second = (q.sycl_device.filter_string for q in (queue, other))
            got = f"{first} and {second}" if first != second else f"two queues of {first}"
            raise ExecutionPlacementError(
                f"{name}: arrays must share one queue, got {got}; copy with "
                "dpnp.asarray(x, sycl_queue=...)"
            )
    if queue is None:
        raise TypeError(f"{name}: {_NO_ARRAY}")
    return queue


def named_placement(error: Exception, name: str, function: Any, args: Any, kwargs: Any) -> Any:
    """Return an error about queues with the paths of two arrays that are on different ones."""
    first: tuple[str, Any] | None = None
    for parameter, value in by_name(function, args, kwargs).items():
        for path, leaf in tree.paths(value):
            queue = getattr(leaf, "sycl_queue", None)
            if queue is None:
                continue
            if first is None:
                first = (parameter + path, queue)
            elif queue != first[1]:
                return ExecutionPlacementError(
                    f"{name}: arrays must share one queue, got {first[0]} on "
                    f"{first[1].sycl_device.filter_string} and {parameter}{path} on another, of "
                    f"{queue.sycl_device.filter_string}; copy with dpnp.asarray(x, sycl_queue=...) "
                    "or module.to(queue)"
                )
    return error


def traced(trace: Trace, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call with a tensor for each array."""

    def swap(value: Any) -> Tensor:
        return trace.described(argument_of(trace, value))

    return (
        [replaced(a, swap) for a in args],
        {name: replaced(value, swap) for name, value in kwargs.items()},
    )

# SPDX-License-Identifier: Apache-2.0
"""Validation and promotion of operands: tensors and numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn import tree
from sycl_dnn._dpnp import array_in, host_view, is_readable
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.ir.node import Node, Operation
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.module_arrays import in_manner, plain
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, filled

DOC = """{summary}

Parameters
----------
input, {second} : dpnp.ndarray or Array (*), or a number
    Shapes broadcast; at least one of the two is an array.
{parameters}
Returns
-------
dpnp.ndarray or Array
    {returns}

Raises
------
ValueError
    The shapes do not broadcast.
TypeError
    An operand is neither an array nor a number.

Notes
-----
{notes}
Source: oneDNN developer guide, "Binary"; names and defaults are torch's.
"""
PROMOTED = "The broadcast shape; torch's promoted dtype."


def number_or_tensor(name: str, argument: str, value: Any) -> Any:
    """Return a tensor, or a Python number."""
    if isinstance(value, Tensor):
        return check_unpacked(name, argument, value)
    if isinstance(value, (np.generic, np.ndarray)) and not value.ndim:
        value = value.item()
    for kind in (bool, int, float):
        if isinstance(value, kind):  # a number of a subclass may have a shape, as ``x.size`` has
            return kind(value)
    raise TypeError(f"{name}: {argument} must be an array or a number, got {type(value).__name__}")


def check_unpacked(name: str, argument: str, x: Tensor) -> Tensor:
    """Return the tensor; raise TypeError for packed 4-bit integers."""
    if x.dtype in dtypes.PACKED:
        raise TypeError(
            f"{name}: {argument} must not be of 4-bit numbers, got {x.dtype}; convert with astype"
        )
    return x


def broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether arrays of a shape broadcast to ``target``."""
    try:
        return broadcast_shape(shape, target) == target
    except ValueError:
        return False


def checked_operands(name: str, **operands: Any) -> list[Any]:
    """Return tensors and numbers after checking that their shapes broadcast."""
    results = [number_or_tensor(name, n, v) for n, v in operands.items()]
    shapes = [v.shape for v in results if isinstance(v, Tensor)]
    try:
        broadcast_shape(*shapes)
    except ValueError:
        *first, last = operands
        actual = " and ".join(map(str, shapes))
        raise ValueError(
            f"{name}: {last} must broadcast with {' and '.join(first)}, got shapes {actual}"
        ) from None
    return results


def check_arrays(name: str, **operands: Any) -> None:
    """Raise TypeError for the first named operand that is not an array."""
    for argument, x in operands.items():
        if not isinstance(x, Tensor):
            raise not_an_array(name, argument, x)


def not_an_array(name: str, argument: str, x: Any) -> TypeError:
    """Return the error for an argument that is not an array."""
    return TypeError(f"{name}: {argument} must be an array, got {type(x).__name__}")


def check_each(name: str, argument: str, arrays: Sequence[Any]) -> None:
    """Raise TypeError for the first item of an argument that is not an array."""
    check_arrays(name, **{f"{argument}[{n}]": x for n, x in enumerate(arrays)})


def checked_array(name: str, argument: str, x: Any) -> Tensor:
    """Return the argument as a tensor; raise TypeError for 4-bit integers and anything else."""
    check_arrays(name, **{argument: x})
    return check_unpacked(name, argument, x)


def by_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function of arrays whose results have shapes that depend on values.

    While ``vjp`` runs a user's function, the values of its arguments are computed, and results are
    constants to gradients.
    """

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        tensors = [v for v in (*args, *kwargs.values()) if isinstance(v, Tensor)]
        if not tensors or not hasattr(tensors[0].trace, "evaluated"):
            return in_manner(
                function(*map(plain, args), **{n: plain(v) for n, v in kwargs.items()})
            )
        trace = tensors[0].trace

        def evaluated(value: Any) -> Any:
            is_tensor = isinstance(value, Tensor)
            return trace.evaluated(value, function.__name__) if is_tensor else value

        result = function(*map(evaluated, args), **{n: evaluated(v) for n, v in kwargs.items()})
        return tree.map(trace.capture, result)

    return called


def check_values(name: str, argument: str, x: Any) -> None:
    """Raise TypeError unless ``x`` is an array whose values the host can read."""
    if isinstance(x, Tensor):
        raise NeedsArrays(
            f"{name}: {argument} must be an array with values: the shape of the result depends on "
            "them, which are not known while a function is traced"
        )
    if not isinstance(x, (dpnp.ndarray, Array)):
        raise not_an_array(name, argument, x)


def host_or_dpnp(x: dpnp.ndarray) -> tuple[Any, Any]:
    """Return the library that finds values fastest, and the array as it takes it.

    dpnp compiles its kernels when they are first used, for some 0.1 s each.
    """
    usm = x.get_array()
    if usm.sycl_queue.sycl_device.is_cpu and is_readable(usm):
        return np, host_view(usm)
    return dpnp, x


def arrays_like(x: dpnp.ndarray, results: Iterable[Any]) -> list[Any]:
    """Return results of the library of ``host_or_dpnp`` as arrays on the queue of ``x``."""
    return [
        r if isinstance(r, dpnp.ndarray) else array_in(r, None, sycl_queue=x.sycl_queue)
        for r in results
    ]


def trace_of(*operands: Any) -> Any:
    """Return the trace of the tensors."""
    return next(v for v in operands if isinstance(v, Tensor)).trace


def as_floats(dtype: str, *operands: Any) -> list[Tensor]:
    """Return tensors of one dtype: numbers are filled in, integers converted."""
    trace = trace_of(*operands)
    results = []
    for value in operands:
        if not isinstance(value, Tensor):
            results.append(filled(trace, value, (), dtype))
        else:
            results.append(value if value.is_float else converted(value, dtype))
    return results


def by_nodes(
    definition: Callable[..., Node], *operands: Any, wide: str | None = None, dtype: str = ""
) -> Tensor:
    """Record an element-wise function as one kernel, differentiable to any order.

    Numbers get the dtype to which torch promotes the operands. ``dtype``: that to which the result
    is converted, none by default; ``wide``: that to which operands are first, "" for none, by
    default the one in which floats of ``dtype`` are computed.
    """
    if wide is None:
        wide = dtypes.wide(dtype) if dtype else ""

    def converting(*nodes: Node) -> Node:
        result = definition(*[cast(node, wide) if wide else node for node in nodes])
        return cast(result, dtype) if dtype else result

    return computed(converting, *operands, dtype=wide or str(result_dtype(*operands)))


def of_integers(operation: Operation, dtype: str, *operands: Any) -> Tensor:
    """Record an operation on integers or bools as a kernel; numbers must fit their dtype."""
    common = result_dtype(*operands)
    check_fit(common, *operands)
    # Sums of bools are their logical or, products their logical and.
    return by_nodes(operation, *operands, wide="uint8" if common == "bool" else common, dtype=dtype)


def check_fit(dtype: str, *operands: Any) -> None:
    """Raise ValueError for a Python number that an integer dtype cannot represent."""
    for value in operands:
        if dtype == "bool" or isinstance(value, (bool, Tensor)):
            continue
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise ValueError(
                f"numbers must fit the dtype, from {limits.min} to {limits.max} for {dtype}, got "
                f"{value}"
            )


def float_dtype(*operands: Any) -> str:
    """Return torch's promoted dtype of tensors and numbers, float32 for integers."""
    dtype = result_dtype(*operands)
    return dtype if dtypes.is_float(dtype) else "float32"


def result_dtype(*operands: Any) -> str:
    """Return torch's promoted dtype of tensors and numbers."""
    return dtypes.result_dtype(*operands)

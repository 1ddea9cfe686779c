# SPDX-License-Identifier: Apache-2.0
"""``grad`` and ``value_and_grad``: gradients of functions with a scalar result."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn import tree
from sycl_dnn.call import nesting
from sycl_dnn.dispatch.reverse import differentiated
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.onednn import dtypes

__all__ = ["grad", "value_and_grad"]


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes a value and its gradient.

    Parameters
    ----------
    function : callable
        Returns an array of one element; traced as by ``vjp``.
    argnums : int or sequence of int
        Positional arguments that gradients are wanted for: arrays, or trees of arrays.
    has_aux : bool
        Whether the function returns a pair: the value, and something else that is handed on.

    Returns
    -------
    callable
        Takes what ``function`` does, and returns ``(value, gradient)``, or
        ``((value, aux), gradient)``. The gradient is nested as the argument is; for a sequence of
        ``argnums`` it is a tuple of such.

    Raises
    ------
    TypeError
        At a call: an argument to differentiate is no array of floating-point numbers; the error
        names function, argument and path.
    ValueError
        At a call: there is no such argument; the value has more than one element.
    """
    return _transformed("value_and_grad", function, argnums, has_aux)


def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes a gradient; parameters and errors as ``value_and_grad``.

    With ``has_aux`` it returns ``(gradient, aux)``.
    """
    both = _transformed("grad", function, argnums, has_aux)

    @functools.wraps(both)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def _transformed(
    name: str, function: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool
) -> Callable[..., Any]:
    if not callable(function):
        raise TypeError(f"{name}: function must be callable, got {type(function).__name__}")
    is_single = isinstance(argnums, int)
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not numbers or not all(isinstance(n, int) for n in numbers):
        raise TypeError(f"{name}: argnums must be an int or a sequence of them, got {argnums!r}")

    @functools.wraps(function)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        wrt = _positions(name, numbers, len(args))
        for number in wrt:
            _check_argument(name, function, number, args[number])
        result, pullback = differentiated(name, function, args, kwargs, wrt, has_aux)
        _check_value(name, result, has_aux)
        gradients = pullback()
        return result, gradients[0] if is_single else gradients

    # The wrapped signature has a docstring of its own; operations must not be taken for this.
    transformed.__dict__.pop("operation", None)
    return transformed


def _positions(name: str, numbers: tuple[int, ...], n_args: int) -> tuple[int, ...]:
    for number in numbers:
        if not -n_args <= number < n_args:
            raise ValueError(
                f"{name}: argnums must name positional arguments of the call, which has {n_args}, "
                f"got {number}"
            )
    return tuple(number % n_args for number in numbers)


def _check_argument(name: str, function: Callable[..., Any], number: int, value: Any) -> None:
    for path, leaf in tree.paths(value):
        is_array = nesting.is_array(leaf) or isinstance(leaf, Tensor)
        if is_array and dtypes.is_float(str(leaf.dtype)):
            continue
        got = str(leaf.dtype) if is_array else type(leaf).__name__
        raise TypeError(
            f"{name}: {_parameter(function, number)}{path} must be an array of floating-point "
            f"numbers, got {got}"
        )


def _parameter(function: Callable[..., Any], number: int) -> str:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return f"argument {number}"
    if number >= len(parameters) or parameters[number].kind is inspect.Parameter.VAR_POSITIONAL:
        return f"argument {number}"
    return parameters[number].name


def _check_value(name: str, result: Any, has_aux: bool) -> None:
    value = result[0] if has_aux else result
    if not (nesting.is_array(value) or isinstance(value, Tensor)):
        raise TypeError(
            f"{name}: the function must return an array of one element, got {type(value).__name__}"
        )
    n = 1
    for size in value.shape:
        n *= size
    if n != 1:
        raise ValueError(
            f"{name}: the function must return an array of one element, got shape {value.shape}"
        )
    if not dtypes.is_float(str(value.dtype)):
        raise TypeError(
            f"{name}: the function must return a floating-point number, got {value.dtype}"
        )

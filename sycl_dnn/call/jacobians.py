# SPDX-License-Identifier: Apache-2.0
"""``jvp``, ``hvp``, ``jacobian``, ``hessian``: directional derivatives, and full ones.

All are gradients of gradients: a pullback is linear in its argument, and the pullback of that
linear function pushes tangents forward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sycl_dnn import tree
from sycl_dnn.call.reverse import (
    argument_numbers,
    check_arguments,
    differentiated,
    gradient_of,
    named_after,
    positions,
    value_and_gradient_of,
    vjp,
)
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions as F

#: Elements of arguments whose derivatives are one program.
_MAX_AT_ONCE = 64


def jvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Return a function's value and its derivative along a direction.

    Parameters
    ----------
    function : callable
        As for ``vjp``.
    primals : tuple
        The positional arguments: trees of arrays.
    tangents : tuple
        The direction: nested like ``primals``, each array with the shape and dtype of its primal.
        None stands for zeros, and for the tangents of integers.
    has_aux : bool
        Whether the function returns a pair: the value, and other data to return unchanged.

    Returns
    -------
    tuple
        ``(y, dy)`` or ``(y, dy, aux)``; ``dy``, the product of the Jacobian and ``tangents``, is
        nested like ``y``.

    Raises
    ------
    TypeError
        ``primals`` or ``tangents`` is not a tuple or list.
    ValueError
        A tangent differs from its primal in structure, shape or dtype.
    NotImplementedError
        An operation inside has no second derivative.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> x = F.asarray([1.0, 2.0])
    >>> y, dy = sycl_dnn.jvp(lambda x: x * x * x, (x,), (F.asarray([1.0, 10.0]),))
    >>> y.tolist(), dy.tolist()
    ([1.0, 8.0], [3.0, 120.0])
    """
    _check_direction("jvp", function, primals, tangents)

    def pushed(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        y, pullback = differentiated("jvp", function, tuple(primals), {}, None, has_aux)
        value = y[0] if has_aux else y
        _check_results("jvp", tree.leaves(value), dtypes.has_gradients)
        dy = _pushforward(pullback, value)(tuple(tangents))
        return (value, dy, y[1]) if has_aux else (value, dy)

    pushed.__name__ = getattr(function, "__name__", "jvp")
    result: tuple[Any, ...] = differentiated("jvp", pushed, (primals, tangents), {}, ())[0]
    return result


def hvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, tuple[Any, ...]]:
    """Return the value of a scalar function and the product of its Hessian with a direction.

    Parameters
    ----------
    function : callable
        Returns an array of one element; as for ``vjp``.
    primals, tangents : tuple
        As for ``jvp``; all arrays among ``primals`` are floating-point.

    Returns
    -------
    value, product
        ``product`` is nested like ``primals``.

    Raises
    ------
    TypeError, ValueError, NotImplementedError
        As ``jvp``, or the value has more than one element.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> x, v = F.asarray([1.0, 2.0]), F.asarray([1.0, 10.0])
    >>> value, (product,) = sycl_dnn.hvp(lambda x: (x * x * x).sum(), (x,), (v,))
    >>> float(value), product.tolist()
    (9.0, [6.0, 120.0])
    """
    _check_direction("hvp", function, primals, tangents)
    both = value_and_gradient_of("hvp", function, range(len(primals)), False)
    (value, _), pullback = vjp(both, *primals)
    # A Hessian is symmetric, so its rows are pulled back as its columns would be pushed forward.
    return value, pullback((None, tuple(tangents)))


def jacobian(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the derivative of each result with respect to each argument.

    Parameters
    ----------
    function : callable
        Returns arrays of floating-point numbers; as for ``vjp``.
    argnums : int or sequence of int
        Positional arguments to differentiate: arrays, or trees of arrays.
    has_aux : bool
        As for ``jvp``.

    Returns
    -------
    callable
        Accepts what ``function`` does. For an array ``y`` and an array ``x`` it returns an array
        (*y.shape, *x.shape) with the dtype of ``x``. If ``y`` is a tree, that replaces each of its
        arrays. If the argument is a tree, each derivative is a tree like it, and a tuple for a
        sequence of ``argnums``. With ``has_aux`` it returns a pair of that and the other data.

    Raises
    ------
    TypeError, ValueError, NotImplementedError
        On a call: as ``grad``, but for values of any shape.

    Notes
    -----
    The function runs once, the reverse pass once per element of the results. If the arguments have
    at most 64 elements, and fewer than the results, forward mode runs once per element instead.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> sycl_dnn.jacobian(lambda x: F.cat([x * x, x[:1]]))(F.asarray([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0], [1.0, 0.0]]
    """
    return _jacobian("jacobian", function, argnums, has_aux)


def hessian(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the second derivatives of a scalar function.

    Parameters
    ----------
    function : callable
        Returns an array of one element; as for ``vjp``.
    argnums, has_aux
        As for ``jacobian``.

    Returns
    -------
    callable
        The Jacobian of ``grad(function, argnums)``: for an array ``x`` an array
        (*x.shape, *x.shape).

    Raises
    ------
    TypeError, ValueError, NotImplementedError
        On a call: as ``grad``.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> sycl_dnn.hessian(lambda x: (x * x * x).sum())(F.asarray([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return _jacobian(
        "hessian", gradient_of("hessian", function, argnums, has_aux), argnums, has_aux
    )


def _jacobian(
    name: str, function: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool
) -> Callable[..., Any]:
    numbers = argument_numbers(name, function, argnums)

    @named_after(function)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        wrt = positions(name, numbers, len(args))
        n_inputs = sum(x.size for x in tree.leaves([args[i] for i in wrt]) if _is_float(x))
        is_small = n_inputs <= _MAX_AT_ONCE

        def check() -> None:
            check_arguments(name, function, wrt, args, dtypes.is_float)

        def both(*args: Any, **kwargs: Any) -> Any:
            result, pullback = differentiated(name, function, args, kwargs, wrt, has_aux, check)
            value, aux = result if has_aux else (result, None)
            leaves, form = tree.flatten(value)
            _check_results(name, leaves)
            inputs = tuple(args[i] for i in wrt)
            if is_small and n_inputs < sum(y.size for y in leaves):
                derivatives = _by_columns(_pushforward(pullback, value), inputs, leaves)
            else:
                derivatives = _by_rows(pullback, inputs, leaves, form)
            parts = [tree.unflatten(tree.flatten(inputs)[1], part) for part in derivatives]
            nested = tree.unflatten(form, [p[0] if isinstance(argnums, int) else p for p in parts])
            return (nested, aux) if has_aux else nested

        both.__name__ = getattr(function, "__name__", name)
        return (
            differentiated(name, both, args, kwargs, ())[0] if is_small else both(*args, **kwargs)
        )

    return derivative


def _pushforward(pullback: Callable[..., Any], value: Any) -> Callable[[Any], Any]:
    """Return the function from tangents of arguments to that of ``value``."""
    _, transpose = vjp(lambda dy: pullback(dy), tree.map(F.zeros_like, value))
    return lambda tangents: transpose(tangents)[0]


def _by_rows(pullback: Any, arguments: Any, leaves: Sequence[Any], form: Any) -> list[list[Any]]:
    """Return the derivatives of each result, by argument, from a reverse pass for each element."""
    inputs, input_form = tree.flatten(arguments)
    by_result = []
    for number, leaf in enumerate(leaves):
        rows = [
            tree.matched(input_form, pullback(tree.unflatten(form, dy)), "dx", none_fills=True)
            for dy in _basis(leaves, number)
        ]
        by_result.append([_stacked([r[i] for r in rows], 0, leaf, x) for i, x in enumerate(inputs)])
    return by_result


def _by_columns(
    pushforward: Callable[[Any], Any], arguments: Any, leaves: Sequence[Any]
) -> list[list[Any]]:
    """Return the derivatives of each result, by argument, from a tangent for each element."""
    inputs, form = tree.flatten(arguments)
    derivatives: list[list[Any]] = [[] for _ in leaves]
    for number, x in enumerate(inputs):
        columns = [
            tree.leaves(pushforward(tree.unflatten(form, dx))) for dx in _basis(inputs, number)
        ]
        for i, (leaf, of_leaf) in enumerate(zip(leaves, derivatives, strict=True)):
            of_leaf.append(_stacked([c[i] for c in columns], -1, leaf, x))
    return derivatives


def _stacked(parts: Sequence[Any], axis: int, y: Any, x: Any) -> Any:
    """Join the derivatives of ``y`` by ``x``, one for each element of either."""
    if not _is_float(x) or any(part is None for part in parts):
        return None
    shape = (*y.shape, *x.shape)
    if not parts:
        return F.zeros(shape, dtype=str(x.dtype), device=x.device)
    return F.reshape(F.stack(parts, axis), shape)


def _basis(leaves: Sequence[Any], number: int) -> Iterator[list[Any]]:
    """Yield, for each element of one array, an array that is 1 there; None in place of others."""
    x = leaves[number]
    rows = F.eye(x.size, dtype=str(x.dtype), device=x.device)
    for row in range(x.size):
        unit = F.reshape(rows[row], x.shape)
        yield [unit if i == number else None for i in range(len(leaves))]


def _is_float(x: Any) -> bool:
    return dtypes.is_float(str(getattr(x, "dtype", "")))


def _check_results(
    name: str, leaves: Sequence[Any], has_derivatives: Callable[[str], bool] = dtypes.is_float
) -> None:
    for leaf in leaves:
        if not has_derivatives(str(getattr(leaf, "dtype", ""))):
            raise TypeError(
                f"{name}: the function must return arrays of floating-point numbers, got "
                f"{getattr(leaf, 'dtype', type(leaf).__name__)}"
            )


def _check_direction(
    name: str, function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> None:
    if not callable(function):
        raise TypeError(f"{name}: function must be callable, got {type(function).__name__}")
    for label, values in (("primals", primals), ("tangents", tangents)):
        if not isinstance(values, (tuple, list)):
            raise TypeError(
                f"{name}: {label} must be a tuple of arguments, got {type(values).__name__}"
            )
    form = tree.flatten(tuple(primals))[1]
    aligned_tangents = tree.matched(form, tuple(tangents), f"{name}: tangents", none_fills=True)
    for (path, primal), tangent in zip(tree.paths(tuple(primals)), aligned_tangents, strict=True):
        if tangent is None:
            continue
        expected, actual = (
            (tuple(getattr(a, "shape", ())), str(getattr(a, "dtype", type(a).__name__)))
            for a in (primal, tangent)
        )
        if expected != actual:
            raise ValueError(
                f"{name}: tangents{path} must have the shape and dtype of its primal, "
                f"{expected[0]} and {expected[1]}, got {actual[0]} and {actual[1]}"
            )

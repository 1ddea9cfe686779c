# SPDX-License-Identifier: Apache-2.0
"""``array_function``: code over dpnp arrays as a part of traced functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp

from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import nested_arguments, profile_notes
from sycl_dnn.trace.array import Array, array_over, carrier
from sycl_dnn.trace.frozen import Frozen
from sycl_dnn.trace.refusals import no_gradient
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor


def array_function(
    function: Callable[..., Any],
    *arrays: Any,
    shape: Any,
    dtype: Any,
    gradient: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Run a function over dpnp arrays, also while another function is traced.

    Inside ``vjp``, ``plan`` and ``compile`` arrays have no values yet; what dpnp computes from them
    becomes a step that runs on each call, in order with the others.

    Parameters
    ----------
    function : callable
        ``function(*arrays)`` returns a new array, or a tuple of them. It receives ``Array`` objects
        for dtypes that dpnp lacks. It must not write to its arguments.
    *arrays : array or traced array
    shape : tuple of int, or list of them
        Of the result; a list for a function that returns a tuple.
    dtype : dtype or str, or list of them
        Of the results; a single one applies to all.
    gradient : callable, optional
        ``gradient(*arrays, *dy)`` over dpnp arrays also receives the gradients of the results,
        zeros if there is none, and returns one gradient for each floating-point array, of its
        shape: an array, or a tuple of them.
    name : str, optional
        Name in errors and profiles; by default that of the function.

    Returns
    -------
    array, or tuple of arrays for a list of shapes

    Raises
    ------
    TypeError
        There is no array, or the function does not return arrays.
    ValueError
        The function returns a different number of arrays, or different shapes.
    NotImplementedError
        From ``vjp``: there is no ``gradient``, and one is needed.

    Notes
    -----
    A function that waits for its result, as a conversion to NumPy does, blocks the calling
    thread as usual. Source: documentation of ``jax.pure_callback``, on which this is modeled.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> x = dpnp.zeros(2, dtype="f4")
    >>> y = sycl_dnn.array_function(dpnp.sin, x, shape=x.shape, dtype=x.dtype,
    ...                             gradient=lambda x, dy: dy * dpnp.cos(x))
    >>> y.tolist()
    [0.0, 0.0]
    """
    name = name or profile_notes.name_of(function)
    is_list = isinstance(shape, list)
    shapes = [tuple(s) for s in shape] if is_list else [tuple(shape)]
    kinds = list(dtype) if isinstance(dtype, (list, tuple)) else [dtype] * len(shapes)
    if len(kinds) != len(shapes):
        raise ValueError(
            f"array_function: dtype must be one or {len(shapes)}, as shape, got {len(kinds)}"
        )
    outs = [Out(s, dtypes.name_of(k)) for s, k in zip(shapes, kinds, strict=True)]
    if not arrays:
        raise TypeError(f"array_function: {name} must be given at least one array")
    trace = nested_arguments.trace_of(arrays)
    if trace is None:
        results = _Call(function, name, outs, None)(*(a.data if isinstance(a, Frozen) else a
                                                   for a in arrays))  # fmt: skip
        results = [array_over(a, o.dtype) for a, o in zip(results, outs, strict=True)]
    else:
        tensors = [a if isinstance(a, Tensor) else trace.capture(a) for a in arrays]
        results = trace.logged(recorded, function, name, tensors, outs, gradient)
    return tuple(results) if is_list else results[0]


def recorded(
    function: Callable[..., Any], name: str, tensors: list[Tensor], outs: list[Out],
    gradient: Callable[..., Any] | None,
) -> list[Tensor]:  # fmt: skip
    """Record the function as a step of the trace of its arguments."""
    trace = tensors[0].trace

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        assert gradient is not None
        seeds = [
            grads[str(i)] if str(i) in grads else trace.zeros(out.desc(), out.shape, out.dtype)
            for i, out in enumerate(outs) if dtypes.is_float(out.dtype)
        ]  # fmt: skip
        differentiable = [i for i, t in enumerate(tensors) if t.is_float]
        kinds = [Out(tensors[i].shape, tensors[i].dtype) for i in differentiable]
        gradient_name = f"gradient of {name}"
        gradients = recorded(gradient, gradient_name, [*tensors, *seeds], kinds, None)
        return {str(i): t for i, t in zip(differentiable, gradients, strict=True)}

    call = _Call(function, name, outs, [str(t.dtype) for t in tensors])
    back = no_gradient(f"{name} (array_function without gradient=)") if gradient is None else rule
    return trace.array_call(call, tensors, outs, back)


#: Not a function of this file: code that lets dpnp compute with captured arrays is detected by the
#: caller's file, and this one is exempt.
_apply = eval(
    compile("lambda function, arguments: function(*arguments)", "<array_function>", "eval")
)


class _Call:
    """A user's function with checks of its results."""

    def __init__(
        self, function: Callable[..., Any], name: str, outs: list[Out], kinds: list[str] | None
    ) -> None:
        self._function = function
        self.__qualname__ = name
        self._outs = outs
        self._kinds = kinds

    def __call__(self, *arrays: Any) -> list[Any]:
        """Return the results as dpnp arrays, those that carry another dtype among them."""
        arguments = arrays
        if self._kinds is not None:
            arguments = tuple(array_over(a, k) for a, k in zip(arrays, self._kinds, strict=True))
        results = _apply(self._function, arguments)
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        if len(results) != len(self._outs):
            raise ValueError(
                f"array_function: {self.__qualname__} must return {len(self._outs)} arrays, got "
                f"{len(results)}"
            )
        return [self._checked(a, out) for a, out in zip(results, self._outs, strict=True)]

    def _checked(self, item: Any, out: Out) -> Any:
        if not isinstance(item, (dpnp.ndarray, Array)):
            raise TypeError(
                f"array_function: {self.__qualname__} must return arrays, got {type(item).__name__}"
            )
        name = item.dtype if isinstance(item, Array) else dtypes.name_of(item.dtype)
        if item.shape != out.shape or name != out.dtype:
            raise ValueError(
                f"array_function: {self.__qualname__} must return shape {out.shape} and dtype "
                f"{out.dtype}, got {item.shape} and {name}"
            )
        return carrier(item)

# SPDX-License-Identifier: Apache-2.0
"""``compile``: the function and decorator that users call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from sycl_dnn.call.operation import P, R
from sycl_dnn.compiler.compiled_function import Compiled
from sycl_dnn.compiler.lowering import check_switches
from sycl_dnn.compiler.partitions import LOWERINGS

__all__ = ["compile"]

_DTYPES = (None, "bfloat16", "float16")


@overload
def compile(
    function: Callable[P, R],
    *,
    constants: str | Sequence[str] = (),
    dtype: str | None = None,
    cache_size: int = 64,
    fallback: str = "auto",
    passes: Mapping[str, bool] | None = None,
    lowering: str = "primitives",
) -> Compiled[P, R]: ...


@overload
def compile(
    function: None = None,
    *,
    constants: str | Sequence[str] = (),
    dtype: str | None = None,
    cache_size: int = 64,
    fallback: str = "auto",
    passes: Mapping[str, bool] | None = None,
    lowering: str = "primitives",
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...


def compile(
    function: Callable[..., Any] | None = None,
    *,
    constants: str | Sequence[str] = (),
    dtype: str | None = None,
    cache_size: int = 64,
    fallback: str = "auto",
    passes: Mapping[str, bool] | None = None,
    lowering: str = "primitives",
) -> Any:
    """Compile a function over ``sycl_dnn.functional``, or a training step; also as a decorator.

    Parameters
    ----------
    function : callable
        Takes and returns trees of arrays. A function in a class becomes a method, with
        programs for each instance. It is called once for each
        program, with objects in place of arrays that have shape and dtype but no values.
    constants : str or sequence of str
        Parameters whose arrays are constant, as arrays that the function holds itself and frozen
        ones are: weights. What depends on them alone is computed once.
    dtype : {None, "bfloat16", "float16"}
        Lower a float32 function: weights and activations are kept in this dtype, parameters of
        normalizations in float32; arrays come in and go out as float32. Where a device has no
        arithmetic of it the program is one of float32, with a ``FallbackWarning``.
    cache_size : int
        The maximum number of programs that are kept.
    fallback : {"auto", "error"}
        What happens where the device lacks an operation, or arithmetic of ``dtype``: ``"auto"``
        runs the function as it is, operation by operation, or in float32; ``"error"`` raises
        ``Unimplemented``.
    passes : dict of str to bool, optional
        Rewrites to switch on or off by name, for measurements: ``fuse_depthwise`` (on) runs
        depthwise convolutions inside the 1x1 ones before them, ``join_products`` (on) makes one
        product of those that have the same source, ``write_into_parts`` (on) writes what is
        concatenated into place at once.

    lowering : {"primitives", "partitions", "measured"}
        How attention and products with post-ops run: as primitives, as partitions of oneDNN's
        Graph API where it makes one of them, or as whichever is faster, measured when a
        program is made. ``explain`` says which way each went.

    Returns
    -------
    Compiled

    Raises
    ------
    ValueError
        An argument is out of its range.
    TypeError
        At a call: the function depends on values.

    Notes
    -----
    Constants must not be written to. What was computed from them does not change; other parts of
    the program may see the new values; ``clear`` makes it read them again.

    What the function reads from outside is compared at each call: numbers, strings and enumerations
    by value, arrays by identity, functions by their code, containers and instances by what is in
    them. If something was rebound, the function is compiled again, and the program made of what it
    held before is dropped. What no comparison can foresee (time, random numbers, files, iterators,
    values that dpnp computes while tracing) does not change.

    Floats among the arguments are values of each call as long as they meet only arrays and numbers.
    If the function needs the value of one (in a comparison, as a parameter of a function), it is
    compiled for that value.

    Source: oneDNN developer guide, "Primitive Attributes: Post-ops".
    """
    if dtype not in _DTYPES:
        raise ValueError(f"compile: dtype must be None, 'bfloat16' or 'float16', got {dtype!r}")
    if fallback not in ("auto", "error"):
        raise ValueError(f"compile: fallback must be 'auto' or 'error', got {fallback!r}")
    if cache_size < 1:
        raise ValueError(f"compile: cache_size must be at least 1, got {cache_size}")
    if lowering not in LOWERINGS:
        raise ValueError(
            f"compile: lowering must be one of {', '.join(LOWERINGS)}, got {lowering!r}"
        )
    check_switches("compile", passes or {})
    if function is None:
        return functools.partial(
            compile, constants=constants, dtype=dtype, cache_size=cache_size, fallback=fallback,
            passes=passes, lowering=lowering,
        )  # fmt: skip
    return Compiled(function, constants, dtype, cache_size, fallback, passes, lowering)

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
    donate: str | Sequence[str] = (),
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
    donate: str | Sequence[str] = (),
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
    donate: str | Sequence[str] = (),
) -> Any:
    """Compile a function over ``sycl_dnn.functional``, or a training step; also as a decorator.

    Parameters
    ----------
    function : callable
        Accepts and returns trees of arrays. A function in a class becomes a method, with programs
        for each instance. It is called once for each program. Arrays are then replaced by objects
        that have shape and dtype but no values.
    constants : str or sequence of str
        Parameters whose arrays are constant, such as weights; frozen arrays and those that the
        function refers to itself always are. What depends only on constants is computed once.
    dtype : {None, "bfloat16", "float16"}
        Lower a float32 function: weights and activations are kept in this dtype, parameters of
        normalizations in float32; arguments and results are float32. If a device has no arithmetic
        in it, the program uses float32, with a ``FallbackWarning``.
    cache_size : int
        The maximum number of programs that are kept.
    fallback : {"auto", "error"}
        What happens if the device lacks an operation, or arithmetic in ``dtype``: ``"auto"`` runs
        the function operation by operation, or in float32; ``"error"`` raises ``Unimplemented``.
    passes : dict of str to bool, optional
        Rewrites to switch on or off by name, for measurements. ``fuse_depthwise`` (on) runs
        depthwise convolutions inside the 1x1 ones before them, ``join_products`` (on) joins
        products that have the same source, ``write_into_parts`` (on) writes inputs of a
        concatenation directly into the result.

    lowering : {"primitives", "partitions", "measured"}
        How attention and products with post-ops run: as primitives, as partitions of oneDNN's Graph
        API if it offers one, or as the faster of the two, measured when a program is compiled.
        ``explain`` says which was chosen for each.
    donate : str or sequence of str
        Parameters that a call may overwrite with its results, if they have a result's shape,
        strides and dtype: the module and the state of a training step. The contents of their
        arrays after the call are not specified; use the results.

    Returns
    -------
    Compiled

    Raises
    ------
    ValueError
        An argument is out of its range, or ``donate`` names a constant.
    TypeError
        In a call: the function depends on values.

    Notes
    -----
    Constants must not be written to. Results computed from them would not change, while other parts
    of the program might read the new values. After ``clear`` they are read again.

    What the function reads from outside is compared at each call: numbers, strings and enumerations
    by value, arrays by identity, functions by their code, containers and instances by their
    contents. If something was rebound, the function is compiled again, and the program with the old
    value is dropped. Changes that no comparison can detect (time, random numbers, files, iterators,
    values that dpnp computes while tracing) are ignored.

    Floats among the arguments are values of each call as long as they are combined only with arrays
    and numbers. If the function needs the value of one (in a comparison, as a parameter of a
    function), it is compiled for that value.

    Source: oneDNN developer guide, "Primitive Attributes: Post-ops".

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> @sycl_dnn.compile
    ... def layer(x, w):
    ...     return F.relu(F.linear(x, w))
    >>> layer(F.ones(2, 3), F.ones(4, 3)).tolist()
    [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
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
            passes=passes, lowering=lowering, donate=donate,
        )  # fmt: skip
    return Compiled(function, constants, dtype, cache_size, fallback, passes, lowering, donate)

# SPDX-License-Identifier: Apache-2.0
"""The public function and decorator ``compile``."""

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
    """Compile a function of arrays, such as a model or a training step; also as a decorator.

    Parameters
    ----------
    function : callable
        Accepts and returns trees of arrays. A function in a class becomes a method with programs
        per instance. It is called once per program, with objects that have shape and dtype but no
        values instead of arrays.
    constants : str or sequence of str
        Parameters whose arrays are constant, such as weights; frozen and captured arrays are always
        constant. Computations that depend only on constants run once.
    dtype : {None, "bfloat16", "float16"}
        Compute a float32 function in this dtype: weights and activations are converted, while
        parameters of normalizations, arguments and results remain float32. If the device does not
        support the dtype, float32 is used with a ``FallbackWarning``.
    cache_size : int
        Maximum number of cached programs.
    fallback : {"auto", "error"}
        What to do if the device lacks an operation or ``dtype``: ``"auto"`` runs the function
        operation by operation, or in float32; ``"error"`` raises ``Unimplemented``.
    passes : dict of str to bool, optional
        Optional rewrites to enable or disable, for measurements. ``join_products`` (on) merges
        products with the same source, ``write_into_parts`` (on) writes inputs of a concatenation
        directly into the result, ``fuse_kernels`` (on) fuses kernels that read each other's
        results, ``join_launches`` (on) launches a kernel once for all arrays that need the same
        computation, ``run_on_host`` (on) computes consecutive small steps in one thread of a CPU.
    lowering : {"primitives", "partitions", "measured"}
        How to run attention and products with post-ops: as primitives, as partitions of oneDNN's
        Graph API where it offers one, or as the faster of the two, measured during compilation.
        ``explain`` shows each choice.
    donate : str or sequence of str
        Parameters whose arrays results may overwrite if shape, strides and dtype match, such as the
        module and optimizer state of a training step. Their contents after the call are
        unspecified; use the results.

    Returns
    -------
    Compiled

    Raises
    ------
    ValueError
        An argument is out of range, or ``donate`` names a constant.
    TypeError
        In a call: the function depends on values.

    Notes
    -----
    Constants must not be modified: results computed from them would not change, while other parts
    of the program might read the new values. They are read again after ``clear``.

    What the function reads from outside is compared in each call: numbers, strings and enumerations
    by value, arrays by identity, functions by their code, containers and instances by their
    contents. If something was rebound, the function is recompiled, and the outdated program is
    dropped. Changes that cannot be detected by comparison (time, random numbers outside of modules,
    files, iterators, values that dpnp computes while tracing) are ignored.

    Float arguments remain values of each call as long as they are only combined with arrays and
    numbers. If the function needs a value (in a comparison, or as a parameter of a function), it is
    compiled for that value.

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
    check_switches(passes or {})
    if function is None:
        return functools.partial(
            compile, constants=constants, dtype=dtype, cache_size=cache_size, fallback=fallback,
            passes=passes, lowering=lowering, donate=donate,
        )  # fmt: skip
    return Compiled(function, constants, dtype, cache_size, fallback, passes, lowering, donate)

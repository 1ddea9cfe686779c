# SPDX-License-Identifier: Apache-2.0
"""``compile``: the function and decorator that users call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sycl_dnn.compiler.compiled import Compiled
from sycl_dnn.compiler.passes import check_switches

__all__ = ["compile"]

_DTYPES = (None, "bfloat16", "float16")


def compile(
    function: Callable[..., Any] | None = None,
    *,
    constants: str | Sequence[str] = (),
    dtype: str | None = None,
    cache_size: int = 64,
    fallback: str = "auto",
    passes: Mapping[str, bool] | None = None,
) -> Any:
    """Compile a function over ``sycl_dnn.functional`` for inference; also as a decorator.

    Parameters
    ----------
    function : callable
        Takes and returns arrays, nested in lists, tuples and dicts. It is called once for each
        kind of arguments, with objects in place of arrays that have shape and dtype but no values.
    constants : str or sequence of str
        Parameters whose arrays stand still, as arrays that the function holds itself and frozen
        ones do: weights. What depends on them alone is computed once.
    dtype : {None, "bfloat16", "float16"}
        Lower a float32 function: weights and activations are kept in this dtype, parameters of
        normalizations in float32; arrays come in and go out as float32.
    cache_size : int
        Most programs that are kept.
    fallback : {"auto", "error"}
        What happens where the device lacks an operation: ``"auto"`` runs the function as it is,
        operation by operation; ``"error"`` raises ``Unimplemented``.
    passes : dict of str to bool, optional
        Rewrites to switch on or off by name, for measurements: ``join_products`` (on) makes one
        product of those that have the same source, ``write_into_parts`` (on) writes what is
        concatenated into place at once.

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
    Constants must not be written to. What was computed from them stays as it was, other parts of
    the program may see the new values; ``clear`` reads them anew.

    Source: oneDNN developer guide, "Primitive Attributes: Post-ops".
    """
    if dtype not in _DTYPES:
        raise ValueError(f"compile: dtype must be None, 'bfloat16' or 'float16', got {dtype!r}")
    if fallback not in ("auto", "error"):
        raise ValueError(f"compile: fallback must be 'auto' or 'error', got {fallback!r}")
    if cache_size < 1:
        raise ValueError(f"compile: cache_size must be at least 1, got {cache_size}")
    check_switches("compile", passes or {})
    if function is None:
        return functools.partial(
            compile, constants=constants, dtype=dtype, cache_size=cache_size, fallback=fallback,
            passes=passes,
        )  # fmt: skip
    return Compiled(function, constants, dtype, cache_size, fallback, passes)

# SPDX-License-Identifier: Apache-2.0
"""``debug_nans``: finds the first function that produces a NaN or infinity itself."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import dpnp

from sycl_dnn import tree
from sycl_dnn.trace import nested_arguments, policy
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.functions import astype
from sycl_dnn.trace.values import Tensor

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
#: Searched for in this order, the worst first.
_KINDS = {"NaN": dpnp.isnan, "infinity": dpnp.isinf}


class NonFiniteError(FloatingPointError):
    """A function produced a NaN or infinity from finite arguments; ``function`` names it."""

    def __init__(self, function: str, message: str) -> None:
        super().__init__(message)
        self.function = function


@contextlib.contextmanager
def debug_nans() -> Iterator[None]:
    """Raise at the first function whose result has a NaN or infinity that its arguments lack.

    Within the ``with`` block each call is waited for and its results are checked. Functions of
    ``sycl_dnn.functional`` are named directly; for compiled functions and those passed to ``vjp``
    and ``grad`` the error names the step: their operations run once more, one by one. It also gives
    the user's line. Calls bound by ``plan`` are not checked.

    Raises
    ------
    NonFiniteError
        A ``FloatingPointError``, by the calls in the block.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> with sycl_dnn.debug_nans():
    ...     try:
    ...         F.log(F.zeros(2))
    ...     except sycl_dnn.NonFiniteError:
    ...         print("log made an infinity")
    log made an infinity
    """
    with policy.using(debug_nans=True):
        yield


def kinds_in(values: Any) -> set[str]:
    """Return the kinds of nonfinite values in the arrays of a tree."""
    kinds: set[str] = set()
    for leaf in tree.leaves(values):
        array = leaf
        if isinstance(leaf, Array):
            array = astype(leaf, "float32") if leaf.dtype not in ("int4", "uint4") else None
        if nested_arguments.is_array(array) and array.dtype.kind in "fc":
            kinds |= {name for name, holds in _KINDS.items() if bool(dpnp.any(holds(array)))}
    return kinds


def checked_for_nans(
    name: str,
    run: Callable[[], Any],
    arguments: Any,
    rerun: Callable[[], Any] | None = None,
    of_result: Callable[[Any], Any] = lambda result: result,
) -> Any:
    """Return the result of ``run``, after checking that it is finite where the arguments are.

    ``rerun`` runs the same one operation at a time, to find the one responsible.
    """
    with policy.using(debug_nans=False):
        result = run()
        if any(isinstance(leaf, Tensor) for leaf in tree.leaves(result)):
            return result
        kinds = kinds_in(of_result(result))
        # A NaN may follow from an infinity, and an infinity from a NaN: neither is new then.
        if not kinds or kinds_in(arguments):
            return result
    if rerun is not None:
        rerun()
    kind = next(k for k in _KINDS if k in kinds)
    raise NonFiniteError(
        name, f"{name}: the result has {_article(kind)} that the arguments had not ({_line()})"
    )


def _article(kind: str) -> str:
    return {"NaN": "a NaN", "infinity": "an infinity"}[kind]


def _line() -> str:
    """Return the place in the program outside this package that led here."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"

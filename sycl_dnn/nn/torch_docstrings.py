# SPDX-License-Identifier: Apache-2.0
"""Docstrings of functions with torch's names: sections that follow from their signatures."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sycl_dnn.call.operation import SMOOTH, as_torch

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

_AXIS = "int\n    Negative ones count from the end."
_MATRICES = "array (*, m, n)"
#: What parameters are that have one meaning in all functions.
_PARAMETERS = {
    "input": "array (*)", "other": "array (*)\n    Shapes broadcast.", "dim": _AXIS,
    "keepdim": "bool\n    Whether the axis is kept, with one element.", "tensors": "arrays",
    "alpha": "number", "beta": "number", "A": _MATRICES,
    "dtype": "str or NumPy dtype, optional", "device": "dpctl.SyclQueue or str, optional",
    "options": "optional\n    ``dtype``, ``device`` and torch's others.",
}  # fmt: skip
_TYPES = "An argument is no array of a dtype that the function has."


def entries(function: Callable[..., Any], texts: Mapping[str, str]) -> str:
    """Return the entries for the parameters of a function, equal ones together."""

    def named(parameter: inspect.Parameter) -> str:
        return str(parameter.replace(annotation=parameter.empty, default=parameter.empty))

    parameters = inspect.signature(function).parameters.values()
    own = [(named(p), texts.get(p.name) or str(p.annotation)) for p in parameters]
    grouped = itertools.groupby(own, lambda pair: pair[1])
    return "".join(f"{', '.join(name for name, _ in group)} : {text}\n" for text, group in grouped)


_CLASS = """{}

Parameters
----------
{}
Notes
-----
Source: ``torch.{}``.
"""


def complete(cls: type, module: str, texts: Mapping[str, str]) -> None:
    """Add to the docstring of a class what its constructor takes, and its source in torch."""
    own = inspect.cleandoc(cls.__doc__ or "")
    cls.__doc__ = _CLASS.format(own, entries(cls, texts), module + cls.__name__)


def constructed(module: str, **texts: str) -> Callable[[C], C]:
    """Return a decorator that completes the docstring of a class, as ``described`` does."""

    def attach(cls: C) -> C:
        complete(cls, module, texts)
        return cls

    return attach


def described(
    returns: str, errors: str = "", *, types: str = _TYPES, notes: str | None = None,
    module: str = "", **parameters: str,
) -> Callable[[F], F]:  # fmt: skip
    """Return a decorator that completes a summary by what its function takes, returns and raises.

    Parameters
    ----------
    returns : str
        The result.
    errors, types : str
        When the function raises ValueError, if ever, and TypeError.
    notes : str, optional
        By default that there are derivatives, unless results are bools or integers.
    module : str
        The module of torch with a point, as ``linalg.``.
    **parameters : str
        What parameters are that are not numbers, bools or among the ones that all functions have.
    """
    if notes is None:
        notes = "" if any(kind in returns for kind in ("bool", "int", "str")) else SMOOTH

    def attach(function: F) -> F:
        function.__doc__ = as_torch(
            module + function.__name__, inspect.cleandoc(function.__doc__ or ""),
            entries(function, _PARAMETERS | parameters), returns=returns, types=types,
            errors=errors, notes=notes,
        )  # fmt: skip
        return function

    return attach

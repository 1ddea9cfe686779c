# SPDX-License-Identifier: Apache-2.0
"""What a function of the layer shows of itself: its signature and text, with ``out``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

_ARRAY = "dpnp.ndarray | Array"
_TEXT = """out : dpnp.ndarray or Array, optional
    Array that the result is written to: of the result's shape and dtype, on its queue.
"""
_BEFORE = "\nReturns\n-------"


class Function(Protocol[P, R]):
    """A function of ``sycl_dnn.functional``, which takes ``out`` as well."""

    operation: Any
    __name__: str
    __doc__: str | None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it."""


class _Bare(str):
    """The text of an annotation, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def takes_out(signature: inspect.Signature) -> bool:
    """Whether a function with this signature returns an array that may be given as ``out``."""
    returned = str(signature.return_annotation)
    return not returned.startswith(("tuple", "list", "QuantizedTensor"))


def with_out(function: Callable[..., Any], body: Callable[..., Any]) -> None:
    """Give ``function`` the signature and text of ``body``, ``out`` among its parameters."""
    signature = inspect.signature(body)
    parameters = [p for p in signature.parameters.values() if p.name != "_stacklevel"]
    if takes_out(signature) and "out" not in signature.parameters:
        kind = inspect.Parameter.KEYWORD_ONLY
        out = inspect.Parameter("out", kind, default=None, annotation=f"{_ARRAY} | None")
        at = len(parameters) - (bool(parameters) and parameters[-1].kind is out.VAR_KEYWORD)
        parameters.insert(at, out)
        describe_out(function)
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[p.replace(annotation=_bare(p.annotation)) for p in parameters],
        return_annotation=_bare(signature.return_annotation),
    )


def _bare(annotation: Any) -> Any:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def describe_out(function: Callable[..., Any]) -> None:
    """Add ``out`` to the parameters in the text of a function that takes it."""
    text = inspect.cleandoc(function.__doc__ or "")
    if text.count(_BEFORE) == 1 and "\nout : " not in text:
        function.__doc__ = text.replace(_BEFORE, _TEXT + _BEFORE)

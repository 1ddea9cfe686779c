# SPDX-License-Identifier: Apache-2.0
"""Blocks and functions without gradients, under torch's names: ``no_grad``, ``inference_mode``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sycl_dnn.trace.trace_state import TapePart, running_trace


class _Block:
    """A ``with`` block or a decorator that sets whether what runs inside has gradients."""

    _has_gradients: bool

    def __init__(self) -> None:
        #: For each time that it was entered: the trace, the part of its tape, the state before.
        self._entered: list[tuple[Any, Any, Any]] = []

    def __enter__(self) -> None:
        trace = running_trace()
        if trace is None:
            self._entered.append((None, None, None))
            return
        self._entered.append((trace, trace.tape_part(), trace.is_gradient_free))
        trace.is_gradient_free = not self._has_gradients

    def __exit__(self, *error: Any) -> None:
        trace, part, before = self._entered.pop()
        if trace is not None:
            trace.is_gradient_free = before
            trace.logged(TapePart.select_gradients, part, self._has_gradients)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        block = type(self)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with block.of(self):
                return function(*args, **kwargs)

        return inside

    @classmethod
    def of(cls, block: _Block) -> _Block:
        """Return a block as another, for one call of a decorated function."""
        block_copy = cls.__new__(cls)
        block_copy._entered, block_copy._has_gradients = [], block._has_gradients
        return block_copy


def _block_or_decorated(cls: Any, argument: Any) -> Any:
    """Return a new block, or the function that it decorates if ``argument`` is one."""
    block = object.__new__(cls)
    if callable(argument):
        block.__init__()
        return block(argument)
    return block


class _Simple(_Block):
    """One that may decorate a function without being called first."""

    def __new__(cls, function: Any = None) -> Any:
        """Return the block, or the decorated function."""
        return _block_or_decorated(cls, function)


_TEXT = """{summary}

    Parameters
    ----------
    {parameter}

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> def loss(x):
    ...     with {blocks}:
    ...         scale = F.sum(x)
    ...     return F.sum(x * scale)
    >>> sycl_dnn.grad(loss)(F.ones(2)).tolist()
    {gradient}
    """
_FUNCTION = """function : callable, optional
        The decorated function, for ``@{}`` without parentheses."""


class no_grad(_Simple):  # noqa: N801, D101 - below
    _has_gradients = False

    def __init__(self, function: Any = None) -> None:
        super().__init__()


class enable_grad(_Simple):  # noqa: N801, D101 - below
    _has_gradients = True

    def __init__(self, function: Any = None) -> None:
        super().__init__()


class set_grad_enabled(_Block):  # noqa: N801, D101 - below
    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._has_gradients = bool(mode)


class inference_mode(set_grad_enabled):  # noqa: N801, D101 - below
    def __new__(cls, mode: Any = True) -> Any:
        """Return the block, or the decorated function."""
        return _block_or_decorated(cls, mode)

    def __init__(self, mode: Any = True) -> None:
        super().__init__(not mode)


no_grad.__doc__ = _TEXT.format(
    summary="""Compute without gradients, as ``torch.no_grad``.

    In a differentiated function, what runs inside is constant to gradients. Elsewhere it has no
    effect: only ``grad`` and similar transforms compute gradients.""",
    parameter=_FUNCTION.format("no_grad"), blocks="sycl_dnn.no_grad()", gradient="[2.0, 2.0]",
)  # fmt: skip
enable_grad.__doc__ = _TEXT.format(
    summary="Undo ``no_grad`` inside of it, as ``torch.enable_grad``.",
    parameter=_FUNCTION.format("enable_grad"),
    blocks="sycl_dnn.no_grad(), sycl_dnn.enable_grad()", gradient="[4.0, 4.0]",
)  # fmt: skip
set_grad_enabled.__doc__ = _TEXT.format(
    summary="``enable_grad`` or ``no_grad``, chosen by a value; a context manager and decorator.",
    parameter="mode : bool\n        Whether what runs inside has gradients.",
    blocks="sycl_dnn.set_grad_enabled(False)", gradient="[2.0, 2.0]",
)  # fmt: skip
inference_mode.__doc__ = _TEXT.format(
    summary="Another name for ``no_grad``, as ``torch.inference_mode``.",
    parameter="mode : bool\n        Whether it is in effect.",
    blocks="sycl_dnn.inference_mode()", gradient="[2.0, 2.0]",
)  # fmt: skip

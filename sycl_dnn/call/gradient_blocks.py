# SPDX-License-Identifier: Apache-2.0
"""Blocks and functions without gradients, under torch's names: ``no_grad``, ``inference_mode``."""

from __future__ import annotations

import contextlib
from typing import Any

from sycl_dnn.trace.trace_state import TapePart, running_trace


class _Block(contextlib.ContextDecorator):
    """A ``with`` block or a decorator that sets whether what runs inside has gradients."""

    def __init__(self, has_gradients: bool) -> None:
        self._has_gradients = has_gradients
        #: For each time that it was entered: the trace, the part of its tape, the state before.
        self._entered: list[tuple[Any, Any, Any]] = []

    def _recreate_cm(self) -> _Block:
        """Return the block of one call of a decorated function, which several threads may run."""
        return _Block(self._has_gradients)

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


def no_grad(function: Any = None) -> Any:
    """Compute without gradients, as ``torch.no_grad``.

    In a differentiated function, what runs inside is constant to gradients. Elsewhere it has no
    effect: only ``grad`` and similar transforms compute gradients.

    Parameters
    ----------
    function : callable, optional
        The decorated function, for ``@no_grad`` without parentheses.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> def loss(x):
    ...     with sycl_dnn.no_grad():
    ...         scale = F.sum(x)
    ...     return F.sum(x * scale)
    >>> sycl_dnn.grad(loss)(F.ones(2)).tolist()
    [2.0, 2.0]
    """
    return _Block(False) if function is None else _Block(False)(function)


def enable_grad(function: Any = None) -> Any:
    """Undo ``no_grad`` inside of it, as ``torch.enable_grad``.

    Parameters
    ----------
    function : callable, optional
        The decorated function, for ``@enable_grad`` without parentheses.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> def loss(x):
    ...     with sycl_dnn.no_grad(), sycl_dnn.enable_grad():
    ...         return F.sum(x * x)
    >>> sycl_dnn.grad(loss)(F.ones(2)).tolist()
    [2.0, 2.0]
    """
    return _Block(True) if function is None else _Block(True)(function)


def set_grad_enabled(mode: bool) -> Any:
    """``enable_grad`` or ``no_grad``, chosen by a value; a context manager and decorator.

    Parameters
    ----------
    mode : bool
        Whether what runs inside has gradients.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> stopped = sycl_dnn.set_grad_enabled(False)(F.sum)
    >>> sycl_dnn.grad(lambda x: F.sum(x * stopped(x)))(F.ones(2)).tolist()
    [2.0, 2.0]
    """
    return _Block(bool(mode))


def inference_mode(mode: Any = True) -> Any:
    """Another name for ``no_grad``, as ``torch.inference_mode``.

    Parameters
    ----------
    mode : bool or callable
        Whether it is in effect; or the decorated function.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> stopped = sycl_dnn.inference_mode(F.sum)
    >>> sycl_dnn.grad(lambda x: F.sum(x * stopped(x)))(F.ones(2)).tolist()
    [2.0, 2.0]
    """
    return no_grad(mode) if callable(mode) else _Block(not mode)

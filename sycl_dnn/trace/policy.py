# SPDX-License-Identifier: Apache-2.0
"""The settings that calls depend on: what may be done when the engine lacks an operation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

from sycl_dnn._warn import warn

_FALLBACKS = ("auto", "error")


class FallbackWarning(UserWarning):
    """An operation ran in another dtype or on another device than its arrays ask for."""


class ReferenceWarning(UserWarning):
    """oneDNN has only its slow reference implementation for an operation."""


class Policy(NamedTuple):
    """The settings that a plan depends on; part of its key."""

    fallback: str = "auto"
    #: The dtype of products in a region of ``autocast``.
    autocast: str | None = None


_default = Policy()
_here: ContextVar[Policy | None] = ContextVar("sycl_dnn_policy", default=None)
_said: set[tuple[Any, ...]] = set()


def current() -> Policy:
    """Return the settings in force: those of a ``with`` block, else those of the process."""
    return _here.get() or _default


def _check(name: str, value: str, known: Any) -> str:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    return value


def set_fallback(mode: str) -> None:
    """Say, for the whole process, what happens when an engine lacks an operation.

    Parameters
    ----------
    mode : {"auto", "error"}
        ``"auto"``: compute in float32 on the same device, or on the CPU, with one warning.
        ``"error"``: raise ``Unimplemented``.
    """
    global _default
    _default = _default._replace(fallback=_check("mode", mode, _FALLBACKS))


@contextlib.contextmanager
def fallback(mode: str) -> Iterator[None]:
    """``set_fallback`` for the calls inside a ``with`` block."""
    with using(fallback=_check("mode", mode, _FALLBACKS)):
        yield


@contextlib.contextmanager
def using(**settings: Any) -> Iterator[None]:
    """Replace settings by name inside a ``with`` block."""
    token = _here.set(current()._replace(**settings))
    try:
        yield
    finally:
        _here.reset(token)


def warn_once(kind: type[Warning], key: tuple[Any, ...], text: str) -> None:
    """Warn the first time that ``key`` comes up in the process."""
    if key in _said:
        return
    _said.add(key)
    warn(text, kind)

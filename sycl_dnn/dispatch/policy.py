# SPDX-License-Identifier: Apache-2.0
"""What a call may do when the engine lacks an operation, and the arithmetic of float32."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

from sycl_dnn._core import PrimitiveAttr, fpmath_mode
from sycl_dnn._warn import warn

__all__ = ["FallbackWarning", "ReferenceWarning", "autocast", "current", "fallback", "set_fallback"]

_FALLBACKS = ("auto", "error")
_COMPUTE = {
    "float32": None,
    "bfloat16": fpmath_mode.bf16,
    "float16": fpmath_mode.f16,
    "tf32": fpmath_mode.tf32,
}


class FallbackWarning(UserWarning):
    """An operation ran in another dtype or on another device than its arrays ask for."""


class ReferenceWarning(UserWarning):
    """oneDNN has only its slow reference implementation for an operation."""


class Policy(NamedTuple):
    """The settings that a plan depends on; part of its key."""

    fallback: str = "auto"
    compute: str = "float32"


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
    token = _here.set(current()._replace(fallback=_check("mode", mode, _FALLBACKS)))
    try:
        yield
    finally:
        _here.reset(token)


@contextlib.contextmanager
def autocast(compute_dtype: str) -> Iterator[None]:
    """Let float32 operations inside a ``with`` block compute with fewer bits.

    Parameters
    ----------
    compute_dtype : {"bfloat16", "float16", "tf32", "float32"}
        What multiplications may round their inputs to; arrays stay float32. Devices without such
        units compute in float32.

    Notes
    -----
    Source: oneDNN developer guide, "Primitive Attributes: floating-point math mode".
    """
    compute = _check("compute_dtype", compute_dtype, _COMPUTE)
    token = _here.set(current()._replace(compute=compute))
    try:
        yield
    finally:
        _here.reset(token)


def apply_compute(attr: PrimitiveAttr | None) -> PrimitiveAttr | None:
    """Return the attribute with the arithmetic that is in force, unless it has its own."""
    mode = _COMPUTE[current().compute]
    if mode is None or (attr is not None and attr.get("set_fpmath_mode")):
        return attr
    made = PrimitiveAttr() if attr is None else attr.copy()
    made.set_fpmath_mode(mode)
    return made


def warn_once(kind: type[Warning], key: tuple[Any, ...], text: str) -> None:
    """Warn the first time that ``key`` comes up in the process."""
    if key in _said:
        return
    _said.add(key)
    warn(text, kind)

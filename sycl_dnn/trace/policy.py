# SPDX-License-Identifier: Apache-2.0
"""The settings that plans depend on: fallbacks for missing operations, NaN, kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

from sycl_dnn._warn import warn

_FALLBACKS = ("auto", "error")
_NANS = ("fast", "propagate")
_KERNELS = ("auto", "always", "never")


class FallbackWarning(UserWarning):
    """An operation ran in a different dtype or on a different device than its arrays have."""


class Policy(NamedTuple):
    """The settings that a plan depends on; part of its key."""

    fallback: str = "auto"
    #: The dtype of products in a region of ``autocast``.
    autocast: str | None = None
    #: Whether NaN propagates even if that needs additional passes.
    nan: str = "fast"
    #: Whether each result is searched for NaN and infinities.
    debug_nans: bool = False
    #: When kernels compiled at run time replace oneDNN's primitives.
    kernels: str = "auto"
    #: Whether arrays have torch's methods everywhere, not only in modules.
    torch_methods: bool = False


#: Those of the process; one item.
_process = [Policy()]
_here: ContextVar[Policy | None] = ContextVar("sycl_dnn_policy", default=None)
#: Equal settings are one object: calls are distinguished by its identity.
_interned: dict[Policy, Policy] = {}
#: From here ``_core.CallTable`` reads the current settings.
SOURCES = (_here, _process)
_warned: set[tuple[Any, ...]] = set()


def current() -> Policy:
    """Return the current settings: those of a ``with`` block, else those of the process."""
    return _here.get() or _process[0]


def _check(name: str, value: str, allowed: Any) -> str:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def _set(**settings: Any) -> None:
    """Replace settings of the process, and those of the ``with`` block that the caller is in."""
    _process[0] = _process[0]._replace(**settings)
    if _here.get() is not None:
        _here.set(_with(settings))


def _with(settings: dict[str, Any]) -> Policy:
    settings_here = current()._replace(**settings)
    return _interned.setdefault(settings_here, settings_here)


def set_fallback(mode: str) -> None:
    """Set, for the whole process, what happens when an engine lacks an operation.

    Parameters
    ----------
    mode : {"auto", "error"}
        ``"auto"``: compute in float32 on the same device, or on the CPU, with one warning.
        ``"error"``: raise ``Unimplemented``.

    Examples
    --------
    >>> import sycl_dnn
    >>> sycl_dnn.set_fallback("error")
    >>> sycl_dnn.set_fallback("auto")  # the default
    """
    _set(fallback=_check("mode", mode, _FALLBACKS))


@contextlib.contextmanager
def fallback(mode: str) -> Iterator[None]:
    """``set_fallback`` for the calls inside a ``with`` block.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> with sycl_dnn.fallback("error"):
    ...     y = F.relu(F.ones(2))
    """
    with using(fallback=_check("mode", mode, _FALLBACKS)):
        yield


def set_nan(mode: str) -> None:
    """Set, for the whole process, how functions treat NaN and infinities.

    Parameters
    ----------
    mode : {"fast", "propagate"}
        ``"fast"``: oneDNN's results where PyTorch's would take longer: max pools lose NaN, and
        attention is NaN for scores of minus infinity alone. docs/security.md has the list.
        ``"propagate"``: PyTorch's results everywhere, forward and backward, at the cost of
        additional passes over the data in these functions.

    Examples
    --------
    >>> import sycl_dnn
    >>> sycl_dnn.set_nan("propagate")
    >>> sycl_dnn.set_nan("fast")  # the default
    """
    _set(nan=_check("mode", mode, _NANS))


@contextlib.contextmanager
def nan_mode(mode: str) -> Iterator[None]:
    """``set_nan`` for the calls inside a ``with`` block.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> with sycl_dnn.nan_mode("propagate"):
    ...     print(F.relu(F.full((2,), float("nan"))))
    [nan nan]
    """
    with using(nan=_check("mode", mode, _NANS)):
        yield


def set_kernels(mode: str) -> None:
    """Set, for the whole process, when handwritten kernels replace oneDNN's primitives.

    Parameters
    ----------
    mode : {"auto", "always", "never"}
        ``"auto"``: where they were measured to be faster: on CPUs for arrays of at least about
        a megabyte, and for copies of 16-bit floats by the host on CPUs without instructions for
        them. ``"always"``: wherever one is available, also on GPUs.
        ``"never"``: oneDNN's primitives instead; generated kernels, which replace none, run.

    Notes
    -----
    Kernels are OpenCL C, so they need an OpenCL device and a driver with a compiler. On other
    devices, including those of Level Zero, oneDNN's primitives run. The first call of a kind takes
    about 0.1 s longer.

    Examples
    --------
    >>> import sycl_dnn
    >>> sycl_dnn.set_kernels("never")
    >>> sycl_dnn.set_kernels("auto")  # the default
    """
    _set(kernels=_check("mode", mode, _KERNELS))


@contextlib.contextmanager
def kernel_mode(mode: str) -> Iterator[None]:
    """``set_kernels`` for the calls inside a ``with`` block.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> with sycl_dnn.kernel_mode("always"):
    ...     y = F.group_norm(F.ones(2, 8, 3), 4)
    """
    with using(kernels=_check("mode", mode, _KERNELS)):
        yield


def set_torch_methods(enabled: bool) -> None:
    """Set, for the whole process, whether traced arrays have torch's methods everywhere."""
    _set(torch_methods=enabled)


@contextlib.contextmanager
def using(**settings: Any) -> Iterator[None]:
    """Replace settings by name inside a ``with`` block."""
    with restored(_with(settings)):
        yield


@contextlib.contextmanager
def restored(settings: Policy) -> Iterator[None]:
    """Use settings that ``current`` returned."""
    token = _here.set(settings)
    try:
        yield
    finally:
        _here.reset(token)


def warn_once(kind: type[Warning], key: tuple[Any, ...], text: str) -> None:
    """Warn the first time that ``key`` occurs in the process."""
    if key in _warned:
        return
    _warned.add(key)
    warn(text, kind)

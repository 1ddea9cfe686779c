# SPDX-License-Identifier: Apache-2.0
"""torch's windows: periodic by default in ``torch``, symmetric in ``torch.signal.windows``."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.call.operation import named
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.module_arrays import with_methods

_TEXT = """Return {what}.

Parameters
----------
{length} : int
    Number of elements.
{flag} : bool
    {meaning}
{about}**options
    ``dtype``, float32 by default or another floating-point one, ``device``, and torch's others.

Returns
-------
array ({length},)

Raises
------
TypeError
    ``dtype`` is not floating-point{types}.
ValueError
    ``{length}`` is no integer of at least 0{values}.

Notes
-----
Source: ``torch.{source}``.
"""
#: By place in torch: the names of the length and of the flag, and what the flag means.
_PLACES = {
    "": ("window_length", "periodic", "Whether to leave out the last of one more element."),
    "signal.windows.": ("M", "sym", "Whether not to leave out the last of one more element."),
}


def cosine_sum(n: int, factors: Sequence[float]) -> np.ndarray:
    """Return the symmetric window of ``n`` elements that is an alternating sum of cosines."""
    angles = 2 * np.pi * np.arange(n) / max(n - 1, 1)
    return sum(((-1) ** i * f * np.cos(i * angles) for i, f in enumerate(factors)), np.zeros(n))


def _elements(
    name: str, symmetric: Callable[[int], np.ndarray], length: Any, periodic: bool, is_one: bool,
    dtype: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """Return a symmetric window, or a periodic one; a single element is 1 if ``is_one``."""
    n = checked_int(name, "window_length", length, 0)
    dtype = dtypes.name_of(dtype or "float32")
    if not dtypes.is_float(dtype):
        raise TypeError(f"{name}: dtype must be floating-point, got {dtype}")
    values = np.ones(1) if n == 1 and is_one else symmetric(n + bool(periodic and n > 1))[:n]
    return with_methods(F.tensor(values, dtype=dtype, **options))


def _window(
    place: str, name: str, what: str, symmetric: Callable[..., np.ndarray], *texts: str,
    is_one: bool = True, **defaults: Any,
) -> Any:  # fmt: skip
    """Return the function of a window; ``symmetric`` takes a number of elements and ``defaults``.

    ``texts`` describe the parameters, and further reasons of TypeError and ValueError.
    """
    length, flag, meaning = _PLACES[place]
    kinds = inspect.Parameter
    rest = kinds.KEYWORD_ONLY if place else kinds.POSITIONAL_OR_KEYWORD
    parameters = [kinds(n, rest, default=v) for n, v in {flag: True, **defaults}.items()]
    first, last = kinds(length, kinds.POSITIONAL_OR_KEYWORD), kinds("options", kinds.VAR_KEYWORD)
    signature = inspect.Signature([first, *parameters, last])

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        bound.apply_defaults()
        given = bound.arguments
        values = partial(symmetric, **{n: given[n] for n in defaults})
        is_periodic = bool(given[flag]) is not bool(place)
        return _elements(name, values, given[length], is_periodic, is_one, **given["options"])

    function.__signature__ = signature  # type: ignore[attr-defined]
    about, types, values = (*texts, "", "", "")[:3]
    text = _TEXT.format(
        what=what, length=length, flag=flag, meaning=meaning, about=about, types=types,
        values=values, source=place + name,
    )  # fmt: skip
    return named(function, name, text)


def _centered(n: int) -> np.ndarray:
    return np.arange(n) - (n - 1) / 2


def _cosines(*factors: float) -> Callable[[int], np.ndarray]:
    return partial(cosine_sum, factors=factors)


def _general_cosine(n: int, a: Any) -> np.ndarray:
    if not isinstance(a, Sequence):
        raise TypeError(f"general_cosine: a must be a sequence of numbers, got {type(a).__name__}")
    if not a:
        raise ValueError("general_cosine: a must have numbers, got none")
    return cosine_sum(n, a)


def _kaiser(n: int, beta: float) -> np.ndarray:
    if not beta >= 0:
        raise ValueError(f"kaiser: beta must not be negative, got {beta}")
    return np.kaiser(n, beta)


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise ValueError(f"{name} must be positive, got {value}")
    return value


def _gaussian(n: int, std: float) -> np.ndarray:
    return np.exp(-((_centered(n) / (_positive("gaussian: std", std) * math.sqrt(2))) ** 2))


def _exponential(n: int, center: float | None, tau: float) -> np.ndarray:
    _positive("exponential: tau", tau)
    return np.exp(-abs(_centered(n) if center is None else np.arange(n) - center) / tau)


_FACTOR = "{} : float\n    {}\n"
_BETA = _FACTOR.format("beta", "The larger, the narrower the window.")

_in_torch = partial(_window, "")
hann_window = _in_torch("hann_window", "a raised cosine", _cosines(0.5, 0.5))
hamming_window = _in_torch(
    "hamming_window", "``alpha - beta * cos``",
    lambda n, alpha, beta: cosine_sum(n, (alpha, beta)), "alpha, beta : float\n",
    alpha=0.54, beta=0.46,
)  # fmt: skip
blackman_window = _in_torch("blackman_window", "a sum of two cosines", _cosines(0.42, 0.5, 0.08))
bartlett_window = _in_torch("bartlett_window", "a triangle", np.bartlett)
kaiser_window = _in_torch("kaiser_window", "Kaiser's window", np.kaiser, _BETA, beta=12.0)

_in_signal = partial(_window, "signal.windows.")
_exponential_window = _in_signal(
    "exponential", "``exp(-abs(n - center) / tau)``", _exponential,
    "center : float, optional\n    The middle by default, and of symmetric windows.\n"
    + _FACTOR.format("tau", "Positive."),
    "", ", ``center`` is that of a symmetric window, or ``tau`` not positive",
    is_one=False, center=None, tau=1.0,
)  # fmt: skip


@functools.wraps(_exponential_window)
def _checked(*args: Any, sym: bool = True, center: float | None = None, **options: Any) -> Any:
    if sym and center is not None:
        raise ValueError(f"exponential: center must be None for symmetric windows, got {center}")
    return _exponential_window(*args, sym=sym, center=center, **options)


windows = SimpleNamespace(
    exponential=_checked,
    bartlett=_in_signal("bartlett", "a triangle", np.bartlett),
    blackman=_in_signal("blackman", "a sum of two cosines", _cosines(0.42, 0.5, 0.08)),
    cosine=_in_signal(
        "cosine", "half a sine", lambda n: np.sin(math.pi * (np.arange(n) + 0.5) / n)
    ),
    gaussian=_in_signal(
        "gaussian", "a bell", _gaussian, _FACTOR.format("std", "Positive."), "",
        ", or ``std`` is not positive", std=1.0,
    ),
    general_cosine=_in_signal(
        "general_cosine", "an alternating sum of cosines", _general_cosine,
        "a : sequence of float\n    Factors of the cosines; the first one is added.\n",
        ", or ``a`` is no sequence", ", or ``a`` is empty", a=None,
    ),
    general_hamming=_in_signal(
        "general_hamming", "``alpha - (1 - alpha) * cos``",
        lambda n, alpha: cosine_sum(n, (alpha, 1 - alpha)), "alpha : float\n", alpha=0.54,
    ),
    hamming=_in_signal("hamming", "a raised cosine", _cosines(0.54, 0.46)),
    hann=_in_signal("hann", "a raised cosine", _cosines(0.5, 0.5)),
    kaiser=_in_signal(
        "kaiser", "Kaiser's window", _kaiser, _BETA, "", ", or ``beta`` is negative", beta=12.0
    ),
    nuttall=_in_signal(
        "nuttall", "a sum of three cosines", _cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411)
    ),
)  # fmt: skip
#: ``torch.signal``.
signal = SimpleNamespace(windows=windows)

# SPDX-License-Identifier: Apache-2.0
"""``torch.signal.windows``, symmetric by default, and ``torch.fft`` with all of its names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.functional.shape.reshaping import check_axes
from sycl_dnn.nn.torch_signal import cosine_sum, window


def _row(name: str, what: str, symmetric: Callable[..., Any], **defaults: Any) -> Any:
    """Make a function of ``M`` and options from that of a symmetric window of ``n`` elements."""

    def function(M: int, *, sym: bool = True, **options: Any) -> Any:  # noqa: N803 - torch's name
        given = {n: options.pop(n, value) for n, value in defaults.items()}
        return window(name, lambda n: symmetric(n, **given), M, not sym, **options)

    function.__name__ = name
    listed = ", ".join(["M", "*", *(f"{n}={v}" for n, v in defaults.items()), "sym=True"])
    function.__doc__ = f"""Return {what}, (M,): ``{name}({listed})``.

    Options are those of ``hann_window``. Source: ``torch.signal.windows.{name}``.
    """
    return function


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise ValueError(f"{name} must be positive, got {value}")
    return value


def _centered(n: int) -> np.ndarray:
    return np.arange(n) - (n - 1) / 2


def _general_cosine(n: int, a: Any) -> np.ndarray:
    if not isinstance(a, Sequence):
        raise TypeError(f"general_cosine: a must be a sequence of numbers, got {type(a).__name__}")
    if not a:
        raise ValueError("general_cosine: a must have numbers, got none")
    return cosine_sum(n, a)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0,  # noqa: N803 - torch's name
    sym: bool = True, **options: Any,
) -> Any:  # fmt: skip
    """Return ``exp(-abs(n - center) / tau)``, (M,); in the middle unless ``center`` is given."""
    _positive("exponential: tau", tau)
    if sym and center is not None:
        raise ValueError(f"exponential: center must be None for symmetric windows, got {center}")
    if center is None:
        return window("exponential", lambda n: np.exp(-abs(_centered(n)) / tau), M, not sym,
                      **options)  # fmt: skip
    return window("exponential", lambda n: np.exp(-abs(np.arange(n) - center) / tau), M, False,
                  is_one=False, **options)  # fmt: skip


def _kaiser(n: int, beta: float) -> np.ndarray:
    if not beta >= 0:
        raise ValueError(f"kaiser: beta must not be negative, got {beta}")
    return np.kaiser(n, beta)


windows = SimpleNamespace(
    exponential=exponential,
    bartlett=_row("bartlett", "a triangle", np.bartlett),
    blackman=_row("blackman", "a sum of two cosines", lambda n: cosine_sum(n, (0.42, 0.5, 0.08))),
    cosine=_row("cosine", "half a sine", lambda n: np.sin(math.pi * (np.arange(n) + 0.5) / n)),
    gaussian=_row(
        "gaussian", "a bell", std=1.0,
        symmetric=lambda n, std: np.exp(
            -((_centered(n) / (_positive("gaussian: std", std) * math.sqrt(2))) ** 2)
        ),
    ),
    general_cosine=_row("general_cosine", "a sum of cosines", _general_cosine, a=None),
    general_hamming=_row(
        "general_hamming", "a raised cosine", alpha=0.54,
        symmetric=lambda n, alpha: cosine_sum(n, (alpha, 1 - alpha)),
    ),
    hamming=_row("hamming", "a raised cosine", lambda n: cosine_sum(n, (0.54, 0.46))),
    hann=_row("hann", "a raised cosine", lambda n: cosine_sum(n, (0.5, 0.5))),
    kaiser=_row("kaiser", "Kaiser's window", _kaiser, beta=12.0),
    nuttall=_row(
        "nuttall", "a sum of three cosines",
        lambda n: cosine_sum(n, (0.3635819, 0.4891775, 0.1365995, 0.0106411)),
    ),
)  # fmt: skip
#: ``torch.signal``.
signal = SimpleNamespace(windows=windows)


# --- torch.fft


def hfftn(
    input: Any, s: Sequence[int] | None = None, dim: Any = None, norm: str | None = None
) -> Any:
    """Return the real transform along axes of numbers with a half along the last one."""
    axes, sizes = _axes(input, s, dim)
    first = F.fft.fftn(input, sizes[:-1], axes[:-1], norm) if axes[1:] else input
    return F.fft.hfft(first, sizes[-1], axes[-1], norm)


def ihfftn(
    input: Any, s: Sequence[int] | None = None, dim: Any = None, norm: str | None = None
) -> Any:
    """Return half of the inverse transform along axes of real numbers."""
    axes, sizes = _axes(input, s, dim)
    half = F.fft.ihfft(input, sizes[-1], axes[-1], norm)
    return F.fft.ifftn(half, sizes[:-1], axes[:-1], norm) if axes[1:] else half


def _axes(input: Any, s: Any, dim: Any) -> tuple[Any, Any]:
    """Return axes, and sizes along them: None for all but the last is that of the input."""
    if dim is None:
        dim = range(input.ndim) if s is None else range(input.ndim - len(s), input.ndim)
    axes = check_axes("fft", (dim,) if isinstance(dim, int) else tuple(dim), input.ndim)
    if s is not None and len(s) != len(axes):
        raise ValueError(f"fft: s must have a size for each of the axes {axes}, got {tuple(s)}")
    if not axes:
        raise ValueError(f"fft: input must have an axis to transform, got {tuple(input.shape)}")
    return axes, (*[-1] * (len(axes) - 1), None) if s is None else tuple(s)


def hfft2(
    input: Any, s: Sequence[int] | None = None, dim: Any = (-2, -1), norm: str | None = None
) -> Any:
    """Return the real transform along two axes of numbers with a half along the last one."""
    return hfftn(input, s, dim, norm)


def ihfft2(
    input: Any, s: Sequence[int] | None = None, dim: Any = (-2, -1), norm: str | None = None
) -> Any:
    """Return half of the inverse transform along two axes of real numbers."""
    return ihfftn(input, s, dim, norm)


fft = SimpleNamespace(
    **{name: getattr(F.fft, name) for name in F.fft.__all__},
    hfft2=hfft2, hfftn=hfftn, ihfft2=ihfft2, ihfftn=ihfftn,
)  # fmt: skip

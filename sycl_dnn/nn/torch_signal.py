# SPDX-License-Identifier: Apache-2.0
"""Short-time Fourier transforms, and ``torch.fft`` with all of its names.

Frames are columns of ``F.unfold`` and their sum is ``F.fold``, so all derivatives, ``vmap`` and
compiled functions follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.functional.shape.reshaping import check_axes, checked_int
from sycl_dnn.nn.torch_docstrings import described
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions
from sycl_dnn.trace.trace_state import running_trace

# --- Frames


def _sizes(name: str, n_fft: Any, hop_length: Any, win_length: Any) -> tuple[int, int, int]:
    n = checked_int(name, "n_fft", n_fft, 1)
    hop = checked_int(name, "hop_length", n // 4 if hop_length is None else hop_length, 1)
    width = checked_int(name, "win_length", n if win_length is None else win_length, 1)
    if width > n:
        raise ValueError(f"{name}: win_length must be at most n_fft, {n}, got {width}")
    return n, hop, width


def _column(name: str, window: Any, width: int, n: int, like: Any) -> Any:
    """Return a window in the middle of a column (n, 1); None for ones."""
    if window is None:
        if width == n:
            return None
        part = dtypes.part_of(str(like.dtype))
        window = F.ones(width, dtype=part, device=like.device)
    if tuple(window.shape) != (width,):
        raise ValueError(
            f"{name}: window must have shape ({width},), as win_length says, got "
            f"{tuple(window.shape)}"
        )
    left = (n - width) // 2
    return F.reshape(F.pad(window, (left, n - width - left)) if width < n else window, (n, 1))


def _is_complex(*arrays: Any) -> bool:
    return any(x is not None and F.is_complex(x) for x in arrays)


def _of_parts(function: Callable[[Any], Any], x: Any) -> Any:
    """Apply a linear function of real rows (B, ...) to real or complex ones."""
    if not F.is_complex(x):
        return function(x)
    return F.complex(function(F.real(x)), function(F.imag(x)))


def _overlapped(columns: Any, hop: int) -> Any:
    """Return the sums (B, samples) of frames (B, n, frames)."""
    _, n, frames = columns.shape
    size = (1, n + hop * (frames - 1))
    return _of_parts(lambda x: F.fold(x, size, (1, n), stride=(1, hop))[:, 0, 0], columns)


# --- Transforms


def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """Return the Fourier transforms of the frames of signals.

    Parameters
    ----------
    input : array (B, L) or (L,)
        float32, float64 or complex.
    n_fft : int
        Size of a frame.
    hop_length : int, optional
        Distance of frames, ``n_fft // 4`` by default.
    win_length : int, optional
        Size of the window, ``n_fft`` by default; smaller ones are in the middle of zeros.
    window : array (win_length,), optional
        Factors of each frame, ones by default.
    center : bool
        Frames are centered at multiples of ``hop_length``: the ends are padded by ``pad_mode``.
    normalized : bool
        Divide by the root of ``n_fft``.
    onesided : bool, optional
        Return the frequencies that are not negative; by default if input and window are real.
    return_complex : bool
        True, or False for an array (..., 2) of parts; required if all are real.
    align_to_window : bool, optional
        Without ``center``, the first window begins at the first sample instead of the first frame.

    Returns
    -------
    array (B, N, T) or (N, T)
        ``N`` frequencies of ``T`` frames: ``n_fft``, or ``n_fft // 2 + 1`` if ``onesided``.

    Raises
    ------
    TypeError, ValueError
        A size, a shape or a dtype is none of these.

    Notes
    -----
    Differentiable to any order. Source: ``torch.stft``.

    Examples
    --------
    >>> from sycl_dnn.nn import torch_names as torch
    >>> x, window = torch.randn(2, 400), torch.hann_window(64)
    >>> spectra = torch.stft(x, 64, 16, window=window, return_complex=True)
    >>> spectra.shape
    (2, 33, 26)
    >>> y = torch.istft(spectra, 64, 16, window=window, length=400)
    >>> bool((torch.abs(x - y) < 1e-5).all())
    True
    """
    n, hop, width = _sizes("stft", n_fft, hop_length, win_length)
    dtype = str(input.dtype)
    if not (dtypes.is_float(dtype) or dtypes.is_complex(dtype)):
        raise TypeError(f"stft: input must be floating-point or complex, got {dtype}")
    if input.ndim not in (1, 2):
        raise ValueError(f"stft: input must have 1 or 2 axes, got shape {tuple(input.shape)}")
    is_complex = _is_complex(input, window)
    if return_complex is None and not is_complex:
        raise ValueError("stft: return_complex must be True or False for real input, got None")
    if onesided and is_complex:
        raise ValueError("stft: onesided must not be True for complex input or window")
    if center and align_to_window is not None:
        raise ValueError(f"stft: align_to_window must be None with center, got {align_to_window}")
    x = F.reshape(input, (-1 if input.size else 0, input.shape[-1]))
    if center:
        x = F.pad(F.unsqueeze(x, 0), (n // 2, n // 2), mode=pad_mode)[0]
    elif align_to_window:
        left = (n - width) // 2
        x = F.pad(x, (left, n - width - left))
    if x.shape[-1] < n:
        raise ValueError(f"stft: n_fft must be at most the length {x.shape[-1]}, got {n}")
    frames = _of_parts(lambda x: F.unfold(x[:, None, None], (1, n), stride=(1, hop)), x)
    column = _column("stft", window, width, n, input)
    frames = frames if column is None else F.mul(frames, column)
    is_half = not is_complex if onesided is None else onesided
    transform = F.fft.rfft if is_half else F.fft.fft
    spectra = transform(frames, dim=-2, norm="ortho" if normalized else None)
    spectra = spectra if input.ndim == 2 else spectra[0]
    return F.view_as_real(spectra) if return_complex is False else spectra


def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, normalized: bool = False,
    onesided: bool | None = None, length: int | None = None, return_complex: bool = False,
) -> Any:  # fmt: skip
    """Return the signals whose frames have these Fourier transforms, in least squares.

    Parameters
    ----------
    input : array (B, N, T) or (N, T)
        Complex, from ``stft`` with the same arguments.
    n_fft, hop_length, win_length, window, center, normalized
        As of ``stft``.
    onesided : bool, optional
        Whether ``N`` is ``n_fft // 2 + 1``; by default if it is not ``n_fft``.
    length : int, optional
        Number of samples: signals are cut, or end with zeros.
    return_complex : bool
        Return complex signals, which need all frequencies.

    Returns
    -------
    array (B, length) or (length,)

    Raises
    ------
    TypeError, ValueError
        A size, a shape or a dtype is none of these. Or the squares of windows add up to 0
        somewhere, which is checked outside of traced functions: in these, samples are not finite.

    Notes
    -----
    Differentiable to any order. Source: ``torch.istft``.
    """
    n, hop, width = _sizes("istft", n_fft, hop_length, win_length)
    if not _is_complex(input):
        raise TypeError(f"istft: input must be complex, as stft returns it, got {input.dtype}")
    if input.ndim not in (2, 3) or not input.size:
        shape = tuple(input.shape)
        raise ValueError(f"istft: input must have 2 or 3 axes and elements, got shape {shape}")
    if hop > width:
        raise ValueError(f"istft: hop_length must be at most win_length, {width}, got {hop}")
    rows, frames = input.shape[-2:]
    is_half = rows != n if onesided is None else onesided
    if rows != (n // 2 + 1 if is_half else n):
        raise ValueError(
            f"istft: input must have {n // 2 + 1 if is_half else n} frequencies for n_fft {n}, got "
            f"{rows}"
        )
    if return_complex and is_half:
        raise ValueError("istft: return_complex must be False for half of the frequencies")
    if not return_complex and _is_complex(window):
        raise ValueError("istft: return_complex must be True for a complex window")
    z, norm = F.reshape(input, (-1, rows, frames)), "ortho" if normalized else None
    if return_complex:
        columns = F.fft.ifft(z, dim=-2, norm=norm)
    else:
        columns = F.fft.irfft(z[:, : n // 2 + 1], n=n, dim=-2, norm=norm)
    column = _column("istft", window, width, n, input)
    if column is None:
        column = F.ones(n, 1, dtype=dtypes.part_of(str(input.dtype)), device=input.device)
    total = n + hop * (frames - 1)
    first = n // 2 if center else 0
    end = (total - first) if length is None else first + checked_int("istft", "length", length, 1)
    signals = _overlapped(F.mul(columns, column), hop)[:, first:end]
    weights = _overlapped(F.expand(F.square(column), (1, n, frames)), hop)[:, first:end]
    if running_trace() is None and float(F.min(F.abs(weights))) < 1e-11:
        raise ValueError(
            "istft: window must have no gaps between frames, got squares that add to 0"
        )
    signals = F.div(signals, weights)
    signals = F.pad(signals, (0, end - total)) if end > total else signals
    return signals if input.ndim == 3 else signals[0]


# --- torch.fft


_SIZES = "There is no such axis, or another number of sizes."
_TRANSFORM = {
    "s": "sequence of int, optional\n    Sizes along the axes, of the input by default.",
    "dim": "int or sequence of int\n    The axes, all by default.",
    "norm": '{"backward", "ortho", "forward"}, optional',
}


@described("array\n    Real.", _SIZES, module="fft.", **_TRANSFORM)
def hfftn(
    input: Any, s: Sequence[int] | None = None, dim: Any = None, norm: str | None = None
) -> Any:
    """Return the real transform along axes of numbers with a half along the last one."""
    axes, sizes = _axes(input, s, dim)
    first = F.fft.fftn(input, sizes[:-1], axes[:-1], norm) if axes[1:] else input
    return F.fft.hfft(first, sizes[-1], axes[-1], norm)


@described("array\n    Complex.", _SIZES, module="fft.", **_TRANSFORM)
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


@described("array\n    Real.", _SIZES, module="fft.", **_TRANSFORM)
def hfft2(
    input: Any, s: Sequence[int] | None = None, dim: Any = (-2, -1), norm: str | None = None
) -> Any:
    """Return the real transform along two axes of numbers with a half along the last one."""
    return hfftn(input, s, dim, norm)


@described("array\n    Complex.", _SIZES, module="fft.", **_TRANSFORM)
def ihfft2(
    input: Any, s: Sequence[int] | None = None, dim: Any = (-2, -1), norm: str | None = None
) -> Any:
    """Return half of the inverse transform along two axes of real numbers."""
    return ihfftn(input, s, dim, norm)


fft = SimpleNamespace(
    **{name: getattr(F.fft, name) for name in F.fft.__all__},
    hfft2=hfft2, hfftn=hfftn, ihfft2=ihfft2, ihfftn=ihfftn,
)  # fmt: skip
functions.add_methods({"stft": stft, "istft": istft})

# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, window functions and mel filters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sycl_dnn.nn.torch_windows import cosine_sum
from sycl_dnn.onednn import dtypes
from sycl_dnn.onnx.elementwise_operators import name_of
from sycl_dnn.onnx.model_graph import check_host_size, check_size
from sycl_dnn.onnx.operator_registry import Call, F, checked_axis, operator

#: Cosine-sum coefficients.
_WINDOWS = {
    "HannWindow": (0.5, 0.5),
    "HammingWindow": (25 / 46, 21 / 46),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}


@operator(_WINDOWS, 17, host=(0,))
def _window(call: Call, size: Any) -> Any:
    n = int(size.item())
    check_host_size((n,))
    # All but the last element of a longer window: one that repeats.
    window = cosine_sum(n + bool(call.get("periodic", 1)), _WINDOWS[call.op])[:n]
    return window.astype(call.dtype(call.get("output_datatype", 1)))


@operator("MelWeightMatrix", 17, host=range(5))
def _mel_weights(call: Call, bins: Any, length: Any, rate: Any, low: Any, high: Any) -> Any:
    n, size, sample_rate = (int(v.item()) for v in (bins, length, rate))
    columns = size // 2 + 1
    check_host_size((n + 2, columns))
    edges = 2595 * np.log10(1 + np.array([low.item(), high.item()]) / 700)
    step = (edges[1] - edges[0]) / (n + 2)
    mel = np.arange(n + 2) * step + edges[0]
    places = np.floor((size + 1) * (700 * (10 ** (mel / 2595) - 1)) / sample_rate).astype(int)
    first, middle, last = places[:-2], places[1:-1], places[2:]
    row = np.arange(columns)[:, None]
    rising = (row - first) / np.maximum(middle - first, 1) + (middle == first)
    falling = (last - row) / np.maximum(last - middle, 1)
    weights = np.where((first <= row) & (row <= middle), rising, 0.0)
    weights = np.where((middle <= row) & (row < last), falling, weights)
    return weights.astype(call.dtype(call.get("output_datatype", 1)))


def _transformed(x: Any, n: int, axis: int, inverse: bool, onesided: bool) -> Any:
    """Return the Fourier transform of (..., 1 or 2) along an axis, as real and imaginary parts."""
    dtype = name_of(x)
    wide = F.astype(x, dtypes.wide(dtype))
    z = F.view_as_complex(wide) if x.shape[-1] == 2 else F.select(wide, -1, 0)
    if onesided and inverse:
        return F.astype(F.unsqueeze(F.fft.irfft(z, n, axis), -1), dtype)
    spectrum = F.fft.ifft(z, n, axis) if inverse else F.fft.fft(z, n, axis)
    half = F.narrow(spectrum, axis, 0, n // 2 + 1) if onesided else spectrum
    return F.astype(F.view_as_real(half), dtype)


@operator("DFT", 17, host=(1,))
def _early_dft(call: Call, x: Any, length: Any = None) -> Any:
    return _dft(call, x, length, call.get("axis", 1))


@operator("DFT", 20, host=(1, 2))
def _later_dft(call: Call, x: Any, length: Any = None, axis: Any = None) -> Any:
    return _dft(call, x, length, -2 if axis is None else int(axis.item()))


def _dft(call: Call, x: Any, length: Any, axis: int) -> Any:
    place = checked_axis(call, axis, len(x.shape))
    if place == len(x.shape) - 1 or x.shape[-1] not in (1, 2):
        raise ValueError("the last axis must be of real and imaginary parts, and not transformed")
    inverse, onesided = bool(call.get("inverse", 0)), bool(call.get("onesided", 0))
    size = x.shape[place]
    n = int(length.item()) if length is not None else \
        2 * (size - 1) if inverse and onesided else size  # fmt: skip
    check_size((*x.shape, n))
    return _transformed(x, n, place, inverse, onesided)


@operator("STFT", 17, host=(1, 3))
def _stft(call: Call, x: Any, step: Any, window: Any = None, length: Any = None) -> Any:
    hop = int(step.item())
    n = int(length.item()) if length is not None else window.shape[0]
    count = (x.shape[1] - n) // hop + 1
    if hop < 1 or count < 1:
        raise ValueError(f"frames of {n} must fit into {x.shape[1]} samples, steps be positive")
    check_host_size((count, n))
    places = np.arange(count)[:, None] * hop + np.arange(n)
    frames = F.index_select(x, 1, call.device(places.reshape(-1).astype(np.int64)))
    frames = F.reshape(frames, (x.shape[0], count, n, math.prod(x.shape[2:])))
    if window is not None:
        frames = frames * F.reshape(window, (1, 1, n, 1))
    return _transformed(frames, n, 2, False, bool(call.get("onesided", 1)))

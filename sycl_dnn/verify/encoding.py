# SPDX-License-Identifier: Apache-2.0
"""oneDNN's data types on the host: values as float64, and the bytes that stand for them."""

from __future__ import annotations

from functools import cache

import numpy as np

from sycl_dnn.onednn import dtypes

_ROWS = {name: row for name, row in dtypes.SHORT.items() if name != "boolean"}
INTEGERS = {name: (row.low, row.high) for name, row in _ROWS.items() if not row.is_float}
FOUR_BIT = tuple(name for name, row in _ROWS.items() if row.bits == 4)
#: Bits of a mantissa, the hidden one included, or of an integer's magnitude.
DIGITS = {name: row.digits for name, row in _ROWS.items()}


def epsilon(dtype: str) -> float:
    """Return the distance from 1 to the next number; 0 for integers."""
    return 0.0 if dtype in INTEGERS else 2.0 ** (1 - DIGITS[dtype])


def item_bits(dtype: str) -> int:
    """Return the bits of one element."""
    return _ROWS[dtype].bits


@cache
def _table(dtype: str) -> np.ndarray:
    """Values of all bit patterns of a small float."""
    exponent_bits, bias = _ROWS[dtype].exponent or (0, 0)
    mantissa_bits = DIGITS[dtype] - 1
    codes = np.arange(2 ** (1 + exponent_bits + mantissa_bits))
    mantissa = codes % 2**mantissa_bits
    exponent = (codes >> mantissa_bits) % 2**exponent_bits
    normal = (1 + mantissa / 2**mantissa_bits) * 2.0 ** (exponent - bias)
    small = mantissa / 2**mantissa_bits * 2.0 ** (1 - bias)
    values = np.where(exponent == 0, small, normal)
    if dtype == "f8_e5m2":
        top = exponent == 31
        values = np.where(top, np.where(mantissa == 0, np.inf, np.nan), values)
    if dtype == "f8_e4m3":
        values = np.where(codes % 128 == 127, np.nan, values)
    return np.where(codes >> (exponent_bits + mantissa_bits), -values, values)


def _encode_small(values: np.ndarray, dtype: str) -> np.ndarray:
    """Round to nearest even code; what is too large becomes the type's own overflow."""
    table = _table(dtype)
    half = len(table) // 2
    finite = np.flatnonzero(np.isfinite(table[:half]))
    sizes, magnitude = table[finite], np.abs(values)
    above = np.clip(np.searchsorted(sizes, magnitude), 1, len(sizes) - 1)
    low, high = sizes[above - 1], sizes[above]
    middle = (low + high) / 2
    up = (magnitude > middle) | ((magnitude == middle) & (above % 2 == 0))
    codes = np.where(up, above, above - 1)
    step = sizes[-1] - sizes[-2]
    limit = sizes[-1] + step / 2
    too_large = (magnitude > limit) | ((magnitude == limit) & (dtype == "f8_e5m2"))
    if dtype.startswith("f8"):
        codes = np.where(too_large | np.isnan(values), len(sizes), codes)
        if dtype == "f8_e5m2":
            codes = np.where(np.isnan(values), len(sizes) + 1, codes)
    return (codes + np.where(np.signbit(values), half, 0)).astype(np.uint8)


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return float64 values in the array dtype that holds ``dtype``, rounded and saturated.

    4-bit codes come one in a byte.
    """
    values = np.asarray(values, dtype=np.float64)
    if dtype in INTEGERS:
        low, high = INTEGERS[dtype]
        whole = np.clip(np.rint(np.nan_to_num(values, nan=0.0)), low, high)
        if dtype in FOUR_BIT:
            return (whole.astype(np.int64) & 15).astype(np.uint8)
        return whole.astype(_ROWS[dtype].dtype)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if dtype == "bf16":
            return dtypes.to_bf16_bits(values.astype(np.float32)).reshape(values.shape)
        if dtype == "e8m0":
            # The bits of the exponent, so the next power of two towards 0.
            return np.clip(np.frexp(values)[1] + 126, 0, 254).astype(np.uint8)
        if _ROWS[dtype].exponent:
            # oneDNN rounds twice as well, through f16 for f8.
            between = np.float16 if dtype.startswith("f8") else np.float32
            single = values.astype(np.float32)
            return _encode_small(single.astype(between).astype(np.float64), dtype)
        # Through f32, in which oneDNN computes: one rounding more, as there.
        single = values.astype(np.float32) if dtype == "f16" else values
        return single.astype(_ROWS[dtype].dtype)


def decode(codes: np.ndarray, dtype: str) -> np.ndarray:
    """Return the float64 values of what `encode` gives."""
    if dtype == "bf16":
        return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype == "e8m0":
        return 2.0 ** (codes.astype(np.float64) - 127)
    if _ROWS[dtype].exponent:
        return _table(dtype)[codes]
    if dtype == "s4":
        return ((codes.astype(np.int64) ^ 8) - 8).astype(np.float64)
    return codes.astype(np.float64)


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return values as ``dtype`` can hold them."""
    return decode(encode(values, dtype), dtype)


def code_dtype(dtype: str) -> np.dtype:
    """Return the dtype of arrays of codes."""
    return _ROWS[dtype].dtype


def largest(dtype: str) -> float:
    """Return the largest finite number."""
    return float(_ROWS[dtype].high)


def smallest(dtype: str) -> float:
    """Return the most negative finite number."""
    row = _ROWS[dtype]
    return float(row.low) if not row.is_float else -float(row.high)

# SPDX-License-Identifier: Apache-2.0
"""Blocks of GGUF files decoded by functions, for devices that compile no OpenCL C."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.kernels.packed_blocks import BLOCKS


def composed_rows(data: Any, kind: str, dtype: str) -> Any:
    """Return the weights (n, k) of rows of blocks (n, bytes)."""
    n_bytes, n = BLOCKS[kind].n_bytes, data.shape[0]
    blocks = F.astype(F.reshape(data, (-1, n_bytes)), "int32")
    weights = _OF_K[kind](blocks) if kind in _OF_K else _small(blocks, kind)
    return F.astype(F.reshape(weights, (n, -1)), dtype)


def _numbers(b: Any, kind: str = "F16") -> Any:
    """Return the numbers of 16 bits whose bytes are the last axis, twice as long."""
    bits = np.arange(1 << 16, dtype=np.uint32)
    table = (bits << 16).view(np.float32)
    if kind == "F16":
        table = bits.astype(np.uint16).view(np.float16).astype(np.float32)
    pairs = F.reshape(b, (*b.shape[:-1], -1, 2))
    indices = F.add(pairs[..., 0], F.mul(pairs[..., 1], 256))
    values = F.embedding(indices, F.unsqueeze(F.tensor(table), 1))
    return F.reshape(values, indices.shape)


def _signed(b: Any) -> Any:
    return F.where(F.gt(b, 127), F.sub(b, 256), b)


def _bits(b: Any, shifts: Any, mask: int) -> Any:
    """Return bits of (blocks, m) at each of the places, (blocks, places, m)."""
    steps = F.tensor(np.array([[1 << shift] for shift in shifts], np.int32))
    return F.remainder(F.floor_divide(F.unsqueeze(b, 1), steps), mask + 1)


def _floats(q: Any) -> Any:
    return F.astype(q, "float32")


def _small(b: Any, kind: str) -> Any:
    if kind in ("F16", "BF16"):
        return _numbers(b, kind)
    scale = _numbers(b[:, :2])
    if kind == "Q8_0":
        return F.mul(_floats(_signed(b[:, 2:])), scale)
    least = F.mul(scale, -8.0) if kind == "Q4_0" else _numbers(b[:, 2:4])
    quants = F.reshape(_bits(b[:, -16:], (0, 4), 15), (-1, 32))
    return F.add(F.mul(_floats(quants), scale), least)


def _scaled(b: Any, quants: Any) -> Any:
    """Return weights (blocks, 8, 32) of quants with scales and least values of 6 bits."""
    halves = []
    for offset, shift in ((4, 0), (8, 4)):
        own, above = (_bits(b[:, offset : offset + 4], (p,), m) for p, m in ((0, 63), (6, 3)))
        upper = F.add(_bits(b[:, 12:16], (shift,), 15), F.mul(above, 16))
        six = F.reshape(F.cat([own, upper], 2), (-1, 8))
        halves.append(F.mul(_floats(six), _numbers(b[:, shift // 2 : shift // 2 + 2])))
    scale, least = (F.unsqueeze(h, 2) for h in halves)
    return F.sub(F.mul(_floats(quants), scale), least)


def _nibbles(b: Any) -> Any:
    """Return the halves of 128 bytes, those of 32 bytes after each other: (blocks, 8, 32)."""
    return F.reshape(_bits(F.reshape(b, (-1, 32)), (0, 4), 15), (-1, 8, 32))


def _q5(b: Any) -> Any:
    high = _bits(b[:, 16:48], range(8), 1)
    return _scaled(b, F.add(_nibbles(b[:, 48:]), F.mul(high, 16)))


def _q6(b: Any) -> Any:
    low = F.reshape(_bits(F.reshape(b[:, :128], (-1, 64)), (0, 4), 15), (-1, 8, 32))
    high = F.reshape(_bits(F.reshape(b[:, 128:192], (-1, 32)), (0, 2, 4, 6), 3), (-1, 8, 32))
    quants = F.reshape(F.sub(F.add(low, F.mul(high, 16)), 32), (-1, 16, 16))
    scale = F.mul(_floats(_signed(b[:, 192:208])), _numbers(b[:, 208:]))
    return F.mul(_floats(quants), F.unsqueeze(scale, 2))


_OF_K = {"Q4_K": lambda b: _scaled(b, _nibbles(b[:, 16:])), "Q5_K": _q5, "Q6_K": _q6}

# SPDX-License-Identifier: Apache-2.0
"""Input data with few significant bits, so that sums are exact and low precision is testable.

Source: oneDNN's guide on quantization (dynamic quantization, MX and others).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from sycl_dnn.tools.cases import call as masks
from sycl_dnn.tools.cases import storage
from sycl_dnn.tools.cases.call import Call, Tensor


@dataclass(frozen=True)
class Fill:
    """Multiples of ``step`` in [low, high]; a fraction ``density`` is nonzero."""

    low: float
    high: float
    step: float = 1.0
    density: float = 1.0
    nonzero: bool = False

    def draw(self, rng: np.random.Generator, dims: tuple[int, ...]) -> np.ndarray:
        """Return random values."""
        first, last = round(self.low / self.step), round(self.high / self.step)
        values = rng.integers(first, last, dims, endpoint=True) * self.step
        if self.nonzero:
            values = np.where(values == 0, self.step, values)
        if self.density < 1:
            values = np.where(rng.random(dims) < self.density, values, 0.0)
        return values.astype(np.float64)


def around(dtype: str, size: int, step: float = 1.0, nonzero: bool = False) -> Fill:
    """Return values of this size and of both signs, if the type has them."""
    return Fill(0 if dtype == "u8" else -size, size, step, nonzero=nonzero)


_INTEGERS = {
    "s32": Fill(-512, 512),
    "s64": Fill(-512, 512),
    "s8": Fill(-128, 127),
    "u8": Fill(0, 255),
    "s4": Fill(-8, 7),
    "u4": Fill(0, 15),
}
_COARSE = {"f8_e5m2": Fill(-2, 2), "f8_e4m3": Fill(-4, 4), "f4_e2m1": Fill(-4, 4, 1.0)}
_COARSE |= {"f4_e3m0": Fill(-2, 2), "e8m0": Fill(1, 1)}


def usual(dtype: str) -> Fill:
    """Return the default inputs of primitives without long sums."""
    return _INTEGERS.get(dtype) or _COARSE.get(dtype) or Fill(-16, 16, 0.25)


#: Largest source and weight values for exact sums.
_SOURCE = {"f32": 32, "f64": 32, "u8": 8, "s8": 4, "s32": 8, "f8_e5m2": 2, "f4_e2m1": 2}
_SOURCE |= {"u4": 4, "f4_e3m0": 1}
_WEIGHTS = {"f32": 32, "f64": 32, "s8": 4, "u8": 4, "bf16": 4, "u4": 4, "s4": 4}
_SIGNED = {"u8": False, "u4": False}


def summand(dtype: str, is_weights: bool) -> Fill:
    """Return the range of the factors in an exact sum of products."""
    size = _WEIGHTS.get(dtype, 2) if is_weights else _SOURCE.get(dtype, 4)
    return Fill(-size if _SIGNED.get(dtype, True) else 0, size)


def exact_density(first: Fill, second: Fill, n_sum: int, dst: str) -> float:
    """Return the density of nonzeros for which ``n_sum`` products sum exactly.

    Destinations with few bits limit it too; saturating ones should saturate occasionally.
    """
    digits = min(storage.DIGITS[dst], 24)
    limit = 2.0**digits / max(first.high * second.high, 1)
    if dst in storage.INTEGERS:
        limit *= 3
    return min(1.0, max(limit, 1.0) / max(n_sum, 1))


def symmetric(rng, dims, groups: tuple[int, ...], step: float, top: int) -> np.ndarray:
    """Return values whose mean over the axes not in ``groups`` is a small multiple of ``step``.

    Values are shuffled pairs that are symmetric about the mean, so mean and variance are exact.
    """
    averaged = [axis for axis in range(len(dims)) if axis not in groups]
    n_groups = int(np.prod([dims[axis] for axis in groups], dtype=np.int64))
    count = int(np.prod([dims[axis] for axis in averaged], dtype=np.int64))
    half = rng.integers(1, top, (n_groups, count // 2), endpoint=True) * step
    parts = [half, -half, np.zeros((n_groups, count % 2))]
    values = rng.permuted(np.concatenate(parts, axis=1), axis=1)
    values = values + rng.integers(-4, 4, (n_groups, 1), endpoint=True) * step
    order = [*groups, *averaged]
    shaped = values.reshape([dims[axis] for axis in order])
    return np.transpose(shaped, np.argsort(order))


def generator(key: str, name: str) -> np.random.Generator:
    """Return the deterministic random generator of one argument of a case."""
    return np.random.default_rng(zlib.crc32(f"{key}|{name}".encode()))


_POWERS = (0.125, 0.25, 0.5, 1.0, 2.0)


def attribute_values(call: Call, name: str, tensor: Tensor, rng) -> np.ndarray:
    """Return values of an argument added by an attribute: the caller's, or random; see `_drawn`."""
    for kind, quantities in (("scales", call.attr.scales), ("zero_points", call.attr.zero_points)):
        for q in quantities:
            is_this = f"attr_{kind}_{masks.argument(call, q.arg)}" == name
            if is_this and q.value is not None:
                return np.full(tensor.dims, q.value)
    return _drawn(call, name, tensor, rng)


def _drawn(call: Call, name: str, tensor: Tensor, rng) -> np.ndarray:
    """Draw values of an argument added by an attribute; scales are powers of 2."""
    if name.startswith("attr_scales"):
        powers = _POWERS if tensor.dtype != "e8m0" else (0.5, 1.0, 2.0)
        return rng.choice(powers, tensor.dims)
    if name.startswith("attr_zero_points"):
        low = 0 if tensor.dtype in ("u8", "u4") else -3
        return rng.integers(low, 3, tensor.dims, endpoint=True).astype(np.float64)
    if name.endswith("src_2"):
        return rng.integers(0, 1, tensor.dims, endpoint=True).astype(np.float64)
    if name.startswith("attr_post_op_dw"):
        return Fill(-2, 2).draw(rng, tensor.dims)
    if "post_op" in name:
        return _operand_values(call, name, tensor, rng)
    return usual(tensor.dtype).draw(rng, tensor.dims)


def _operand_values(call: Call, name: str, tensor: Tensor, rng) -> np.ndarray:
    if name.endswith("weights"):
        return rng.choice((-0.5, 0.25, 0.5, 2.0), tensor.dims)
    op = call.attr.post_ops[int(name.split("_")[3])]
    if op.algorithm == "binary_div":
        return rng.choice((1.0, 2.0, 4.0), tensor.dims)
    return around(tensor.dtype, 4).draw(rng, tensor.dims)


def needs_old_dst(call: Call) -> bool:
    """Whether a post-op reads the previous contents of dst."""
    return any(op.kind == "sum" for op in call.attr.post_ops)


Arrays = dict[str, np.ndarray]


def reduced(src: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    """Return the sums of the source over groups along its last dimension."""
    return src.reshape(*dims, -1).sum(axis=-1)


def thinned(values: np.ndarray, nnz: int, rng: Any) -> np.ndarray:
    """Return values, exactly ``nnz`` of which are nonzero."""
    flat = np.zeros(values.size)
    at = rng.permutation(values.size)[:nnz]
    chosen = values.reshape(-1)[at]
    flat[at] = np.where(chosen == 0, 1.0, chosen)
    return flat.reshape(values.shape)

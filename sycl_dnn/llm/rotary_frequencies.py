# SPDX-License-Identifier: Apache-2.0
"""Frequencies of rotary embeddings, with their context extension methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Rotation(NamedTuple):
    """Parameters of a rotary embedding.

    frequencies : one per feature pair; fewer than half of ``head_dim`` if some features are not
        rotated
    factor : scale of sines and cosines
    long_frequencies : frequencies used if there are more positions than ``threshold``
    dynamic : growth of the base with the number of positions beyond ``threshold``
    """

    head_dim: int
    frequencies: tuple[float, ...]
    factor: float = 1.0
    long_frequencies: tuple[float, ...] | None = None
    threshold: int | None = None
    dynamic: float | None = None

    @classmethod
    def of(
        cls, parameters: Mapping[str, Any], head_dim: int, longest: int, original: int | None = None
    ) -> Rotation:
        """Read Hugging Face's ``rope_parameters``.

        ``longest``, ``original``: ``max_position_embeddings`` of the model, and before context
        extension. Raises ValueError if the type is unsupported or a parameter is missing.
        """
        kind = str(parameters.get("rope_type", parameters.get("type", "default")))
        if kind not in _KINDS:
            supported = ", ".join(_KINDS)
            raise ValueError(f"llm: rope_type must be one of {supported}, got {kind!r}")
        theta = parameters["rope_theta"]
        if not (isinstance(theta, (int, float)) and 0 < theta < math.inf):
            raise ValueError(f"llm: rope_theta must be a positive number, got {theta!r}")
        dim = int(head_dim * parameters.get("partial_rotary_factor", 1.0))
        powers = np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)
        inverse = 1.0 / np.float32(theta) ** powers
        original_length = original or parameters.get("original_max_position_embeddings") or longest
        try:
            fields = _KINDS[kind](
                _Case(parameters, inverse.astype(np.float32), dim, longest, original_length)
            )
        except KeyError as error:
            raise ValueError(f"llm: rope_type {kind} must have the key {error}") from None
        return cls(head_dim, **fields)


class _Case(NamedTuple):
    parameters: Mapping[str, Any]
    inverse: Any
    dim: int
    longest: int
    original: int


def _floats(values: Any) -> tuple[float, ...]:
    return tuple(float(v) for v in np.asarray(values, np.float32))


def _default(case: _Case) -> dict[str, Any]:
    return {"frequencies": _floats(case.inverse)}


def _linear(case: _Case) -> dict[str, Any]:
    return {"frequencies": _floats(case.inverse / np.float32(case.parameters["factor"]))}


def _divided(case: _Case) -> dict[str, Any]:
    """Divide frequencies by individual factors, as stored in GGUF files of Llama 3."""
    return {
        "frequencies": _floats(case.inverse / np.asarray(case.parameters["divisors"], np.float32))
    }


def _dynamic(case: _Case) -> dict[str, Any]:
    return {
        "frequencies": _floats(case.inverse),
        "threshold": case.longest,
        "dynamic": float(case.parameters["factor"]),
    }


def _yarn(case: _Case) -> dict[str, Any]:
    """Peng et al., arXiv:2309.00071."""
    parameters, dim = case.parameters, case.dim
    factor, base = float(parameters["factor"]), float(parameters["rope_theta"])

    def scale(m: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * m * math.log(factor) + 1.0

    attention = parameters.get("attention_factor")
    if attention is None:
        m, all_dims = parameters.get("mscale"), parameters.get("mscale_all_dim")
        attention = scale(m) / scale(all_dims) if m and all_dims else scale(1.0)

    def dim_of_rotations(n: float) -> float:
        return dim * math.log(case.original / (n * 2 * math.pi)) / (2 * math.log(base))

    low, high = (
        dim_of_rotations(parameters.get("beta_fast") or 32),
        dim_of_rotations(parameters.get("beta_slow") or 1),
    )
    if parameters.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    ramp = (np.arange(dim // 2, dtype=np.float32) - low) / ((high - low) or 0.001)
    extrapolated = 1 - np.clip(ramp, 0, 1).astype(np.float32)
    mixed = case.inverse / np.float32(factor) * (1 - extrapolated) + case.inverse * extrapolated
    return {"frequencies": _floats(mixed), "factor": float(attention)}


def _longrope(case: _Case) -> dict[str, Any]:
    """Ding et al., arXiv:2402.13753."""
    parameters, original = case.parameters, case.original
    factor = parameters.get("factor") or case.longest / original
    attention = parameters.get("attention_factor")
    if attention is None:
        grown = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
        attention = grown
    short, long = (
        _floats(case.inverse / np.asarray(parameters[f"{name}_factor"], np.float32))
        for name in ("short", "long")
    )
    return {
        "frequencies": short, "long_frequencies": long, "threshold": original,
        "factor": float(attention),
    }  # fmt: skip


def _llama3(case: _Case) -> dict[str, Any]:
    parameters, inverse = case.parameters, case.inverse
    factor, low, high = (
        float(parameters[k]) for k in ("factor", "low_freq_factor", "high_freq_factor")
    )
    lengths = 2 * np.float32(math.pi) / inverse
    smooth = (case.original / lengths - low) / (high - low)
    interpolated = (1 - smooth) * inverse / factor + smooth * inverse
    scaled = np.where(lengths > case.original / low, inverse / factor, inverse)
    is_between = (lengths >= case.original / high) & (lengths <= case.original / low)
    return {"frequencies": _floats(np.where(is_between, interpolated, scaled))}


_KINDS: dict[str, Callable[[_Case], dict[str, Any]]] = {
    "default": _default, "linear": _linear, "dynamic": _dynamic, "yarn": _yarn,
    "longrope": _longrope, "su": _longrope, "llama3": _llama3, "divided": _divided,
}  # fmt: skip

# SPDX-License-Identifier: Apache-2.0
"""Rates as functions of a step, which is an array inside compiled steps, or a number.

Each function returns one that accepts the number of steps made before, starting from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn import functional as F

Schedule = Callable[[Any], Any]


def _is_array(step: Any) -> bool:
    return hasattr(step, "shape") and hasattr(step, "dtype")


def _least(step: Any, most: float) -> Any:
    return F.clamp(step, max=float(most)) if _is_array(step) else min(step, most)


def _cosine(x: Any) -> Any:
    return F.cos(x) if _is_array(x) else math.cos(x)


def _power(base: Any, exponent: Any) -> Any:
    return F.pow(base, exponent) if _is_array(base) or _is_array(exponent) else base**exponent


def _floor(x: Any) -> Any:
    return F.floor(x) if _is_array(x) else math.floor(x)


def _choice(is_first: Any, a: Any, b: Any) -> Any:
    return F.where(is_first, a, b) if _is_array(is_first) else a if is_first else b


def _check_steps(name: str, steps: float) -> None:
    if steps < 1:
        raise ValueError(f"{name}: the number of steps must be at least 1, got {steps}")


def constant(value: float) -> Schedule:
    """Return a constant rate."""
    return lambda step: value


def linear(start: float, end: float, steps: int) -> Schedule:
    """Return a rate that goes from ``start`` to ``end`` in ``steps`` steps and then stays there.

    Raises
    ------
    ValueError
        ``steps`` is less than 1.

    Examples
    --------
    >>> from sycl_dnn.optim import schedules
    >>> [schedules.linear(0.0, 1.0, 4)(step) for step in (0, 2, 4, 9)]
    [0.0, 0.5, 1.0, 1.0]
    """
    _check_steps("linear", steps)
    return lambda step: start + (end - start) * (_least(step, steps) * (1.0 / steps))


def polynomial(start: float, end: float, steps: int, power: float = 1.0) -> Schedule:
    """Return ``end + (start - end) * (1 - step / steps) ** power``, and ``end`` afterwards."""
    _check_steps("polynomial", steps)
    return lambda step: (
        end + (start - end) * _power(1.0 - _least(step, steps) * (1.0 / steps), power)
    )


def cosine(start: float, steps: int, end: float = 0.0) -> Schedule:
    """Return a rate that falls along half a cosine, as ``CosineAnnealingLR``.

    Examples
    --------
    >>> from sycl_dnn.optim import schedules
    >>> [round(schedules.cosine(1.0, 10)(step), 3) for step in (0, 5, 10)]
    [1.0, 0.5, 0.0]
    """
    _check_steps("cosine", steps)
    return lambda step: (
        end + (start - end) * 0.5 * (1.0 + _cosine(_least(step, steps) * (math.pi / steps)))
    )


def step_decay(start: float, every: int, factor: float = 0.1) -> Schedule:
    """Return a rate that is multiplied by ``factor`` after each ``every`` steps, as ``StepLR``."""
    _check_steps("step_decay", every)
    return lambda step: start * _power(factor, _floor((step + 0.5) * (1.0 / every)))


def exponential(start: float, factor: float) -> Schedule:
    """Return a rate that is multiplied by ``factor`` at each step, as ``ExponentialLR``."""
    return lambda step: start * _power(factor, step)


def joined(parts: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Return schedules in sequence; each counts from its boundary.

    Raises
    ------
    ValueError
        The number of boundaries is not one less than that of schedules.
    """
    if len(parts) != len(boundaries) + 1:
        raise ValueError(
            f"joined: there must be {len(parts) - 1} boundaries for {len(parts)} schedules, got "
            f"{len(boundaries)}"
        )

    def schedule(step: Any) -> Any:
        found = parts[0](step)
        for part, first in zip(parts[1:], boundaries, strict=True):
            found = _choice(step < first, found, part(step - first))
        return found

    return schedule


def warmup(steps: int, then: Schedule, start: float = 0.0) -> Schedule:
    """Return a rate that rises from ``start`` to the first of ``then``, and then follows ``then``.

    Examples
    --------
    >>> from sycl_dnn.optim import schedules
    >>> rate = schedules.warmup(10, schedules.cosine(1.0, 100))
    >>> rate(5), rate(10)
    (0.5, 1.0)
    """
    return joined([linear(start, then(0), steps), then], [steps])


def one_cycle(
    peak: float, steps: int, pct_start: float = 0.3, div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Schedule:  # fmt: skip
    """Return a rate that rises to ``peak`` and falls, both along cosines, as ``OneCycleLR``.

    After ``steps`` steps it is constant.

    Raises
    ------
    ValueError
        ``steps`` is less than 1, or ``pct_start`` is outside [0, 1].

    Examples
    --------
    >>> from sycl_dnn.optim import schedules
    >>> [round(schedules.one_cycle(1.0, 20)(step), 3) for step in (0, 5, 12, 19, 30)]
    [0.04, 1.0, 0.5, 0.0, 0.0]
    """
    _check_steps("one_cycle", steps)
    if not 0 <= pct_start <= 1:
        raise ValueError(f"one_cycle: pct_start must be in [0, 1], got {pct_start}")
    first = peak / div_factor
    last = first / final_div_factor
    # As in torch, the peak is at this step; it may be before the first one.
    rise = pct_start * steps - 1
    fall = steps - 1 - rise

    def schedule(step: Any) -> Any:
        late = _cosine((_least(step, steps - 1) - rise) * (math.pi / fall)) if fall > 0 else 1.0
        found = last + (peak - last) * 0.5 * (1 + late)
        if rise <= 0:
            return found
        up = peak + (first - peak) * 0.5 * (1 + _cosine(_least(step, rise) * (math.pi / rise)))
        return _choice(step < rise, up, found)

    return schedule

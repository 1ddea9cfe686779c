# SPDX-License-Identifier: Apache-2.0
"""Schedules of rates and momenta: functions of the step, a number, or an array when compiled.

Each function returns a schedule; a schedule maps the number of completed steps to a value.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn import _torch_habits
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


def _log(x: Any) -> Any:
    return F.log(x) if _is_array(x) else math.log(x)


def _floor(x: Any) -> Any:
    return F.floor(x) if _is_array(x) else math.floor(x)


def _choice(is_first: Any, a: Any, b: Any) -> Any:
    return F.where(is_first, a, b) if _is_array(is_first) else a if is_first else b


def _check_steps(name: str, steps: float) -> None:
    if steps < 1:
        raise ValueError(f"{name}: the number of steps must be at least 1, got {steps}")


def _check_rates(name: str, **rates: Any) -> None:
    """Raise TypeError for a rate that is not a number, such as an optimizer."""
    for argument, value in rates.items():
        if not isinstance(value, numbers.Real) and getattr(value, "shape", None) != ():
            raise TypeError(
                f"{name}: {argument} must be a number, got {type(value).__name__}; a schedule is "
                f"the rate of an optimizer: opt = optim.AdamW(schedules.{name}(...))"
            )


def constant(value: float) -> Schedule:
    """Return a constant schedule."""
    _check_rates("constant", value=value)
    return lambda step: value


def linear(start: float, end: float, steps: int) -> Schedule:
    """Interpolate linearly from ``start`` to ``end`` over ``steps`` steps, then stay at ``end``.

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
    _check_rates("linear", start=start, end=end)
    _check_steps("linear", steps)
    return lambda step: start + (end - start) * (_least(step, steps) * (1.0 / steps))


def polynomial(start: float, end: float, steps: int, power: float = 1.0) -> Schedule:
    """Return ``end + (start - end) * (1 - step / steps) ** power``, and ``end`` afterwards."""
    _check_rates("polynomial", start=start, end=end)
    _check_steps("polynomial", steps)
    return lambda step: (
        end + (start - end) * _power(1.0 - _least(step, steps) * (1.0 / steps), power)
    )


def cosine(start: float, steps: int, end: float = 0.0) -> Schedule:
    """Decay along half a cosine, as ``CosineAnnealingLR``.

    Examples
    --------
    >>> from sycl_dnn.optim import schedules
    >>> [round(schedules.cosine(1.0, 10)(step), 3) for step in (0, 5, 10)]
    [1.0, 0.5, 0.0]
    """
    _check_rates("cosine", start=start, steps=steps, end=end)
    _check_steps("cosine", steps)
    return lambda step: (
        end + (start - end) * 0.5 * (1.0 + _cosine(_least(step, steps) * (math.pi / steps)))
    )


def step_decay(start: float, every: int, factor: float = 0.1) -> Schedule:
    """Multiply the rate by ``factor`` every ``every`` steps, as ``StepLR``."""
    _check_rates("step_decay", start=start, every=every, factor=factor)
    _check_steps("step_decay", every)
    return lambda step: start * _power(factor, _floor((step + 0.5) * (1.0 / every)))


def exponential(start: float, factor: float) -> Schedule:
    """Multiply the rate by ``factor`` at each step, as ``ExponentialLR``."""
    _check_rates("exponential", start=start, factor=factor)
    return lambda step: start * _power(factor, step)


def multi_step(start: float, milestones: Sequence[int], factor: float = 0.1) -> Schedule:
    """Multiply the rate by ``factor`` at each milestone, as ``MultiStepLR``.

    Examples
    --------
    >>> from sycl_dnn.optim import schedules
    >>> [schedules.multi_step(1.0, [2, 5], 0.5)(step) for step in (1, 2, 4, 5)]
    [1.0, 0.5, 0.5, 0.25]
    """
    _check_rates("multi_step", start=start, factor=factor)

    def schedule(step: Any) -> Any:
        passed = 0.0 * step
        for first in milestones:
            passed = passed + _choice(step >= first, 1.0, 0.0)
        return start * _power(factor, passed)

    return schedule


def cosine_restarts(start: float, steps: int, mult: int = 1, end: float = 0.0) -> Schedule:
    """Repeat half cosines, as ``CosineAnnealingWarmRestarts``.

    The first has ``steps`` steps, each later one ``mult`` times as many as the previous.

    Raises
    ------
    ValueError
        ``steps`` is less than 1, or ``mult`` is not an integer of at least 1.

    Examples
    --------
    >>> from sycl_dnn.optim import schedules
    >>> [round(schedules.cosine_restarts(1.0, 4, 2)(step), 3) for step in (0, 2, 4, 8, 12)]
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """
    _check_rates("cosine_restarts", start=start, steps=steps, end=end)
    _check_steps("cosine_restarts", steps)
    if mult < 1 or int(mult) != mult:
        raise ValueError(f"cosine_restarts: mult must be an integer of at least 1, got {mult}")

    def schedule(step: Any) -> Any:
        # Half a step of margin, so that rounding of the logarithm cannot select the wrong cycle.
        share = (step + 0.5) * (1.0 / steps)
        if mult == 1:
            before, length = _floor(share) * float(steps), float(steps)
        else:
            length = _power(float(mult), _floor(_log(1.0 + share * (mult - 1.0)) / math.log(mult)))
            before, length = steps * (length - 1.0) / (mult - 1.0), steps * length
        return end + (start - end) * 0.5 * (1.0 + _cosine((step - before) * math.pi / length))

    return schedule


_CYCLES = ("triangular", "triangular2", "exp_range")


def cyclic(
    low: float, high: float, up: int = 2000, down: int | None = None, mode: str = "triangular",
    gamma: float = 1.0,
) -> Schedule:  # fmt: skip
    """Alternate between ``low`` and ``high``, as ``CyclicLR``.

    torch's class also changes momentum: give the optimizer ``momentum=cyclic(0.9, 0.8, up)``.

    Parameters
    ----------
    low, high : float
    up, down : int
        Steps of a rise and of a fall; ``down`` is ``up`` by default.
    mode : {"triangular", "triangular2", "exp_range"}
        Whether the amplitude is constant, halved after each cycle, or multiplied by ``gamma`` at
        each step.
    gamma : float

    Raises
    ------
    ValueError
        ``up`` or ``down`` is less than 1, or there is no such mode.

    Examples
    --------
    >>> from sycl_dnn.optim import schedules
    >>> [schedules.cyclic(0.0, 1.0, 2)(step) for step in (0, 1, 2, 3, 4)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    _check_rates("cyclic", low=low, high=high, up=up)
    down = up if down is None else down
    _check_steps("cyclic", min(up, down))
    if mode not in _CYCLES:
        raise ValueError(f"cyclic: mode must be one of {', '.join(_CYCLES)}, got {mode!r}")
    period = up + down

    def schedule(step: Any) -> Any:
        cycle = _floor((step + 0.5) * (1.0 / period))
        inside = step - cycle * float(period)
        share = _choice(inside <= up, inside * (1.0 / up), (period - inside) * (1.0 / down))
        height = (high - low) * share
        if mode == "triangular2":
            height = height * _power(0.5, cycle)
        return low + (height * _power(gamma, step) if mode == "exp_range" else height)

    return schedule


def joined(parts: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Concatenate schedules; each counts steps from its boundary.

    Raises
    ------
    ValueError
        There is not exactly one boundary fewer than schedules.
    """
    if len(parts) != len(boundaries) + 1:
        raise ValueError(
            f"joined: there must be {len(parts) - 1} boundaries for {len(parts)} schedules, got "
            f"{len(boundaries)}"
        )

    def schedule(step: Any) -> Any:
        result = parts[0](step)
        for part, first in zip(parts[1:], boundaries, strict=True):
            result = _choice(step < first, result, part(step - first))
        return result

    return schedule


def warmup(steps: int, then: Schedule, start: float | None = None) -> Schedule:
    """Rise linearly to the initial rate of ``then``, and then follow ``then``.

    The rise begins at ``start``, by default a ``steps``-th of that rate, so that the first update
    moves the parameters, as ``LinearLR(start_factor=1 / steps, total_iters=steps)``.

    Raises
    ------
    ValueError
        ``steps`` is less than 1.

    Examples
    --------
    >>> from sycl_dnn.optim import schedules
    >>> rate = schedules.warmup(10, schedules.cosine(1.0, 100))
    >>> rate(5), rate(10)
    (0.55, 1.0)
    """
    _check_steps("warmup", steps)
    first = then(0)
    return joined([linear(first / steps if start is None else start, first, steps), then], [steps])


def one_cycle(
    peak: float, steps: int, pct_start: float = 0.3, div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Schedule:  # fmt: skip
    """Rise to ``peak`` and fall, both along half cosines, as ``OneCycleLR``.

    The rate is constant after ``steps`` steps. torch's class also lowers and raises momentum: give
    the optimizer ``momentum=one_cycle(0.85, steps, div_factor=0.85 / 0.95, final_div_factor=1)``.

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
    _check_rates("one_cycle", peak=peak, steps=steps)
    _check_steps("one_cycle", steps)
    if not 0 <= pct_start <= 1:
        raise ValueError(f"one_cycle: pct_start must be in [0, 1], got {pct_start}")
    first = peak / div_factor
    last = first / final_div_factor
    # The step of the peak, as in torch; it may be before the first step.
    rise = pct_start * steps - 1
    fall = steps - 1 - rise

    def schedule(step: Any) -> Any:
        late = _cosine((_least(step, steps - 1) - rise) * (math.pi / fall)) if fall > 0 else 1.0
        result = last + (peak - last) * 0.5 * (1 + late)
        if rise <= 0:
            return result
        up = peak + (first - peak) * 0.5 * (1 + _cosine(_least(step, rise) * (math.pi / rise)))
        return _choice(step < rise, up, result)

    return schedule


class Plateau:
    """Lower the rate when a metric stops improving, as ``ReduceLROnPlateau``.

    The state is a tree of arrays, so nothing waits for the metric, and a compiled function may
    contain the whole update. Pass ``optimizer.update(..., lr=state["rate"])`` the rate.

    Parameters
    ----------
    lr : float
        The initial rate.
    mode : {"min", "max"}
        Whether smaller or larger metrics are better.
    factor : float
        Multiplies the rate after more than ``patience`` updates without an improvement.
    patience, cooldown : int
        ``cooldown`` is the number of updates ignored after the rate was lowered.
    threshold : float
        Minimum improvement over the best metric.
    threshold_mode : {"rel", "abs"}
        Whether ``threshold`` is relative to the best metric.
    min_lr, eps : float
        The smallest rate, and the smallest change of the rate.

    Raises
    ------
    ValueError
        ``factor`` is 1 or more, or there is no such mode.

    Examples
    --------
    >>> from sycl_dnn import functional as F
    >>> from sycl_dnn.optim import schedules
    >>> plateau = schedules.Plateau(1.0, factor=0.5, patience=1)
    >>> state = plateau.init()
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     state = plateau.update(state, F.full((), loss))
    >>> float(state["rate"])
    0.5
    """

    def __init__(
        self, lr: float, *, mode: str = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
        min_lr: float = 0.0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        _check_rates("Plateau", lr=lr, factor=factor)
        if not factor < 1:
            raise ValueError(f"Plateau: factor must be less than 1, got {factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"Plateau: mode must be 'min' or 'max' and threshold_mode 'rel' or 'abs', got "
                f"{mode!r} and {threshold_mode!r}"
            )
        self.lr, self.factor, self.patience, self.cooldown = lr, factor, patience, cooldown
        self.is_min, self.threshold = mode == "min", threshold
        self.is_relative = threshold_mode == "rel"
        self.min_lr, self.eps = min_lr, eps

    def init(self, device: Any = None) -> dict[str, Any]:
        """Return the initial state: ``"rate"``, ``"best"`` and two counters."""
        best = math.inf if self.is_min else -math.inf
        values = {"rate": self.lr, "best": best, "bad": 0.0, "cooldown": 0.0}
        return {name: F.full((), float(v), device=device) for name, v in values.items()}

    def update(self, state: dict[str, Any], metric: Any) -> dict[str, Any]:
        """Return the state after a metric, an array () or a number; NaN is no improvement."""
        old, best = state["rate"], state["best"]
        # Multiply the rate, not the best metric: that is infinite at first, and 0 times it is NaN.
        metric = metric if _is_array(metric) else F.add(F.mul(old, 0.0), float(metric))
        metric = F.astype(metric, "float32")
        is_better = self._is_better(metric, best)
        bad = F.where(is_better, 0.0, F.add(state["bad"], 1.0))
        rests = F.gt(state["cooldown"], 0.5)
        bad = F.where(rests, 0.0, bad)
        wait = F.where(rests, F.sub(state["cooldown"], 1.0), state["cooldown"])
        falls = F.gt(bad, self.patience + 0.5)
        new = F.clamp(F.mul(old, self.factor), min=float(self.min_lr))
        new = F.where(F.gt(F.sub(old, new), self.eps), new, old)
        return {
            "rate": F.where(falls, new, old), "best": F.where(is_better, metric, best),
            "bad": F.where(falls, 0.0, bad), "cooldown": F.where(falls, float(self.cooldown), wait),
        }  # fmt: skip

    def _is_better(self, metric: Any, best: Any) -> Any:
        sign = -1.0 if self.is_min else 1.0
        if self.is_relative:
            bound = F.mul(best, 1.0 + sign * self.threshold)
        else:
            bound = F.add(best, sign * self.threshold)
        return F.lt(metric, bound) if self.is_min else F.gt(metric, bound)


def __getattr__(name: str) -> Any:
    raise _torch_habits.missing("schedules", "sycl_dnn.optim.schedules", name)

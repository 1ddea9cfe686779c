# SPDX-License-Identifier: Apache-2.0
"""Options of optimizers: their valid values, and that they are attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sycl_dnn import _torch_habits

#: Valid ranges of options: a predicate and its description.
_RANGES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("lr", "weight_decay", "eps", "momentum", "alpha", "momentum_decay", "lr_decay",
         "initial_accumulator_value", "lambd", "t0", "tolerance_grad", "tolerance_change"),
        (lambda v: v >= 0, "at least 0")),
    "rho": (lambda v: 0 <= v <= 1, "in [0, 1]"),
    **dict.fromkeys(("max_iter", "max_eval", "history_size"), (lambda v: v >= 1, "at least 1")),
    "d": (lambda v: v >= 1, "at least 1"), "beta2_decay": (lambda v: v <= 0, "at most 0"),
}  # fmt: skip
_ADJUSTMENTS = (None, "original", "match_rms_adamw")


#: Options that may be functions of the number of completed steps.
SCHEDULED = ("lr", "momentum", "betas")


def each_of(value: Any) -> Sequence[Any]:
    """Return an option's values."""
    return value if isinstance(value, (tuple, list)) else (value,)


def check_options(name: str, options: dict[str, Any]) -> None:
    """Raise ValueError for the first option that is out of range, as torch does."""
    for option, value in options.items():
        is_allowed, rule = _RANGES.get(option, (None, ""))
        numbers = [v for v in each_of(value) if isinstance(v, (int, float))]
        if is_allowed and not all(map(is_allowed, numbers)):
            raise ValueError(f"{name}: {option} must be {rule}, got {value}")
        if option not in SCHEDULED and any(map(callable, each_of(value))):
            raise TypeError(f"{name}: {option} must not be a schedule; lr, momentum, betas may be")
        fixed = [v for v in each_of(value) if not callable(v)]
        if option == "betas" and not (len(value) == 2 and all(0 <= b < 1 for b in fixed)):
            raise ValueError(f"{name}: betas must be in [0, 1), two of them, got {value}")
        if option == "etas" and not (len(value) == 2 and 0 < value[0] < 1 < value[1]):
            raise ValueError(f"{name}: etas must be below and above 1, got {value}")
        if option == "adjust_lr_fn" and value not in _ADJUSTMENTS:
            raise ValueError(
                f"{name}: adjust_lr_fn must be None, 'original' or 'match_rms_adamw', got {value!r}"
            )
    is_nesterov = "dampening" in options and options["nesterov"]
    if is_nesterov and (not options["momentum"] or options["dampening"]):
        raise ValueError(f"{name}: nesterov must go with momentum and without dampening")


class OptionAttributes:
    """Base class of optimizers, whose options are attributes; names of torch raise."""

    #: Options by name, which each step reads.
    options: dict[str, Any]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            options = self.__dict__.get("options", {})
            if name in options:
                return options[name]
            raise _torch_habits.missing("optimizer", type(self).__name__, name)

        def __setattr__(self, name: str, value: Any) -> None:
            options = self.__dict__.get("options", {})
            if name in options:
                check_options(type(self).__name__, options | {name: value})
                options[name] = value
            elif _torch_habits.hint("optimizer", name):
                raise _torch_habits.missing("optimizer", type(self).__name__, name)
            else:
                super().__setattr__(name, value)

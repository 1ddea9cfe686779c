# SPDX-License-Identifier: Apache-2.0
"""Say which rule the arguments of a refused primitive descriptor break.

Runs only after oneDNN has refused: its status says "invalid arguments" and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn import _core
from sycl_dnn.onednn import _rules, _window_rules

Rule = Callable[[str, dict], "str | None"]

#: In the order in which they are tried.
RULES: tuple[Rule, ...] = (
    _rules.hint,
    _rules.forward_kind,
    _rules.concrete_source,
    _window_rules.spatial_lengths,
    _window_rules.convolution_channels,
    _window_rules.window_sizes,
    _rules.matmul_shapes,
    _rules.axis_range,
    _rules.shuffle_groups,
    _rules.reduction_dims,
    _rules.bias_needed,
    _rules.normalization_groups,
    _rules.list_lengths,
)


def find(name: str, parameters: dict) -> str | None:
    """Return the first broken rule as a sentence, None if no rule here explains the refusal."""
    for rule in RULES:
        try:
            sentence = rule(name, parameters)
        except (AttributeError, IndexError, TypeError, ValueError, ZeroDivisionError):
            continue  # the arguments are odd in a way that this rule does not cover
        if sentence:
            return sentence
    return None


def _descs(p: dict) -> dict[str, Any]:
    return {k: v for k, v in p.items() if isinstance(v, _core.MemoryDesc) and not v.is_zero}


def _text(value: Any) -> str:
    if isinstance(value, _core.PrimitiveDesc):
        return f"<{value.name} {value.impl_info}>"
    if isinstance(value, list) and value and isinstance(value[0], _core.MemoryDesc):
        return "[" + "; ".join(map(str, value)) + "]"
    return getattr(value, "name", None) or str(value)


def summary(name: str, parameters: dict, engine: Any, attr: Any) -> str:
    """Return the descriptors, parameters, device and attributes, a line each."""
    given = {k: v for k, v in parameters.items() if v is not None}
    lines = [f"{k} = {v}" for k, v in _descs(given).items()]
    rest = [f"{k}={_text(v)}" for k, v in given.items() if not isinstance(v, _core.MemoryDesc)]
    lines += [", ".join(rest)] if rest else []
    return "\n".join(f"  {line}" for line in [*lines, f"on {engine!r} with {attr!r}"])

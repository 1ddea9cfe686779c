# SPDX-License-Identifier: Apache-2.0
"""The attributes of a primitive in short."""

from __future__ import annotations

import enum
from typing import Any

from sycl_dnn import _core

__all__ = ["attributes_text"]


def attributes_text(attr: Any) -> str:
    """Return the settings of a PrimitiveAttr: ``"relu+add scales_mask=src,0 fpmath_mode=bf16"``."""
    return " ".join(_setting(name, given) for name, given in attr.calls)


def _setting(name: str, given: tuple[Any, ...]) -> str:
    if name == "set_post_ops":
        return "+".join(_post_op(*given[0][i]) for i in range(len(given[0])))
    values = [text for value in given if (text := _value(value))]
    return f"{name.removeprefix('set_')}={','.join(values)}"


def _post_op(method: str, given: tuple[Any, ...]) -> str:
    first = given[0] if given else None
    if isinstance(first, _core.algorithm):
        return first.name.split("_", 1)[1]
    return method.removeprefix("append_")


def _value(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (tuple, list)):
        return "x".join(map(str, value))
    return "" if value is None else str(value)
